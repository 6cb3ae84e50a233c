# SPDX-License-Identifier: Apache-2.0
"""What the ABI tests share: skipping, finding a Python with a package, compiling and running C."""
import os
import re
import subprocess
import sys
import tempfile

SKIP = 77  # meson's exit code for a skipped test
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INCLUDE = os.path.join(ROOT, "include")
HEADERS = ["tenon/pjrt.h", "tenon/pjrt_extensions.h"]


def skip(why):
    print("skipped:", why)
    sys.exit(SKIP)


def python_with(module):
    """A Python that can import `module`: $TENON_PYTHON, or else this one or the venv's."""
    named = os.environ.get("TENON_PYTHON")
    pythons = [named] if named else [sys.executable, os.path.join(ROOT, "build/venv/bin/python")]
    for python in pythons:
        try:
            done = subprocess.run([python, "-c", f"import {module}"], capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    skip(f"no {module} in {', '.join(pythons)} (name a Python that has it in TENON_PYTHON)")


def uncommented(*paths):
    """The text of C files without comments and directives."""
    text = "".join(open(p).read() for p in paths).replace("\\\n", " ")
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return re.sub(r"^\s*#[^\n]*", "", text, flags=re.M)


def our_headers():
    return uncommented(*[os.path.join(INCLUDE, h) for h in HEADERS])


def run_c(cc, source, includes):
    """Compiles and runs a C program; gives what it prints."""
    with tempfile.TemporaryDirectory() as work:
        c, exe = os.path.join(work, "t.c"), os.path.join(work, "t")
        with open(c, "w") as f:
            f.write(source)
        subprocess.run([*cc, "-std=gnu17", *[f"-I{i}" for i in includes], c, "-o", exe], check=True)
        return subprocess.run([exe], check=True, stdout=subprocess.PIPE, text=True).stdout
