#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tenon command on our plugins: run.py TENON CPU SIM LAYERS SCENARIO DATA COMPLETION. Ends with a line that counts."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TENON, CPU, SIM, LAYERS, SCENARIO, DATA, SHARE = sys.argv[1:8]
passed, failures = 0, []


def tenon(*args, **env):
    done = subprocess.run([TENON, *map(str, args)], env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"} | env, capture_output=True,
                          text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def check(what, condition, told=""):
    global passed
    if condition:
        passed += 1
    else:
        failures.append(what)
        print(f"FAILED {what}\n{told}")


def test_info():
    code, out, err = tenon("info", CPU, "--json", "--option", "cpu_device_count=2")
    found = json.loads(out)
    check("info --json is JSON", code == 0 and found["api"]["minor"] == 115 and found["missing"] == [], out + err)
    check("info --json lists devices", [d["id"] for d in found["devices"]] == [0, 1] and "device" in found["devices"][0]["memories"], out)
    check("info --json lists extensions", {e["name"] for e in found["extensions"]} >= {"Layouts", "FFI", "Shardings"}, out)
    check("info --json has the attributes", len(found["attributes"]["stablehlo_current_version"]) == 3, out)
    code, out, err = tenon("info", CPU, "--json", "--option", "no_such_option=2")
    check("info --json tells an error inside", code == 1 and "no_such_option" in json.loads(out)["error"], out + err)


def test_text():
    code, out, err = tenon("text", f"{DATA}/add.mlirbc")
    check("text prints MLIR", code == 0 and "stablehlo.add" in out and "func.func" in out, out + err)
    with tempfile.TemporaryDirectory() as work:
        Path(work, "a.mlir").write_text(out)
        code, again, err = tenon("text", f"{work}/a.mlir")
    check("text reads what it prints", code == 0 and again == out, again + err)
    code, out, err = tenon("text", "/no/such")
    check("text names a missing file", code == 1 and "/no/such" in err, err)


def test_diff():
    code, out, err = tenon("diff", CPU, SIM, f"{DATA}/two_outputs.mlirbc")
    check("the same program on cpu and sim", code == 0 and "0 of 2 outputs differ" in out, out + err)
    with tempfile.TemporaryDirectory() as work:
        text = "func.func @main(%a: tensor<5xf32>) -> tensor<5xf32> {\n  %r = stablehlo.exponential %a : tensor<5xf32>\n  return %r : tensor<5xf32>\n}\n"
        Path(work, "e.mlir").write_text(text)
        code, out, err = tenon("diff", CPU, SIM, f"{work}/e.mlir", "--seed", 3)
        check("made-up inputs of a text program", code == 0 and "0 of 1 outputs differ" in out, out + err)
        # A plugin that lies by one bit: the faulty one of the tests.
        faulty = os.environ.get("FAULTY_PLUGIN")
        if faulty:
            code, out, err = tenon("diff", CPU, faulty, f"{work}/e.mlir", FAULTY_REAL=CPU, FAULTY="wrong-value")
            check("a bit of difference is found, with its element and its size",
                  code == 1 and re.search(r"output 0: 1 of 5 elements differ, first element 0: \S+ against \S+; at most 1 ulp", out), out + err)
            code, out, err = tenon("diff", CPU, faulty, f"{work}/e.mlir", "--tolerance", "1e-4", FAULTY_REAL=CPU, FAULTY="wrong-value")
            check("and tolerated if asked", code == 0, out + err)
    code, out, err = tenon("diff", CPU, "/no/such.so", f"{DATA}/add.mlirbc")
    check("diff names a missing plugin", code == 2 and "/no/such.so" in err or code == 1 and "/no/such.so" in err, f"{code} {err}")


def test_bench():
    code, out, err = tenon("bench", CPU, f"{DATA}/add.mlirbc", "--repeat", 5, "--json")
    found = json.loads(out)
    check("bench --json", code == 0 and set(found) >= {"client", "compile", "call", "run", "row"} and all(0 < v < 1e6 for v in found.values()), out + err)
    code, out, err = tenon("bench", CPU, f"{DATA}/donate.mlirbc", "--repeat", 3)
    check("bench of a program that donates", code == 0 and "a run and its wait" in out, out + err)


GROUPED = """func.func @main(%a: tensor<96x96xf32>) -> (tensor<96x96xf32>, tensor<96xf32>) {
  %d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<96x96xf32>, tensor<96x96xf32>) -> tensor<96x96xf32>
  %e = stablehlo.exponential %d : tensor<96x96xf32>
  %f = stablehlo.multiply %e, %a : tensor<96x96xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%f init: %z) applies stablehlo.add across dimensions = [0] : (tensor<96x96xf32>, tensor<f32>) -> tensor<96xf32>
  return %f, %s : tensor<96x96xf32>, tensor<96xf32>
}
"""
PROFILED = """func.func @main(%a: tensor<96x64xf32>, %b: tensor<64x32xf32>, %t: tensor<1000x128xf64>, %i: tensor<i32>)
    -> (tensor<96x32xf32>, tensor<1x128xf64>) {
  %d = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<96x64xf32>, tensor<64x32xf32>) -> tensor<96x32xf32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.dynamic_slice %t, %i, %z, sizes = [1, 128] : (tensor<1000x128xf64>, tensor<i32>, tensor<i32>) -> tensor<1x128xf64>
  return %d, %s : tensor<96x32xf32>, tensor<1x128xf64>
}
"""


def test_profile():
    with tempfile.TemporaryDirectory() as work:
        Path(work, "p.mlir").write_text(PROFILED)
        inputs = []
        for name, kind, dims in (("a", "<f4", "96, 64"), ("b", "<f4", "64, 32"), ("t", "<f8", "1000, 128"), ("i", "<i4", "")):
            head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({dims}), }}".ljust(117) + "\n"
            size = int(kind[2]) * eval("*".join(dims.split(", ")) or "1")
            Path(work, f"{name}.npy").write_bytes(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head.encode() + bytes(size))
            inputs += ["--input", f"{work}/{name}.npy"]
        code, out, err = tenon("run", CPU, f"{work}/p.mlir", *inputs, "--repeat", 3, "--profile", "--option", "num_threads=1")
        check("run --profile tells the limits", code == 0 and "profile: mean of 3 runs" in out and "measured with 1 thread:" in out, out + err)
        rows = {m[2]: m[1].split() for m in re.finditer(r"^ +(\d.*%.*?) +stablehlo\.(\w+) ", out, re.M)}
        check("a row per step", set(rows) >= {"dot_general", "dynamic_slice"}, out + err)
        # us, share, calls, MB, Mflop: what goes in and out, two operations for each of 96 x 64 x 32.
        dot = rows.get("dot_general", [])
        check("bytes and operations of a product", dot[2:5] == ["1", "0.04506", "0.3932"], out)
        check("how near the limit it is", len(dot) > 8 and re.fullmatch(r"\d+%", dot[7]) and dot[8] in ("memory", "compute"), out)
        check("of a slice only the part counts", rows.get("dynamic_slice", [])[2:4] == ["1", "0.002056"], out)
        check("shapes and places", re.search(r"stablehlo\.dot_general f32\[96,32\]  3:\d", out), out)
        Path(work, "g.mlir").write_text(GROUPED)
        head = "{'descr': '<f4', 'fortran_order': False, 'shape': (96, 96), }".ljust(117) + "\n"
        Path(work, "g.npy").write_bytes(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head.encode() + bytes(96 * 96 * 4))
        code, out, err = tenon("run", CPU, f"{work}/g.mlir", "--input", f"{work}/g.npy", "--profile")
        told = sum(float(f) for f in re.findall(r"^ +[\d.]+ +[\d.]+% +\S+ +\S+ +([\d.]+) .*stablehlo", out, re.M))
        check("operations of ops that run together", code == 0 and 1.7 < told < 1.9, out + err)
        code, out, err = tenon("run", LAYERS, f"{work}/p.mlir", *inputs, "--profile", TENON_PLUGIN=SIM, TENON_LAYERS="validate")
        check("run --profile through layers", code == 0 and "stablehlo.dot_general" in out or "no profiler" in err, out + err)


def record(work, name, **env):
    session = f"{work}/{name}.session"
    subprocess.run([SCENARIO, LAYERS, DATA, name], capture_output=True, timeout=60,
                   env=os.environ | {"TENON_PLUGIN": CPU, "TENON_LAYERS": "record", "TENON_RECORD": session, "ASAN_OPTIONS": "detect_leaks=0"} | env)
    return session


def test_replay():
    with tempfile.TemporaryDirectory() as work:
        session = record(work, "clean")
        for plugin in (CPU, SIM):
            code, out, err = tenon("replay", plugin, session)
            check(f"a session replays on {Path(plugin).name}", code == 0 and "1 arrays compared, 0 differ" in out and " 0 left out" in out, out + err)
        code, out, err = tenon("replay", CPU, session, "--list")
        kinds = re.findall(r"^#\d+ (\w+)", out, re.M)
        check("--list tells the calls", kinds[:3] == ["CLIENT", "COMPILE", "PUT"] and "RUN" in kinds and kinds[-1] == "END", out)
        faulty = os.environ.get("FAULTY_PLUGIN")
        if faulty:
            code, out, err = tenon("replay", faulty, session, FAULTY_REAL=CPU, FAULTY="wrong-value")
            check("another value is found", code == 1 and "1 differ" in out and "recorded 2" in out, out + err)
            small = f"{work}/small.session"
            code, out, err = tenon("replay", faulty, session, "--cut", small, FAULTY_REAL=CPU, FAULTY="wrong-value")
            check("and cut down", code == 0 and "GET differs" in out and Path(small).exists(), out + err)
            code, out, err = tenon("replay", faulty, small, FAULTY_REAL=CPU, FAULTY="wrong-value")
            check("and fails again", code == 1 and "1 differ" in out, out + err)
        session = record(work, "use-after-donation")
        code, out, err = tenon("replay", CPU, session)
        check("a session that fails, fails again as recorded", code == 0 and "as recorded" in out, out + err)
        small = f"{work}/small2.session"
        code, out, err = tenon("replay", CPU, session, "--cut", small)
        found = re.search(r"(\d+) calls of the \d+ are enough", out)
        check("a failing session is cut to a few calls", code == 0 and found and int(found[1]) < 10, out + err)
        code, out, err = tenon("replay", CPU, record(work, "compile-twice"), "--cut", small)
        check("a session that does not fail is not cut", code == 1 and "does not fail" in err, out + err)
        Path(work, "bad").write_bytes(b"TENONSES\1\0\0\0\xff\xff\xff\xff")
        code, out, err = tenon("replay", CPU, f"{work}/bad")
        check("a damaged session is refused", code != 0 and "kind" in err, out + err)


def test_words():
    _, out, _ = tenon("--help")
    commands = re.findall(r"^  (\w+) ", out, re.M)
    check("help lists the commands", {"bench", "check", "diff", "info", "ops", "replay", "run", "text"} <= set(commands), out)
    for command in commands:
        code, out, err = tenon(command, "--help")
        check(f"{command} --help", code == 0 and f"tenon {command}" in out, out + err)
        check(f"{command} has a manual page", f".TH TENON-{command.upper()} 1" in Path(SHARE, f"tenon-{command}.1").read_text())
        options = set(re.findall(r"--[a-z][a-z-]+", out)) - {"--help"}
        completion = Path(SHARE, "tenon.bash").read_text()
        check(f"{command}: completion knows its options", all(o in completion for o in options), f"{options}")
    code, out, err = tenon("nonsense", "x")
    check("an unknown command is named", code == 2 and "nonsense" in err, err)
    code, out, err = tenon("run", CPU, f"{DATA}/add.mlirbc", "--nonsense")
    check("an unknown option is named, with where to look", "--nonsense" in err and "--help" in err, err)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
print(f"{passed} passed, {len(failures)} failed")
sys.exit(bool(failures))
