# SPDX-License-Identifier: Apache-2.0
"""Compares our struct sizes with those that a stock XLA CPU plugin of 0.115 asks for.

usage: stock_sizes.py CC...
The plugin is that of the PyPI package lammps-jax-pjrt-cpu 0.11.2, or $TENON_STOCK_PLUGIN."""
import os
import subprocess
import sys
import tempfile

import common

# Calls that check no size before they answer (or return nothing).
UNTOLD = {"PJRT_Error_Destroy", "PJRT_Error_Message", "PJRT_LoadedExecutable_Fingerprint",
          "PJRT_TopologyDescription_Create", "PJRT_Client_CreateViewOfDeviceBuffer"}
# Calls that still serve callers without the newest fields: the sizes of those.
LENIENT = {"PJRT_Device_MemoryStats": 185, "PJRT_Executable_DeserializeAndLoad": 64,
           "PJRT_Executable_GetCompiledMemoryStats": 112}


def stock_plugin():
    if os.environ.get("TENON_STOCK_PLUGIN"):
        return os.environ["TENON_STOCK_PLUGIN"]
    python = common.python_with("lammps_jax_pjrt_cpu")
    show = ("import lammps_jax_pjrt_cpu as m, glob, os;"
            "print(glob.glob(os.path.join(os.path.dirname(m.__file__), '*plugin*.so'))[0])")
    return subprocess.check_output([python, "-c", show], text=True).strip()


def main(cc):
    plugin = stock_plugin()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stock_sizes.c")
    with tempfile.TemporaryDirectory() as work:
        exe = os.path.join(work, "t")
        subprocess.run([*cc, "-std=gnu17", "-I", common.INCLUDE, source, "-o", exe, "-ldl"],
                       check=True)
        out = subprocess.run([exe, plugin], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True).stdout.splitlines()
    version, table, ours = out[0].split()
    if version != "0.115":
        common.skip(f"{plugin} speaks {version}")
    wrong = [] if table == ours else [f"PJRT_Api: {ours}, stock: {table}"]
    asked = 0
    for line in out[1:]:
        name, ours, theirs = line.split()
        if name in UNTOLD:
            continue
        asked += 1
        if int(theirs) != LENIENT.get(name, int(ours)):
            wrong.append(f"{name}_Args: {ours}, stock: {theirs}")
    print("\n".join([*wrong, f"{asked} calls asked, {len(wrong)} wrong"]))
    assert asked == 133
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
