#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ecosystem.sh BUILD - libraries on top of JAX, their quick-start examples on Tenon beside jaxlib's CPU.
# They go into BUILD/ecosystem, an environment over BUILD/venv (so JAX and Tenon are the same).
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 folder=$1/ecosystem
[ -x "$folder/bin/python" ] || "$build/venv/bin/python" -m venv "$folder"
site=$("$build/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
"$folder/bin/python" - "$site" <<'PY'
import pathlib, sys, sysconfig
# `site` also runs the .pth files there, of which one names the package in development mode.
text = f"import site; site.addsitedir({sys.argv[1]!r})\n"
pathlib.Path(sysconfig.get_path("purelib"), "venv.pth").write_text(text)
PY
"$folder/bin/python" -m pip --disable-pip-version-check install -q -r test/ecosystem/requirements.txt
JAX_PLATFORMS=tenon,cpu "$folder/bin/python" test/ecosystem/run.py
