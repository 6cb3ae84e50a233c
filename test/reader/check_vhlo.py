# SPDX-License-Identifier: Apache-2.0
"""VHLO as MLIR prints it must read as the bytecode it was printed from.

usage: check_vhlo.py READ_MODULE MODULES [STABLEHLO [EVERY]]
READ_MODULE prints a module; MODULES is a folder of *.mlirbc; STABLEHLO the folder of shared cases, of
which each EVERYth is taken. MLIR prints each module in VHLO's own form, in generic form and with
locations; our print of all three must be that of the bytecode.
"""
import os
import subprocess
import sys
import tempfile

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from check_print import modules

FORMS = ({}, {"print_generic_op_form": True}, {"enable_debug_info": True})


def main():
    tool, folder = sys.argv[1:3]
    cases = sys.argv[3] if len(sys.argv) > 3 else None
    every = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    context = jax_mlir.make_ir_context()
    empty = stablehlo.serialize_portable_artifact(ir.Module.parse("", context), "1.0.0")
    stablehlo.deserialize_portable_artifact(context, empty)  # brings the dialect into the context
    passed = failed = 0

    def printed(path, data):
        with open(path, "wb") as f:
            f.write(data)
        run = subprocess.run([tool, path], capture_output=True, text=True)
        return run.returncode, run.stdout.replace(path, "module")

    def check(name, data, path):
        code, expected = printed(path, data)
        if code:
            return expected
        with context:
            module = ir.Module.parse(data)
        for form in FORMS:
            code, got = printed(path, module.operation.get_asm(**form).encode())
            if code or got != expected:
                differ = [(a, b) for a, b in zip(got.split("\n"), expected.split("\n")) if a != b]
                return got if code else f"{form}: {differ[:1]}"
        return None

    with tempfile.TemporaryDirectory() as scratch:
        for name, data in modules(folder, cases, every):
            try:
                problem = check(name, data, os.path.join(scratch, "m"))
            except Exception as e:  # MLIR's errors come as several types
                problem = str(e)
            if problem:
                failed += 1
                print(f"{name}: {problem[:500]}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
