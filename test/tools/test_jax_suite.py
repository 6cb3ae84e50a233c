# SPDX-License-Identifier: Apache-2.0
"""tools/jax_suite.py: what it makes of results and of its list."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools/jax_suite.py"


@pytest.fixture
def tool(tmp_path):
    spec = importlib.util.spec_from_file_location("jax_suite", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.LIST = tmp_path / "fails.txt"
    return module


def result(test, outcome, why=""):
    return {"id": test, "o": outcome, "t": 0.1, "why": why}


def test_files_weigh_what_they_have_in_the_whole_suite(tool):
    r = {t["id"]: t for t in (result("a.py::1", "passed"), result("a.py::2", "failed"), result("b.py::1", "passed"),
                              result("b.py::2", "skipped"))}
    assert tool.weighted(r, {"a.py": [100], "b.py": [400]}) == pytest.approx(100 * (50 + 200) / (100 + 200))
    assert tool.weighted(r, {"a.py": [100], "b.py": [400]}, "a.py") == 100


def test_the_list_keeps_causes_and_loses_what_passes(tool):
    tool.LIST.write_text("# remark\na.py::1  # because\na.py::2  # of that\n")
    known = tool.read_list()
    assert known == {"a.py::1": "because", "a.py::2": "of that"}
    r = {t["id"]: t for t in (result("a.py::1", "failed", "x"), result("a.py::2", "passed"), result("a.py::3", "failed", "new\n why"))}
    tool.write_list(known, r, ["a.py::1", "a.py::3"])
    assert tool.read_list() == {"a.py::1": "because", "a.py::3": "new why"}


def run(tmp_path, results, monkeypatch, tool, capsys):
    (tmp_path / "runs").mkdir(exist_ok=True)
    (tmp_path / "single.txt").write_text("".join(r["id"] + "\n" for r in results))
    (tmp_path / "weights.json").write_text(json.dumps({"a.py": [10, 1]}))
    (tmp_path / "runs/tenon.single.jsonl").write_text("".join(json.dumps(r) + "\n" for r in results))
    monkeypatch.setattr(sys, "argv", ["jax_suite.py", "none", str(tmp_path), "--report-only"])
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    return tool.main(), capsys.readouterr().out


def test_new_failures_and_unexpected_passes_fail(tool, tmp_path, monkeypatch, capsys):
    tool.LIST.write_text("a.py::2  # known\n")
    good = [result("a.py::1", "passed"), result("a.py::2", "failed")]
    rc, out = run(tmp_path, good, monkeypatch, tool, capsys)
    assert rc == 0 and out.endswith("1 passed, 0 failed, 1 skipped\n")
    rc, out = run(tmp_path, [result("a.py::1", "failed"), result("a.py::2", "failed")], monkeypatch, tool, capsys)
    assert rc == 1 and "FAILED a.py::1" in out
    rc, out = run(tmp_path, [result("a.py::1", "passed"), result("a.py::2", "passed")], monkeypatch, tool, capsys)
    assert rc == 1 and "PASSED a.py::2" in out


def test_it_explains_itself():
    assert "suite_fails.txt" in TOOL.read_text()
    assert subprocess.run([sys.executable, TOOL, "--help"], capture_output=True).returncode == 0
