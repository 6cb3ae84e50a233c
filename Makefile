# SPDX-License-Identifier: Apache-2.0
# The front door. Everything real is in meson.build and tools/; this only names the ways in.
#
#   make build          the plugin: build/libtenon_pjrt.so (optimised)
#   make venv           build/venv: the pinned Python packages, and python/ in development mode
#   make demo           trains a small transformer on Tenon and on jaxlib's CPU side by side
#   make test           all tests; the last line counts them
#   make check-full     the whole conformance suite on the cpu and the sim plugin
#   make cases DIR=...  StableHLO cases with known answers, through the C API (PLUGIN=... takes another plugin)
#   make jax-suite JAXDIR=... SAMPLE=...   JAX's own tests (FILES="lax_test fft_test": whole files)
#   make jax-files JAXDIR=... FILES="lax_test ..."   whole files of them beside jaxlib's CPU, counted (DEVICES=8)
#   make matrix         the wheel, the demo and smoke tests with several versions of JAX
#   make ecosystem      Flax, Optax and others beside jaxlib's CPU
#   make bench          every benchmark beside the CPU of jaxlib, kernels beside the limits of the machine; makes docs/bench
#   make bench-bits     every benchmark program with 1, 2, 3 and 8 threads: the results must have the same bits
#   make wheel          dist/tenon_pjrt-*.whl with the library inside
#   make fuzz-values    random programs, compiled beside interpreted, until one differs (SEED=..., SECONDS=3600)
#   make sanitize tsan  the C tests under ASan + UBSan, and under TSan
#   make cross          builds for aarch64 in build-aarch64; unit tests and StableHLO cases under qemu-user
#   make check-includes format-check format
BUILD ?= build
PYTHON ?= python3
KINDS ?= checks tools unit clients jax sim cases programs
DIR ?= ../shared/stablehlo
BENCH ?= ../shared/bench
SAMPLE ?= ../shared/jax_sample
PLUGIN ?= $(BUILD)/libtenon_pjrt.so

SEED ?= $(shell date +%s)000
SECONDS ?= 3600

PY := $(BUILD)/venv/bin/python
SOURCES = $(shell git ls-files '*.c' '*.h')
export BUILD PYTHON
MAKEFLAGS += --no-print-directory

.PHONY: bench bench-bits build venv demo test check-full cases fuzz-values jax-suite jax-files matrix ecosystem wheel sanitize tsan cross check-includes format-check format clean

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

# Line tables stay, so that a report from the field names lines; asserts are for the sanitizer builds. At -O3 gcc takes
# what a call fills only on success for maybe uninitialised; clang, which tells them apart, builds the sanitizer kinds.
$(BUILD)/build.ninja:
	@tools/setup.sh packages build
	@tools/quiet.sh meson setup $(BUILD) --buildtype=release -Dc_args='-g1 -Wno-maybe-uninitialized'

venv:
	@tools/setup.sh venv $(BUILD)/venv

demo: build venv
	@$(PY) examples/train_transformer.py

test: build venv
	@tools/test.sh $(KINDS)

# The whole conformance suite, with a report in $(BUILD)/check-*.html.
check-full: build
	@for name in tenon tenon_sim; do \
	    $(BUILD)/conformance/tenon-check $(BUILD)/lib$${name}_pjrt.so --known test/conformance/tenon.txt \
	        --html $(BUILD)/check-$$name.html --json $(BUILD)/check-$$name.json || exit; \
	done

cases: build
	@$(BUILD)/host/tenon-cases $(PLUGIN) $(DIR)

fuzz-values: build
	@$(BUILD)/test/values/fuzz-values --seed $(SEED) --seconds $(SECONDS) --forms

jax-suite: build venv
	@$(PY) tools/jax_suite.py $(JAXDIR) $(SAMPLE) $(if $(FILES),--files $(FILES)) $(if $(LISTS),--groups $(LISTS))

jax-files: build venv
	@$(PY) tools/jax_files.py $(JAXDIR) $(FILES) $(if $(DEVICES),--devices $(DEVICES))

matrix: wheel
	@$(PYTHON) tools/matrix.py $(BUILD) $(VERSIONS)

ecosystem: build venv
	@tools/ecosystem.sh $(BUILD)

# The comparison's exit code says that a case failed; its page is made all the same.
bench: build venv
	@$(PY) -m pip install -q --disable-pip-version-check -r python/requirements-bench.txt
	@rm -f $(BUILD)/bench.json
	@OPENBLAS_NUM_THREADS=1 $(PY) $(BENCH)/bench.py --platforms cpu,tenon --json $(BUILD)/bench.json; \
	    $(BUILD)/bench/roofs $(BUILD)/libtenon_pjrt.so > $(BUILD)/roofs.md; \
	    $(PY) tools/bench_page.py $(BUILD)/bench.json docs/bench $(BUILD)/roofs.md

bench-bits: build venv
	@$(PY) -m pip install -q --disable-pip-version-check -r python/requirements-bench.txt
	@$(PY) tools/bench_bits.py $(BENCH) $(if $(SIZES),--sizes $(SIZES))

wheel: build venv
	@tools/wheel.sh $(BUILD)

sanitize:
	@tools/test.sh asan

tsan:
	@tools/test.sh tsan

cross:
	@CASES=$(DIR) tools/cross.sh build-aarch64

check-includes:
	@$(PYTHON) tools/check_includes.py

format-check:
	@tools/setup.sh packages format
	@clang-format-19 --dry-run -Werror $(SOURCES)

format:
	@tools/setup.sh packages format
	@clang-format-19 -i $(SOURCES)

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan dist
