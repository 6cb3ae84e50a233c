# SPDX-License-Identifier: Apache-2.0
"""tools/check_includes.py on small trees that break one rule each, and on this one."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TREE = {
    "include/tenon/status.h": "",
    "include/tenon/pjrt.h": "typedef struct PJRT_Api PJRT_Api;\n",
    "include/tenon/host.h": '#include "tenon/pjrt.h"\nPJRT_Api *tn_plugin_api(void);\n',
    "src/base/arena.h": '#include "tenon/status.h"\n',
    "src/ir/op.h": '#include "base/arena.h"\n#include <stdint.h>\n',
    "src/ops/reduce.c": '#include "reduce.h"\n#include "ir/op.h"\n/* like a PJRT_Buffer */ char *s = "PJRT_X";\n',
    "src/ops/reduce.h": "",
    "src/pjrt/api.c": '#include "tenon/pjrt.h"\n#include "ops/reduce.h"\nPJRT_Api *api;\n',
    "drivers/cpu/cpu.c": '#include "cpu.h"\n#include <tenon/status.h>\n',
    "drivers/cpu/cpu.h": "",
    "host/load.c": '#include "tenon/pjrt.h"\n#include "base/arena.h"\nPJRT_Api *api;\n',
    "test/any.c": '#include "ir/op.h"\n#include "drivers/cpu/cpu.h"\nPJRT_Api *api;\n',
}


def check(tmp_path, extra=()):
    for name, text in {**TREE, **dict(extra)}.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return subprocess.run([sys.executable, ROOT / "tools/check_includes.py", tmp_path], capture_output=True, text=True)


def test_a_good_tree_passes(tmp_path):
    run = check(tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize("file, text, complaint", [
    ("src/ir/up.c", '#include "ops/reduce.h"\n', "src/ir/up.c:1: src/ir may not include src/ops/reduce.h"),
    ("include/tenon/in.h", '\n#include "base/arena.h"\n', "include/tenon/in.h:2: include/tenon may not include"),
    ("drivers/sim/sim.c", '#include "base/arena.h"\n', "drivers/sim may not include src/base/arena.h"),
    ("drivers/sim/sim.c", '#include "../cpu/cpu.h"\n', "drivers/sim may not include drivers/cpu/cpu.h"),
    ("host/run.c", '#  include "ir/op.h"\n', "host may not include src/ir/op.h"),
    ("examples/a.c", '#include "base/arena.h"\n', "examples may not include src/base/arena.h"),
    ("src/runtime/api.c", '#include <tenon/pjrt.h>\n\nvoid f(PJRT_Buffer *b);\n',
     "src/runtime/api.c:3: src/runtime names PJRT_Buffer"),
    ("include/tenon/driver.h", "struct PJRT_Api;\n", "include/tenon names PJRT_Api"),
    ("src/ops/lost.c", '#include "gone.h"\n', 'src/ops/lost.c:1: "gone.h" is no file of the tree'),
    ("src/new/x.c", "", "folder src/new has no place in the order"),
])
def test_a_breach_is_named(tmp_path, file, text, complaint):
    run = check(tmp_path, [(file, text)])
    assert run.returncode == 1
    assert complaint in run.stdout
    assert len(run.stdout.splitlines()) == 1


def test_this_tree():
    run = subprocess.run([sys.executable, ROOT / "tools/check_includes.py"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")
