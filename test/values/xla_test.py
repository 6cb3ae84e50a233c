# SPDX-License-Identifier: Apache-2.0
"""Runs `fuzz-values --xla` with XLA's CPU plugin, or exits with 77 where there is none.

usage: xla_test.py BUILD FUZZ_VALUES ARGS...
"""
import glob
import os
import sys

PLUGIN = "lib/python3*/site-packages/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"


def main():
    build, tool, *args = sys.argv[1:]
    own = os.path.dirname(os.path.dirname(os.environ.get("TENON_PYTHON", "")))
    places = [own, os.path.join(build, "venv"), sys.prefix]
    found = [path for place in places if place for path in glob.glob(os.path.join(place, PLUGIN))]
    found = [os.environ["TENON_XLA_PLUGIN"]] if "TENON_XLA_PLUGIN" in os.environ else found
    if not found:
        print("no XLA plugin for the CPU is installed (lammps-jax-pjrt-cpu)")
        return 77
    os.execv(tool, [tool, "--xla", found[0], *args])


if __name__ == "__main__":
    sys.exit(main())
