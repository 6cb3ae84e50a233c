#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh BUILD [LIBRARY [OUT]] - packs the stripped library and python/ into OUT/tenon_pjrt-*.whl (default dist/).
# The wheel holds no extension module, so one serves every Python 3 on this kind of machine.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 library=${2:-$1/libtenon_pjrt.so} out=${3:-dist}
stage=$build/wheel

rm -rf "$stage"
mkdir -p "$stage" "$out"
cp -r python/pyproject.toml python/README.md python/tenon LICENSE "$stage/"
strip --strip-unneeded -o "$stage/tenon/libtenon_pjrt.so" "$library"
printf '[bdist_wheel]\nplat_name = linux_%s\n' "$(uname -m)" >"$stage/setup.cfg"
"$build/venv/bin/python" -m pip --disable-pip-version-check wheel -q --no-build-isolation --no-deps \
    -w "$out" "$stage"
ls "$out"/tenon_pjrt-*.whl
