#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh - installs what a job needs and lacks, and nothing else. Quiet when all is there.
#
#   tools/setup.sh packages JOB...   Debian packages for the jobs: build, venv, sanitize, format, cross
#   tools/setup.sh venv DIR          a Python environment in DIR with python/requirements.txt and, in
#                                    development mode, the package in python/
#
# Packages come from apt when we are root or sudo asks for no password; otherwise what to install is printed
# and the exit code is 1. PYTHON names the interpreter (default python3, 3.11 or newer).
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}

die()
{
    echo "setup: $*" >&2
    exit 1
}

# Each package is asked for by what it gives, so that other ways of installing it count too.
lacks_tool() { ! command -v "$1" >/dev/null 2>&1; }
lacks_module() { ! pkg-config --exists "$1" 2>/dev/null; }

lacks_sanitizers()
{
    lacks_tool clang-19 || [ ! -e "$(clang-19 -print-file-name=libclang_rt.asan-"$(uname -m)".a)" ]
}

missing_for()
{
    case $1 in
    build)
        lacks_tool gcc && echo gcc libc6-dev
        lacks_tool meson && echo meson
        lacks_tool ninja && echo ninja-build
        lacks_tool pkg-config && echo pkg-config
        lacks_module cmocka && echo libcmocka-dev
        lacks_module libcjson && echo libcjson-dev
        lacks_module libzip && echo libzip-dev
        ;;
    venv) "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || echo python3 python3-venv ;;
    sanitize)
        lacks_tool clang-19 && echo clang-19
        lacks_sanitizers && echo libclang-rt-19-dev
        ;;
    format) lacks_tool clang-format-19 && echo clang-format-19 ;;
    cross)
        lacks_tool aarch64-linux-gnu-gcc && echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross
        lacks_tool qemu-aarch64 && echo qemu-user
        ;;
    *) die "unknown job '$1' (build, venv, sanitize, format, cross)" ;;
    esac
    return 0
}

install_packages()
{
    local job names=""
    for job in "$@"; do names="$names $(missing_for "$job" | tr '\n' ' ')"; done
    names=$(echo "$names" | tr -s ' \n' '\n\n' | sort -u | tr '\n' ' ' | sed 's/^ *//; s/ *$//')
    [ -n "$names" ] || return 0

    local as_root=""
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
        sudo -n true 2>/dev/null || die "missing packages; install them with: sudo apt-get install $names"
    fi
    command -v apt-get >/dev/null 2>&1 || die "missing (Debian names): $names"

    echo "setup: installing $names" >&2
    local log
    log=$(mktemp)
    # shellcheck disable=SC2086  # a list of names
    if ! { $as_root apt-get update -q &&
        DEBIAN_FRONTEND=noninteractive $as_root apt-get install -qy --no-install-recommends $names; } >"$log" 2>&1; then
        tail -20 "$log" >&2
        rm -f "$log"
        die "apt-get could not install: $names"
    fi
    rm -f "$log"
}

make_venv()
{
    local dir=$1 wanted stamp
    stamp=$dir/.requirements
    wanted=$(cat python/requirements.txt python/pyproject.toml; pwd)
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && return 0

    install_packages venv
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die "$PYTHON is older than 3.11, the oldest that the pinned JAX runs on; set PYTHON"
    echo "setup: Python packages into $dir (some hundred megabytes the first time)" >&2
    [ -x "$dir/bin/python" ] || "$PYTHON" -m venv "$dir"
    local pip=("$dir/bin/python" -m pip --disable-pip-version-check --no-input install -q)
    "${pip[@]}" -r python/requirements.txt
    # The build backend is pinned with the rest, so this fetches nothing.
    "${pip[@]}" --no-build-isolation --no-deps -e python
    printf '%s\n' "$wanted" >"$stamp"
}

case ${1:-} in
packages) install_packages "${@:2}" ;;
venv) make_venv "${2:?where to put the environment}" ;;
*) die "usage: setup.sh packages JOB... | setup.sh venv DIR" ;;
esac
