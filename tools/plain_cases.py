#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies a folder of StableHLO cases with each program as plain bytecode, the way the Python package sends them.

  plain_cases.py FROM TO

FROM holds AREA.zip and index.jsonl; in TO each module.mlirbc is made from module.mlir: StableHLO, CHLO and func in
MLIR bytecode of version 4, not a portable artifact. Needs JAX. What its parser refuses keeps what it had.
"""

import io
import shutil
import sys
import zipfile
from pathlib import Path

from jax._src.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

BYTECODE = 4


def plain(text):
    with make_ir_context():
        out = io.BytesIO()
        ir.Module.parse(text).operation.write_bytecode(out, desired_version=BYTECODE)
    return out.getvalue()


def copy(source, target):
    kept = 0
    with zipfile.ZipFile(source) as a, zipfile.ZipFile(target, "w") as b:
        names = set(a.namelist())
        for name in a.namelist():
            data = a.read(name)
            text = name.removesuffix("bc")
            if name.endswith("/module.mlirbc") and text in names:
                try:
                    data = plain(a.read(text))
                except (ir.MLIRError, ValueError):
                    kept += 1
            b.writestr(name, data)
    return kept


def main(source, target):
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "index.jsonl", target)
    kept = sum(copy(z, target / z.name) for z in sorted(source.glob("*.zip")))
    if kept:
        print(f"{kept} programs are as they were")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
