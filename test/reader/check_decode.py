# SPDX-License-Identifier: Apache-2.0
"""What the reader read, against an independent decoder of the same bytes.

usage: check_decode.py READ_MODULE DECODER MODULES STABLEHLO [EVERY]
DECODER is vhlo_decode.py of the shared tools (exit 77 without it). Compared for each op, in order and
with its nesting: name, the numbers of its operands and results in order of definition, result types.
"""
import glob
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile

SCALARS = {"bool": "i1", "index": "i64"}


def load(path):
    if not os.path.exists(path):
        print(path, "is not there")
        sys.exit(77)
    spec = importlib.util.spec_from_file_location("decoder", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def element(t):
    if t.k == "v" or t.k == "b":
        return SCALARS.get(t.f[0], t.f[0])
    if t.k == "int":
        return ("ui" if t.f[1] == 2 else "i") + str(t.f[0])
    if t.k in ("v_complex", "complex"):
        return f"complex<{element(t.f[0])}>"
    if t.k in ("v_quant", "v_quantpa", "quant"):
        return "quantized"
    raise ValueError(t.k)


def type_text(t):
    if t.k in ("v_ranked", "tensor"):
        dims = "".join(("?" if d == -2**63 else str(d)) + "x" for d in t.f[0])
        bounds = ""
        if t.f[2]:
            bounds = ", bounds " + " ".join("?" if d == -2**63 else str(d) for d in t.f[2].f[0])
        return f"tensor<{dims}{element(t.f[1])}{bounds}>"
    if t.k == "v" and t.f[0] == "token":
        return "token"
    if t.k in ("v_tuple", "tuple"):
        return f"tuple<{', '.join(map(type_text, t.f[0]))}>"
    raise ValueError(t.k)


def op_name(name):
    dialect, rest = name.split(".", 1)
    if dialect != "vhlo":
        return name
    base, version = rest.rsplit("_v", 1)
    int(version)
    return ("func." if base == "call" else "stablehlo.") + base


def listing(ops, lines, numbers, depth):
    for op in ops:
        results = []
        for v in op.results:
            numbers[id(v)] = len(numbers)
            results.append(numbers[id(v)])
        lines.append("%d %s (%s) -> (%s) %s" % (
            depth, op_name(op.name), " ".join(str(numbers[id(v)]) for v in op.operands),
            " ".join(map(str, results)), " ".join(map(type_text, op.rtypes))))
        for region in op.regions:
            for args, body in region:
                for v, _, _ in args:
                    numbers[id(v)] = len(numbers)
                listing(body, lines, numbers, depth + 1)


def expected(decoder, data):
    module = decoder.Module(data)
    lines, numbers = [], {}
    for op in module.top[1][0].regions[0][0][1]:
        if op.name != "vhlo.func_v1":
            continue
        lines.append("func " + dict(op.props)["sym_name"].f[0].decode())
        for args, body in op.regions[0]:
            for v, _, _ in args:
                numbers[id(v)] = len(numbers)
            listing(body, lines, numbers, 1)
    return lines


def modules(folder, cases, every):
    for path in sorted(glob.glob(os.path.join(folder, "*.mlirbc"))):
        yield os.path.basename(path), open(path, "rb").read()
    for path in sorted(glob.glob(os.path.join(cases, "*.zip"))):
        with zipfile.ZipFile(path) as archive:
            found = [n for n in archive.namelist() if n.endswith("/module.mlirbc")]
            for name in found[::every]:
                yield name, archive.read(name)


def main():
    tool, decoder, folder, cases = sys.argv[1:5]
    decoder = load(decoder)
    every = int(sys.argv[5]) if len(sys.argv) > 5 else 5
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, data in modules(folder, cases, every):
            path = os.path.join(scratch, "m")
            with open(path, "wb") as f:
                f.write(data)
            ours = subprocess.run([tool, "--list", path], capture_output=True, text=True).stdout.splitlines()
            theirs = expected(decoder, data)
            if ours == theirs:
                passed += 1
                continue
            failed += 1
            pairs = [(a, b) for a, b in zip(ours, theirs) if a != b]
            print(name, *(pairs[0] if pairs else (len(ours), "lines, expected", len(theirs))), sep="\n  ")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
