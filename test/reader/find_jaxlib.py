# SPDX-License-Identifier: Apache-2.0
"""Runs a script under a Python that has jaxlib; exits 77 (skipped) when there is none.

usage: find_jaxlib.py BUILD SCRIPT ARGS...
"""
import os
import subprocess
import sys

build, rest = sys.argv[1], sys.argv[2:]
for python in (os.environ.get("TENON_PYTHON"), os.path.join(build, "venv/bin/python"), sys.executable):
    if python and os.path.exists(python):
        if subprocess.run([python, "-c", "import jaxlib.mlir.ir"], stderr=subprocess.DEVNULL).returncode == 0:
            os.environ["JAX_PLATFORMS"] = "cpu"
            os.execv(python, [python, *rest])
print("no Python with jaxlib")
sys.exit(77)
