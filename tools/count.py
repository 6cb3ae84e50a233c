#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts tests of every kind in one line.

  count.py STEPS            a summary by kind, then `N passed, N failed, N skipped`; exits 1 unless all is well
  count.py --step NAME RC FILE     the line for one step, and which of its tests failed

STEPS is what tools/test.sh writes: lines `KIND <tab> NAME <tab> RC <tab> FILE`, RC being the exit status or the
word skip. FILE is meson's testlog.json, pytest's junit .xml, or text that holds a closing line of the same form.
A step that failed without counting a failure (a crash, a file that is missing) counts as one failed test.
"""

import json
import re
import sys
import xml.etree.ElementTree as xml
from collections import namedtuple
from pathlib import Path

Counts = namedtuple("Counts", "passed failed skipped")

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", re.M)
CMOCKA = {name: re.compile(rf"^\[ *{name} *\] (\d+) test\(s\)", re.M) for name in ("PASSED", "FAILED", "SKIPPED")}
MESON_PASSED = ("OK", "EXPECTEDFAIL")


def add(rows):
    return Counts(*(sum(column) for column in zip(Counts(0, 0, 0), *rows)))


def of_text(text):
    """The counts of the last closing line, else the sum over cmocka's groups, else None."""
    if found := CLOSING.findall(text):
        return Counts(*(int(n or 0) for n in found[-1]))
    cmocka = Counts(*(sum(map(int, CMOCKA[k].findall(text))) for k in ("PASSED", "FAILED", "SKIPPED")))
    return cmocka if any(cmocka) else None


def of_meson(path):
    """Counts and failed names: a program that counts its own tests counts as many, any other as one."""
    rows, failed = [], []
    for line in path.read_text().splitlines():
        test = json.loads(line)
        result = test["result"]
        inner = of_text((test.get("stdout") or "") + "\n" + (test.get("stderr") or ""))
        if result == "SKIP":
            rows.append(Counts(0, 0, 1))
        elif result in MESON_PASSED:
            rows.append(inner if inner and not inner.failed else Counts(1, 0, 0))
        else:
            rows.append(inner or Counts(0, 0, 0))
            if not rows[-1].failed:
                rows.append(Counts(0, 1, 0))
            failed.append(f"{test['name']} ({result.lower()})")
    return add(rows), failed


def of_junit(path):
    rows, failed = [], []
    for case in xml.parse(path).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            rows.append(Counts(0, 1, 0))
            failed.append(f"{case.get('classname')}::{case.get('name')}")
        else:
            rows.append(Counts(0, 0, 1) if "skipped" in kinds else Counts(1, 0, 0))
    return add(rows), failed


def of_step(name, rc, file):
    """Counts and failed names of one step."""
    if rc == "skip":
        return Counts(0, 0, 1), []
    path, counts, failed = Path(file), None, []
    try:
        if path.suffix == ".json":
            counts, failed = of_meson(path)
        elif path.suffix == ".xml":
            counts, failed = of_junit(path)
        else:
            counts = of_text(path.read_text(errors="replace"))
    except (OSError, ValueError, KeyError, xml.ParseError):
        counts = None
    if counts is None or not any(counts):
        return (Counts(1, 0, 0), []) if rc == "0" and path.suffix == ".ok" else (Counts(0, 1, 0), [name])
    if rc != "0" and not counts.failed:
        return add([counts, Counts(0, 1, 0)]), [f"{name} (exit status {rc})"]
    return counts, failed


def line(counts):
    return f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"


def main(args):
    if args[0] == "--step":
        counts, failed = of_step(*args[1:])
        print(line(counts))
        print("".join(f"    failed: {name}\n" for name in failed[:30]), end="")
        return 0

    kinds = {}
    for row in Path(args[0]).read_text().splitlines():
        kind, *step = row.split("\t")
        kinds.setdefault(kind, []).append(of_step(*step)[0])
    for kind, rows in kinds.items():
        print(f"{kind:9} {line(add(rows))}")
    total = add(sum(kinds.values(), []))
    print(line(total))
    return 0 if total.passed and not total.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
