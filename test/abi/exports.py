# SPDX-License-Identifier: Apache-2.0
"""Checks that a plugin exports GetPjrtApi and nothing else.

usage: exports.py PLUGIN"""
import shutil
import subprocess
import sys

import common


def main(plugin):
    if not shutil.which("nm"):
        common.skip("no nm to list symbols with")
    out = subprocess.check_output(["nm", "-D", "--defined-only", plugin], text=True)
    names = [line.split()[-1] for line in out.splitlines()]
    print(names)
    return 0 if names == ["GetPjrtApi"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
