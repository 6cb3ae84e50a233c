# SPDX-License-Identifier: Apache-2.0
"""Compares our headers with the layout tables of the PyPI package pypjrt (PJRT C API 0.114).

usage: pypjrt_tables.py CC...
Every slot, struct, field offset and size, X_STRUCT_SIZE and enumerator of the tables must be ours
too, but for the extensions of which we declare the number only."""
import json
import re
import subprocess
import sys

import common

# What belongs to extensions of which our headers have only the number, and to other APIs.
LEFT_OUT = re.compile(
    "JAX_|XLA_FFI_|PLUGIN_|_Anon|PJRT_(API_M|AbiVersion|Callback|Client_RuntimeAbiVersion"
    "|Clear_Xla|COLLECTIVES_|Collectives|Custom_Partitioner|DeviceEvent|ExecutableAbiVersion"
    "|Executable_GetAbiVersion|Get_Stream|Gpu_|Megascale|MultiSlice_(Config_|Extension)"
    "|PhaseCompile|RawBuffer|Register_"
    "|RuntimeAbiVersion|Stream_|TpuExecutable|TpuTopology|Triton|Wait_Until|XlaTransform"
    "|Xla_Transform)")

DUMP = r"""
import ctypes, json, pypjrt._abi.pjrt_0_114 as m
structs, numbers = {}, {}
for name, c in vars(m).items():
    if isinstance(c, type) and issubclass(c, (ctypes.Structure, ctypes.Union)):
        unions = getattr(c, "_anonymous_", ())
        names = [f[0] for f in c._fields_ if f[0] not in unions]
        names += [f[0] for u in unions for f in dict(c._fields_)[u]._fields_]
        fields = [(f, getattr(c, f).offset, getattr(c, f).size) for f in names]
        structs[name] = [ctypes.sizeof(c), fields]
    elif isinstance(c, int) and name.startswith("PJRT_"):
        numbers[name] = c
print(json.dumps([m.SLOT, structs, numbers]))
"""

PROGRAM = r"""
#include <stdio.h>
#define SLOT(s) (offsetof(PJRT_Api, s) - offsetof(PJRT_Api, PJRT_Error_Destroy)) / sizeof(void *)
#define WIDTH(s, f) sizeof(((s *)0)->f)
static void check(long long want, long long got, const char *what)
{
    if (got != want) printf("%s is %lld, not %lld\n", what, got, want);
}
#define CHECK(want, expr) check(want, expr, #expr);
int main(void)
{
    CHECKS
    return 0;
}
"""


def main(cc):
    python = common.python_with("pypjrt")
    slots, structs, numbers = json.loads(subprocess.check_output([python, "-c", DUMP], text=True))
    structs = {k: v for k, v in structs.items() if not LEFT_OUT.match(k)}
    numbers = {k: v for k, v in numbers.items() if not LEFT_OUT.match(k)}
    ours = common.our_headers()
    missing = [s for s in structs if not re.search(rf"\bstruct {s}\b", ours)]
    assert not missing, f"structs that our headers lack: {missing}"

    checks = [f"CHECK({n}, SLOT({s}))" for s, n in slots.items()]
    checks += [f"CHECK({value}, {name})" for name, value in numbers.items()]
    for name, (size, fields) in structs.items():
        checks.append(f"CHECK({size}, sizeof({name}))")
        checks += [f"CHECK({at}, offsetof({name}, {f}))" for f, at, _ in fields]
        checks += [f"CHECK({width}, WIDTH({name}, {f}))" for f, _, width in fields]

    includes = "".join(f'#include "{h}"\n' for h in common.HEADERS)
    program = PROGRAM.replace("CHECKS", "\n    ".join(checks))
    wrong = common.run_c(cc, includes + program, [common.INCLUDE])
    print(wrong, end="")
    print(f"{len(slots)} slots, {len(structs)} structs, {len(numbers)} numbers: "
          f"{len(checks)} checks, {wrong.count(chr(10))} wrong")
    assert len(slots) == 138 and len(structs) > 150 and len(numbers) > 250, "tables have changed"
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
