#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs StableHLO cases and holds the result against a list of known failures.

  cases.py [--write] LIST RUNNER ARGS...     e.g. cases.py test/stablehlo/fails.txt build/host/tenon-cases PLUGIN DIR

LIST has a line `AREA/NAME` for each case that is known to fail (`#` starts a comment). A listed case that fails is
skipped; one that passes has failed, since the list is then wrong; any other failure is one. --write makes LIST what
the run showed, with the reason of each failure as a comment.
The last line is `N passed, N failed, N skipped`.
"""

import re
import subprocess
import sys
from pathlib import Path


def read_list(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return {name for line in lines if (name := line.split("#")[0].strip())}


def judge(output, known):
    """The report lines for the output of the runner, and (passed, failed, skipped)."""
    failures = dict(re.findall(r"^FAIL (\S+): (.*)$", output, re.M))
    closing = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
    if not closing or int(closing[-1][1]) != len(failures):
        raise ValueError("the runner did not end with a count that fits its failures")
    passed = int(closing[-1][0])
    new = sorted(set(failures) - known)
    mended = sorted(known - set(failures))
    report = [f"FAIL {name}: {failures[name]}" for name in new]
    report += [f"FAIL {name}: passes or is gone; take it off the list" for name in mended]
    return report, (passed - len(mended), len(new) + len(mended), len(failures) - len(new))


def write_list(path, failures):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [f"{name}  # {failures[name][:140]}" for name in sorted(failures)]
    path.write_text("# Cases that are known to fail; written by tools/cases.py --write.\n" + "".join(r + "\n" for r in rows))


def main(args):
    write = args[:1] == ["--write"]
    path, command = Path(args[write]), args[write + 1:]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace")
    print("".join(line + "\n" for line in run.stdout.splitlines() if not line.startswith("FAIL")), end="")
    if run.returncode not in (0, 1):
        print(f"the runner ended with {run.returncode}")
        return 2
    known = read_list(path)
    if write:
        write_list(path, dict(re.findall(r"^FAIL (\S+): (.*)$", run.stdout, re.M)))
        known = read_list(path)
    report, counts = judge(run.stdout, known)
    print("\n".join(report), end="\n" if report else "")
    print("%d passed, %d failed, %d skipped" % counts)
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
