#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tools find every planted fault, and nothing where none is planted?

  run.py CHECK FAULTY PLUGIN LAYERS [--full]

Runs the suite on the faulty plugin, once for each fault: the check that states the rule must be the one that
fails. Without a fault nothing may fail. --full runs all checks for each fault and prints which found it."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CHECK, FAULTY, PLUGIN, LAYERS = sys.argv[1:5]
FULL = "--full" in sys.argv
FAULTS = re.findall(r'^FAULT\(\w+, "([\w-]+)", "(\w+)"\)', Path(__file__).with_name("faults.def").read_text(), re.M)


def check(fault, *args):
    """What failed: {id: what the plugin did}, and the text of the run."""
    env = os.environ | {"FAULTY_REAL": PLUGIN, "FAULTY": fault}
    with tempfile.TemporaryDirectory() as work:
        report = f"{work}/report.json"
        done = subprocess.run([CHECK, FAULTY, "--timeout", "90", "--layers", LAYERS, "--json", report, *args], env=env,
                              capture_output=True, text=True, timeout=600)
        checks = json.loads(Path(report).read_text())["checks"] if Path(report).exists() else []
    return {c["id"]: c["did"] for c in checks if c["outcome"] in ("failed", "crashed", "hung")}, done.stdout + done.stderr


passed = failed = 0
known = set()  # what fails on the plugin that is wrapped, too
nothing, text = check("", "--short")
if set(nothing) <= known and "passed" in text:
    passed += 1
else:
    failed += 1
    print("without a fault, failed:", nothing, text[-2000:])
for name, number in FAULTS:
    found, text = check(name, *([] if FULL else ["--only", number]))
    named = [i for i in found if re.fullmatch(rf"{number}[a-z]?(:.*)?", i)]
    if FULL:
        print(f"{name:28} {len(set(found) - known)} checks failed, among them {' '.join(named)[:60]}: {found[named[0]][:100] if named else ''}", flush=True)
    if named:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {name}: check {number} did not find it; failed: {found or text[-600:]}")
print(f"{passed} passed, {failed} failed")
sys.exit(bool(failed))
