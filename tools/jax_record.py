# SPDX-License-Identifier: Apache-2.0
"""A plugin for pytest by which tools/jax_files.py runs JAX's test files; its environment:

  TN_RECORD  a file that gets a line of JSON for every test; what it holds already is not run again
  TN_ONLY    a file of ids: nothing else is run
  TN_LIMIT   seconds for one test; one that takes longer is recorded as failed, and the process ends with 77

The test that runs is named in TN_RECORD.now, for whoever finds the process dead."""

import json
import os
import threading
import time
from pathlib import Path

RECORD = Path(os.environ["TN_RECORD"])
LIMIT = float(os.environ.get("TN_LIMIT", "300"))

_reports = {}
_running = (None, 0.0)


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(path, test, outcome, why="", seconds=0.0):
    with open(path, "a") as file:
        file.write(json.dumps({"id": test, "outcome": outcome, "why": why, "seconds": round(seconds, 3)}) + "\n")


def pytest_collection_modifyitems(config, items):
    done = {r["id"] for r in read(RECORD)}
    only = set(Path(os.environ["TN_ONLY"]).read_text().split("\n")) if "TN_ONLY" in os.environ else None
    keep = [i for i in items if i.nodeid not in done and (only is None or i.nodeid in only)]
    items[:] = keep


def pytest_sessionstart(session):
    def watch():
        while True:
            time.sleep(1)
            test, start = _running
            if test and time.time() - start > LIMIT:
                append(RECORD, test, "failed", f"no end after {LIMIT:.0f} s", LIMIT)
                os._exit(77)

    threading.Thread(target=watch, daemon=True).start()


def pytest_runtest_logstart(nodeid, location):
    global _running
    _running = nodeid, time.time()
    Path(f"{RECORD}.now").write_text(nodeid)


def pytest_runtest_logreport(report):
    global _running
    outcome, why, seconds = _reports.get(report.nodeid, (None, "", 0.0))
    seconds += report.duration
    if report.outcome == "failed":
        text = [line[1:].strip() for line in (report.longreprtext or "").splitlines() if line.startswith("E ")]
        outcome, why = "failed", why or " | ".join(text[:6])[:800]
    elif report.outcome == "skipped" and outcome is None:
        reason = report.longrepr
        outcome, why = "skipped", (reason[2] if isinstance(reason, tuple) else str(reason))[:200]
    elif report.when == "call" and outcome is None:
        outcome = "passed"
    _reports[report.nodeid] = outcome, why, seconds
    if report.when == "teardown":
        append(RECORD, report.nodeid, outcome or "failed", why, seconds)
        del _reports[report.nodeid]
        _running = None, 0.0
