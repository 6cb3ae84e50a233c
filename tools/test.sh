#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh KIND... - runs tests of these kinds and ends with one line that counts them all.
#
#   checks    include rule, formatting            asan  the C tests built with ASan + UBSan (clang)
#   unit      every C test (meson)                tsan  the C tests built with TSan (clang)
#   threads   those of pool, queue and stress with TSan
#   jax       test/jax on tenon                   sim   test/jax on tenon_sim
#   tools     test/tools, for the tools here      clients   test/clients, for other clients than JAX
#   cases     StableHLO cases with known answers  programs  model programs beside jaxlib's cpu
#
# BUILD is the build folder. What a step printed is in $BUILD/test-results/KIND.NAME.log.
# Each file of Python tests runs in a process of its own, so that a crash costs one file.
set -uo pipefail
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} PYTHON=${PYTHON:-python3}
RESULTS=$PWD/$BUILD/test-results
SHARED=${TENON_SHARED:-../shared}
PY=$PWD/$BUILD/venv/bin/python
rm -rf "$RESULTS"
mkdir -p "$RESULTS"

# step KIND NAME FILE SECONDS COMMAND...: runs it, takes the counts from FILE (see count.py), returns its status.
step()
{
    local kind=$1 name=$2 file=$3 limit=$4 log=$RESULTS/$1.$2.log rc=0 start=$SECONDS
    timeout -k 10 "$limit" "${@:5}" >"$log" 2>&1 </dev/null || rc=$?
    [ "$file" = log ] && file=$log
    # A command that counts nothing is one test: it passed if it exited 0.
    if [ "$file" = exit ]; then
        file=$RESULTS/$kind.$name.ok
        : >"$file"
    fi
    printf '%s\t%s\t%s\t%s\n' "$kind" "$name" "$rc" "$file" >>"$RESULTS/steps.tsv"
    printf '%-9s %-24s %4d s  ' "$kind" "$name" $((SECONDS - start))
    "$PYTHON" tools/count.py --step "$name" "$rc" "$file"
    [ "$rc" -eq 0 ] || tail -n 40 "$log" | sed 's/^/    /'
    return "$rc"
}

skip()
{
    printf '%s\t%s\tskip\t-\n' "$1" "$2" >>"$RESULTS/steps.tsv"
    printf '%-9s %-24s    -    skipped: %s\n' "$1" "$2" "$3"
}

checks()
{
    step checks includes exit 60 "$PYTHON" tools/check_includes.py
    if [ -d "$BUILD/src/kernels" ]; then
        step checks kernels exit 600 "$PYTHON" tools/check_kernels.py "$BUILD"
    else
        skip checks kernels "no $BUILD/src/kernels"
    fi
    if tools/setup.sh packages format; then
        step checks format exit 120 make format-check
    else
        skip checks format "no clang-format-19"
    fi
}

meson_tests() # KIND FOLDER TEST...: all without names
{
    step "$1" meson "$PWD/$2/meson-logs/testlog.json" 1500 meson test -C "$2" --no-rebuild --print-errorlogs "${@:3}"
}

sanitized() # KIND FOLDER FLAGS TEST...: all without names
{
    local dir=$2
    tools/setup.sh packages build sanitize || return
    if [ ! -f "$dir/build.ninja" ]; then
        CC=clang-19 tools/quiet.sh meson setup "$dir" -Db_sanitize="$3" -Db_lundef=false || return
    fi
    step "$1" build exit 1500 ninja -C "$dir" --quiet "${@:4}" || return
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 meson_tests "$1" "$dir" "${@:4}"
}

python_tests() # KIND FILE
{
    local name
    name=$(basename "$2" .py)
    step "$1" "$name" "$RESULTS/$1.$name.xml" 900 \
        "$PY" -m pytest -c test/pytest.ini --junitxml "$RESULTS/$1.$name.xml" "$2"
}

python_folder() # KIND FOLDER
{
    local file
    for file in "$2"/test_*.py; do python_tests "$1" "$file"; done
}

sim()
{
    if [ -f "$BUILD/libtenon_sim_pjrt.so" ]; then
        TENON_TEST_PLATFORM=tenon_sim python_folder sim test/jax
    else
        skip sim all "no $BUILD/libtenon_sim_pjrt.so"
    fi
}

cases()
{
    local name
    step cases support-matrix log 300 "$PYTHON" tools/support_matrix.py --check docs/support-matrix.md \
        "$BUILD/host/tenon" "$BUILD/libtenon_pjrt.so"
    if [ ! -x "$BUILD/host/tenon-cases" ]; then
        skip cases all "no $BUILD/host/tenon-cases"
    elif [ ! -d "$SHARED/stablehlo" ]; then
        skip cases all "no $SHARED/stablehlo"
    else
        step cases text log 1500 "$PYTHON" tools/cases.py test/stablehlo/text-fails.txt \
            "$BUILD/host/tenon-cases" "$BUILD/libtenon_pjrt.so" "$SHARED/stablehlo" --text
        if [ -x "$PY" ] && "$PY" tools/plain_cases.py "$SHARED/stablehlo" "$BUILD/plain-cases"; then
            step cases plain log 1500 "$PYTHON" tools/cases.py test/stablehlo/text-fails.txt \
                "$BUILD/host/tenon-cases" "$BUILD/libtenon_pjrt.so" "$BUILD/plain-cases"
        else
            skip cases plain "no JAX to write plain bytecode with"
        fi
        step cases offset log 1500 "$PYTHON" tools/cases.py test/stablehlo/fails.txt \
            "$BUILD/host/tenon-cases" "$BUILD/libtenon_pjrt.so" "$SHARED/stablehlo" --offset
        for name in tenon tenon_sim; do
            step cases $name log 1500 "$PYTHON" tools/cases.py test/stablehlo/fails.txt \
                "$BUILD/host/tenon-cases" "$BUILD/lib${name}_pjrt.so" "$SHARED/stablehlo"
        done
    fi
}

programs()
{
    if [ -f "$SHARED/programs/run_all.py" ]; then
        step programs tenon log 1500 "$PY" "$SHARED/programs/run_all.py" --platform tenon \
            --only p01,p02,p03,p04,p05,p06,p07,p08
        [ ! -f "$BUILD/libtenon_sim_pjrt.so" ] ||
            step programs tenon_sim log 900 "$PY" "$SHARED/programs/run_all.py" --platform tenon_sim --only p01,p05,p08
    else
        skip programs all "no $SHARED/programs"
    fi
}

for kind in "$@"; do
    case $kind in
    checks | sim | cases | programs) $kind ;;
    unit) meson_tests unit "$BUILD" ;;
    jax | tools | clients) TENON_TEST_PLATFORM=tenon python_folder "$kind" "test/$kind" ;;
    asan) sanitized asan "$BUILD-asan" address,undefined ;;
    tsan) sanitized tsan "$BUILD-tsan" thread ;;
    threads) sanitized threads "$BUILD-tsan" thread base-thread_pool runtime-queue runtime-execute runtime-stress ;;
    *)
        echo "test.sh: unknown kind '$kind'" >&2
        exit 2
        ;;
    esac
done
echo
exec "$PYTHON" tools/count.py "$RESULTS/steps.tsv"
