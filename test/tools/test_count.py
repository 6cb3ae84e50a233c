# SPDX-License-Identifier: Apache-2.0
"""tools/count.py on results of every kind, good and bad."""

import json
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools/count.py"
CMOCKA = "[==========] 4 test(s) run.\n[  PASSED  ] 2 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n"
JUNIT = """<testsuites><testsuite name="pytest" tests="4">
<testcase classname="t" name="good"/><testcase classname="t" name="bad"><failure message="no"/></testcase>
<testcase classname="t" name="left"><skipped/></testcase><testcase classname="t" name="torn"><error/></testcase>
</testsuite></testsuites>"""


def meson(*tests):
    return "\n".join(json.dumps(dict(zip(("name", "result", "stdout", "stderr"), t))) for t in tests)


def count(tmp_path, *steps):
    rows = []
    for i, (rc, name, text) in enumerate(steps):
        file = tmp_path / f"{i}{name}"
        if text is not None:
            file.write_text(text)
        rows.append(f"kind{i}\tstep{i}\t{rc}\t{file}\n")
    (tmp_path / "steps.tsv").write_text("".join(rows))
    run = subprocess.run([sys.executable, TOOL, tmp_path / "steps.tsv"], capture_output=True, text=True)
    assert run.stderr == ""
    return run.stdout.splitlines()[-1], run.returncode


def test_meson_counts_programs_and_their_cases(tmp_path):
    log = meson(("a", "OK", "", CMOCKA), ("b", "OK", "anything"), ("c", "SKIP", ""), ("d", "FAIL", "boom"),
                ("e", "FAIL", "", CMOCKA + "[  FAILED  ] 1 test(s), listed below:\n"), ("f", "TIMEOUT", "", CMOCKA),
                ("g", "OK", "x\n70 passed, 0 failed, 2 skipped\n"))
    # a 2+1s, b 1, c 1s, d 1f, e 2+1s+1f, f 2+1s+1f, g 70+2s
    assert count(tmp_path, (1, ".json", log)) == ("77 passed, 3 failed, 6 skipped", 1)


def test_junit(tmp_path):
    assert count(tmp_path, (1, ".xml", JUNIT)) == ("1 passed, 2 failed, 1 skipped", 1)


def test_kinds_add_up(tmp_path):
    total = count(tmp_path, (0, ".log", "3 passed, 0 failed\n"), (0, ".ok", ""), ("skip", "-", None),
                  (0, ".json", meson(("a", "OK", ""))), (0, ".log", "1 passed, 0 failed\nthen\n5 passed, 0 failed, 1 skipped\n"))
    assert total == ("10 passed, 0 failed, 2 skipped", 0)


def test_a_step_that_died_is_a_failure(tmp_path):
    good = (0, ".ok", "")
    for bad in ((1, ".ok", ""), (139, ".xml", None), (0, ".xml", "<torn"), (0, ".log", "no count"), (0, ".json", ""),
                (0, ".log", "0 passed, 0 failed\n")):
        assert count(tmp_path, good, bad) == ("1 passed, 1 failed, 0 skipped", 1), bad
    assert count(tmp_path, good, (124, ".log", "9 passed, 0 failed\n")) == ("10 passed, 1 failed, 0 skipped", 1)


def test_nothing_run_is_no_success(tmp_path):
    assert count(tmp_path, ("skip", "-", None)) == ("0 passed, 0 failed, 1 skipped", 1)
