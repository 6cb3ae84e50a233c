# SPDX-License-Identifier: Apache-2.0
"""Compares our headers with the PJRT C API 0.81 header of the Go module gopjrt v0.10.0.

usage: gopjrt_header.py CC...
The same program, built once with that header and once with ours, prints each struct, field and
enumerator of that header; the two must print the same. Structs that have grown since must have had
the size that growth.def says.
$TENON_GOPJRT names a folder with the module; otherwise the Go tool finds or downloads it."""
import json
import os
import re
import shutil
import subprocess
import sys

import common

MODULE = "github.com/gomlx/gopjrt@v0.10.0"
# Later minors gave these struct_sizes new last fields (CHANGELOG of the API: 0.82 to 0.114).
GROWN = {"PJRT_Api", "PJRT_Device_MemoryStats_Args", "PJRT_ExecuteOptions",
         "PJRT_Executable_DeserializeAndLoad_Args", "PJRT_Executable_GetCompiledMemoryStats_Args"}


def last_fields(minor):
    """By growth.def, the last field that each struct which has ever grown had at a minor."""
    with open(os.path.join(common.ROOT, "test/abi/growth.def")) as f:
        rows = re.findall(r"^GREW\((\w+), (\d+), (\w+)\)", f.read(), flags=re.M)
    return {struct: last for struct, since, last in rows if int(since) <= minor}


def header_folder():
    if os.environ.get("TENON_GOPJRT"):
        return os.path.join(os.environ["TENON_GOPJRT"], "pjrt")
    if not shutil.which("go"):
        common.skip("no Go tool to get gopjrt with (or name its folder in TENON_GOPJRT)")
    got = subprocess.run(["go", "mod", "download", "-json", MODULE], capture_output=True, text=True,
                         cwd="/", timeout=120)
    if got.returncode != 0:
        common.skip(f"go mod download {MODULE}: {got.stdout[-300:]}{got.stderr[-300:]}")
    return os.path.join(json.loads(got.stdout)["Dir"], "pjrt")


def fields_of(body):
    """The names that a struct body declares, those of anonymous unions included."""
    body = re.sub(r"\bunion\s*\{(.*?)\};", r"\1", body, flags=re.S)
    for part in filter(str.strip, body.split(";")):
        slot = re.search(r"_PJRT_API_STRUCT_FIELD\(\s*(\w+)\s*\)", part)
        pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", part)
        yield (slot or pointer or re.search(r"(\w+)\s*$", part)).group(1)


def main(cc):
    folder = header_folder()
    theirs = common.uncommented(os.path.join(folder, "pjrt_c_api.h"))
    structs = {name: list(fields_of(body)) for name, body in
               re.findall(r"struct (PJRT_\w+) \{(.*?)\n\}", theirs, flags=re.S)}
    bodies = "".join(re.findall(r"typedef enum \{(.*?)\}", theirs, flags=re.S))
    enums = re.findall(r"^\s*(PJRT_\w+_\w+)(?: = \d+)?,?\s*$", bodies, flags=re.M)

    lines = []
    for name, fields in structs.items():
        for f in fields:
            lines.append(f"SHOW(offsetof({name}, {f})) SHOW(sizeof((({name} *)0)->{f}))")
        if name not in GROWN:
            lines.append(f"SHOW(sizeof({name}))")
            if name != "PJRT_Chunk":
                lines.append(f"SHOW({name}_STRUCT_SIZE)")
    lines += [f"SHOW({e})" for e in enums]
    program = ('#include <stdio.h>\n#define SHOW(e) printf("%s %lld\\n", #e, (long long)(e));\n'
               "int main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")

    was = {name: last for name, last in last_fields(81).items() if name in structs}
    assert set(was) | {"PJRT_Api"} >= GROWN and len(was) >= 6, was
    then = "".join(f"#define {name}_AT_81 {name}_STRUCT_SIZE\n" for name in was)
    now = "".join(f"#define {name}_AT_81 (offsetof({name}, {last}) + sizeof((({name} *)0)->{last}))\n"
                  for name, last in was.items())
    program = program.replace("return 0;", "".join(f"SHOW({name}_AT_81)\n" for name in was) + "return 0;")

    want = common.run_c(cc, '#include "pjrt_c_api.h"\n' + then + program, [folder]).splitlines()
    got = common.run_c(cc, '#include "tenon/pjrt.h"\n' + now + program, [common.INCLUDE]).splitlines()
    wrong = [f"{g}, upstream: {w}" for w, g in zip(want, got) if w != g]
    print("\n".join(wrong))
    print(f"{len(structs)} structs, {len(enums)} enumerators: {len(want)} values, "
          f"{len(wrong)} wrong")
    assert len(want) == len(got)
    assert (len(structs), len(enums)) == (135, 79), "the header has changed"
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
