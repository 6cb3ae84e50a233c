# SPDX-License-Identifier: Apache-2.0
"""pypjrt, a PJRT client in pure Python: its conformance probe finds no failure, and lacks only what is listed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Why each is unsupported.
UNSUPPORTED = {"topology.create_by_name": "it asks for a TPU topology by name"}


@pytest.mark.parametrize("library", ["libtenon_pjrt.so", "libtenon_sim_pjrt.so"])
def test_conformance_probe(library, tmp_path):
    report = tmp_path / "report.json"
    run = subprocess.run([sys.executable, "-m", "pypjrt.conform", "--json", report, ROOT / os.environ.get("BUILD", "build") / library],
                         capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    by_result = {}
    for check in json.loads(report.read_text())["checks"]:
        by_result.setdefault(check["result"], {})[check["id"]] = check["detail"]
    assert set(by_result) <= {"pass", "skip", "unsupported"}, by_result
    assert set(by_result.get("unsupported", {})) <= set(UNSUPPORTED), by_result["unsupported"]
    assert len(by_result["pass"]) >= 55
