# SPDX-License-Identifier: Apache-2.0
# The front door. Everything real is in meson.build and tools/; this only names the ways in.
BUILD ?= build

.PHONY: build test clean

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD)

test: build
	@meson test -C $(BUILD) --print-errorlogs

clean:
	rm -rf $(BUILD)
