#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layers in front of a plugin: run.py SCENARIO LAYERS PLUGIN DATA. Ends with a line that counts."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIO, LAYERS, PLUGIN, DATA = sys.argv[1:5]
failures, passed = [], 0


def run(name, layers, **env):
    """The scenario behind these layers: its exit status and what it printed."""
    full = {k: v for k, v in os.environ.items() if not k.startswith("TENON_")}
    full |= {"TENON_PLUGIN": PLUGIN, "TENON_LAYERS": layers} | env
    # Sanitizers: what the scenarios leak they leak on purpose.
    full["ASAN_OPTIONS"] = "detect_leaks=0"
    done = subprocess.run([SCENARIO, LAYERS, DATA, name], env=full, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def check(what, condition, told=""):
    global passed
    if condition:
        passed += 1
    else:
        failures.append(what)
        print(f"FAILED {what}\n{told}")


def rules(text):
    return sorted(set(re.findall(r"^tenon-validate: \[([a-z-]+)\]", text, re.M)))


def test_validate():
    for name in ("clean", "compile-twice"):
        for layers in ("validate", "trace,validate", "validate,trace", "validate,skew"):
            with tempfile.TemporaryDirectory() as work:
                code, text = run(name, layers, TENON_TRACE=f"{work}/t", TENON_SKEW="client:75")
            check(f"{name} is clean under {layers}", code == 0 and rules(text) == [] and " 0 breaches" in text, text)
    for name in ("use-after-destroy", "double-free", "leak", "error-before-ready", "use-after-donation",
                 "use-after-delete", "host-memory-changed", "use-after-client"):
        _, text = run(name, "validate", TENON_VALIDATE_STOP="1")
        check(f"validate finds {name} and nothing else", rules(text) == [name], text)
    _, text = run("leak", "validate")
    check("a leak says what made it and where", re.search(
        r"1 Buffer alive at the end of its client; it was made by PJRT_Client_BufferFromHostBuffer #\d+ \(scenario", text), text)
    code, text = run("double-free", "validate", TENON_VALIDATE_FATAL="1")
    check("TENON_VALIDATE_FATAL aborts", code == -6, f"{code} {text}")
    with tempfile.TemporaryDirectory() as work:
        run("leak", "validate", TENON_VALIDATE=f"{work}/report")
        check("TENON_VALIDATE names the file", "[leak]" in Path(f"{work}/report").read_text())


def test_trace():
    with tempfile.TemporaryDirectory() as work:
        code, text = run("clean", "trace", TENON_TRACE=f"{work}/t", TENON_TRACE_DUMP=f"{work}/dump")
        check("clean under trace", code == 0, text)
        told, events = Path(f"{work}/t.txt").read_text(), json.loads(Path(f"{work}/t.json").read_text())
        dumped = {p.name.split(".", 1)[1]: p for p in Path(f"{work}/dump").iterdir()}
        program = dumped["mlirbc"].read_bytes()
        options = dumped["options.txt"].read_text()
        as_text = dumped["mlir"].read_text() if "mlir" in dumped else ""
    check("a program is dumped as it came", program == Path(DATA, "donate.mlirbc").read_bytes())
    check("and as text", "func.func public @main" in as_text or "func.func @main" in as_text, as_text)
    check("compile options are dumped as text", "executable_build_options {\n  device_ordinal: -1\n  num_replicas: 1" in options, options)
    check("a call stands with its arguments and its results",
          re.search(r"t1 +#\d+ Client_BufferFromHostBuffer\(client=0x\w+, data=0x\w+, type=f32, dims=\[4\], .*\) -> "
                    r"done_with_host_buffer=0x\w+, buffer=0x\w+  [\d.]+ us", told), told)
    check("a run stands with its arguments", re.search(r"LoadedExecutable_Execute\(.*arguments=\[0x\w+\], launch_id=0\) -> events=\[0x", told), told)
    check("a run is followed to its end", re.search(r"LoadedExecutable_Execute: ready after", told), told)
    check("there is a summary", re.search(r"^# PJRT_LoadedExecutable_Execute +1 +0 ", told, re.M), told)
    calls = [e for e in events if e["ph"] == "X"]
    check("the JSON holds every call", len(calls) == len(re.findall(r"^ +[\d.]+ t\d+ +#\d+ \w+\(", told, re.M)) > 15)
    ends = {e["id"] for e in events if e["ph"] == "e"}
    check("the JSON draws async work from begin to end", ends and ends == {e["id"] for e in events if e["ph"] == "b"})


def test_fault():
    for fault, code_name in (("Client_Compile error=RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"),
                             ("LoadedExecutable_Execute event_error=ABORTED message=boom", "ABORTED"),
                             ("*ToHostBuffer n=1 error=DATA_LOSS", "DATA_LOSS")):
        _, text = run("clean", "fault", TENON_FAULT=fault)
        check(f"fault: {fault}", f"error {code_name}" in text, text)
    code, text = run("compile-twice", "fault", TENON_FAULT="Client_Compile n=2 error=INTERNAL message=second")
    check("only the n-th call fails", code == 3 and "second" in text, text)
    code, text = run("compile-twice", "fault", TENON_FAULT="Client_Compile n=3 error=INTERNAL")
    check("a rule for a third call leaves two alone", code == 0 and "compiled twice" in text, text)
    outcomes = [run("compile-twice", "fault", TENON_FAULT=f"Client_Compile p=0.5 seed={s} error=INTERNAL")[0] for s in range(8)]
    again = [run("compile-twice", "fault", TENON_FAULT=f"Client_Compile p=0.5 seed={s} error=INTERNAL")[0] for s in range(8)]
    check("chance has a seed", outcomes == again and len(set(outcomes)) == 2, str(outcomes))
    code, text = run("clean", "fault", TENON_FAULT="*Execute late=30ms")
    check("late readiness comes", code == 0 and "got 2" in text, text)
    for wrong in ("NoSuchCall error=INTERNAL", "Client_Compile error=WHAT", "", "Client_Compile delay=5"):
        code, text = run("clean", "fault", TENON_FAULT=wrong)
        check(f"rule '{wrong}' is refused", code != 0 and "TENON_FAULT" in text, text)
    with tempfile.TemporaryDirectory() as work:
        run("clean", "trace,fault", TENON_TRACE=f"{work}/t", TENON_FAULT="Client_Compile error=INTERNAL message=seen")
        told = Path(f"{work}/t.txt").read_text()
    check("trace shows a planted error", "-> INTERNAL: PJRT_Client_Compile: seen" in told, told)


def test_skew():
    for minor, slots in ((81, 118), (54, 100), (110, 138), (120, 138)):
        code, text = run("look", "skew", TENON_SKEW=f"plugin:{minor}")
        check(f"a plugin of minor {minor}", code == 0 and f"minor {minor}, {slots} slots" in text, text)
    for minor in (29, 54, 75, 83, 112):
        code, text = run("clean", "skew", TENON_SKEW=f"client:{minor}")
        check(f"a client of minor {minor}", code == 0 and "got 2" in text, text)
    code, text = run("clean", "skew", TENON_SKEW="plugin:5")
    check("a minor below 29 is refused", code != 0 and "TENON_SKEW" in text, text)


def test_settings():
    code, text = run("clean", "")
    check("no layers at all", code == 0 and "got 2" in text, text)
    code, text = run("clean", "validate,nonsense")
    check("an unknown layer is named", code != 0 and "nonsense" in text, text)
    code, text = run("clean", "validate", TENON_PLUGIN="/no/such.so")
    check("a missing plugin is named", code != 0 and "/no/such.so" in text, text)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
print(f"{passed} passed, {len(failures)} failed")
sys.exit(bool(failures))
