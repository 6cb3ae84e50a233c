# SPDX-License-Identifier: Apache-2.0
"""What the reader read and printed, against what MLIR itself reads from the same bytes.

usage: check_print.py READ_MODULE MODULES [STABLEHLO [EVERY]]
READ_MODULE prints a module; MODULES is a folder of *.mlirbc; STABLEHLO the folder of shared cases, of
which each EVERYth is taken. Our text is parsed by MLIR, written as an artifact and read again, so that
defaults are spelled out, and must then print as the original does. Programs with sdy, which that path
cannot write, must parse and verify, and count the same ops.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile
import zipfile

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

VERSION = "1.17.0"


def generic(module):
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
    # Same meaning, other words: public is the default, index is read as i64, empty dictionaries.
    text = text.replace(', sym_visibility = "public"', "").replace("xindex>", "xi64>")
    return re.sub(r"(arg|res)_attrs = \[\{\}(, \{\})*\], ", "", text).split("\n")


def names(operation):
    counts = collections.Counter()

    def visit(op):
        counts[op.name] += 1
        return ir.WalkResult.ADVANCE

    operation.walk(visit)
    return counts


def check(context, name, data, text):
    with context:
        ours = ir.Module.parse(text)
        theirs = stablehlo.deserialize_portable_artifact(context, data)
        ours.operation.verify()
        if "sdy." in text:
            a, b = names(ours.operation), names(theirs.operation)
            for c in (a, b):
                del c["builtin.unrealized_conversion_cast"]  # MLIR folds those that change no type
            return None if a == b else f"{a - b} more and {b - a} less than MLIR reads"
        ours = stablehlo.deserialize_portable_artifact(context, stablehlo.serialize_portable_artifact(ours, VERSION))
        for a, b in zip(generic(ours), generic(theirs)):
            if a != b:
                return f"ours   {a[:300]}\n  theirs {b[:300]}"
    return None


def modules(folder, cases, every):
    for path in sorted(glob.glob(os.path.join(folder, "*.mlirbc"))):
        yield os.path.basename(path), open(path, "rb").read()
    for path in sorted(glob.glob(os.path.join(cases, "*.zip"))) if cases else ():
        with zipfile.ZipFile(path) as archive:
            found = [n for n in archive.namelist() if n.endswith("/module.mlirbc")]
            for name in found[::every]:
                yield name, archive.read(name)


def main():
    tool, folder = sys.argv[1:3]
    cases = sys.argv[3] if len(sys.argv) > 3 else None
    every = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    context = jax_mlir.make_ir_context()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, data in modules(folder, cases, every):
            path = os.path.join(scratch, "m")
            with open(path, "wb") as f:
                f.write(data)
            run = subprocess.run([tool, path], capture_output=True, text=True)
            try:
                problem = run.stdout if run.returncode else check(context, name, data, run.stdout)
            except Exception as e:  # parse and verification errors come as several types
                problem = str(e)[:500]
            if problem:
                failed += 1
                print(f"{name}: {problem}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
