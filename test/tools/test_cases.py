# SPDX-License-Identifier: Apache-2.0
"""tools/cases.py on a runner that says what it is told."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/cases.py"
OUTPUT = "FAIL a/one: no such op\nFAIL b/two: off by one\na: 3 of 4 (75.0 %)\n8 passed, 2 failed\n"


def run(tmp_path, known, output=OUTPUT, *flags, rc=1):
    runner = [sys.executable, "-c", f"print({output!r}, end=''); raise SystemExit({rc})"]
    (tmp_path / "fails.txt").write_text(known)
    done = subprocess.run([sys.executable, TOOL, *flags, tmp_path / "fails.txt", *runner], capture_output=True, text=True)
    return done.stdout.splitlines(), done.returncode


def test_known_failures_are_skipped(tmp_path):
    lines, rc = run(tmp_path, "# why\na/one\nb/two  # soon\n")
    assert (lines[-1], rc) == ("8 passed, 0 failed, 2 skipped", 0)


def test_a_new_failure_is_named(tmp_path):
    lines, rc = run(tmp_path, "a/one\n")
    assert (lines[-2:], rc) == (["FAIL b/two: off by one", "8 passed, 1 failed, 1 skipped"], 1)


def test_a_listed_case_that_passes_is_named(tmp_path):
    lines, rc = run(tmp_path, "a/one\nb/two\na/three\n")
    assert (lines[-1], rc) == ("7 passed, 1 failed, 2 skipped", 1)
    assert lines[-2].startswith("FAIL a/three: passes")


def test_a_runner_that_died_counts_nothing(tmp_path):
    lines, rc = run(tmp_path, "", "FAIL a/one: x\n", rc=134)
    assert rc == 2 and "passed" not in lines[-1]


def test_the_list_can_be_written(tmp_path):
    lines, rc = run(tmp_path, "gone/case\n", OUTPUT, "--write")
    assert (lines[-1], rc) == ("8 passed, 0 failed, 2 skipped", 0)
    assert "a/one  # no such op\n" in (tmp_path / "fails.txt").read_text()
