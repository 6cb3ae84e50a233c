#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs JAX's own tests on Tenon and compares what fails with a list that must be exact.

    tools/jax_suite.py JAXDIR SAMPLE [--groups single multi] [--files lax_test fft_test] [--write]

JAXDIR holds JAX's `tests`, `conftest.py` and `pyproject.toml` of the installed release; SAMPLE is a folder with id lists
(GROUP.txt), weights.json, and a run.sh that resumes and survives hangs and crashes (../shared/jax_sample). Results are kept
in build/jax-suite, so that an interrupted run goes on where it was; --fresh begins again. --files runs whole files
instead of the lists. Which devices and backend: JAX_PLATFORMS, default tenon,cpu.

The list, test/jax/suite_fails.txt, has a line `ID  # cause` for every known failure. A failure that is not listed and a
listed test that passes both fail the run. --write takes what failed into the list, keeping the causes that are there.
Tests that would need programs to be partitioned, by the text of their error, are neither: they are counted apart.
"""

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "test/jax/suite_fails.txt"
PARTITIONER = "partitioning programs is not supported"
HARNESSES = "tests/export_harnesses_multi_platform_test.py"  # runs on jaxlib's devices only


def collect(jax_dir, files, env):
    """The ids of all tests of the files."""
    paths = [f"tests/{f.removesuffix('.py')}.py" for f in files]
    run = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", "--no-header",
                          "--continue-on-collection-errors", *paths], cwd=jax_dir, env=env, capture_output=True, text=True)
    return [line for line in run.stdout.splitlines() if "::" in line]


def prepare(args, env):
    """A writable copy of the sample with the lists to run; the results of an earlier run stay."""
    work = ROOT / "build/jax-suite" / ("files" if args.files else "sample")
    if args.fresh:
        shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True, exist_ok=True)
    for file in Path(args.sample).iterdir():
        if file.is_file():
            (work / file.name).unlink(missing_ok=True)
            shutil.copy(file, work / file.name)
    if args.files:
        (work / "single.txt").write_text("\n".join(collect(args.jax_dir, args.files, env)) + "\n")
    return work


def read_results(work, tag, groups):
    results = {}
    for group in groups:
        wanted = set((work / f"{group}.txt").read_text().split("\n"))
        path = work / "runs" / f"{tag}.{group}.jsonl"
        for line in path.read_text().splitlines() if path.exists() else []:
            r = json.loads(line)
            if r["id"] in wanted:
                results[r["id"]] = r
    return results


def weighted(results, weights, leave_out=None):
    """Passed of executed, in percent, each file weighing what it has in the whole suite."""
    files = collections.defaultdict(collections.Counter)
    for r in results.values():
        files[r["id"].split("::")[0]]["failed" if r["o"] == "error" else r["o"]] += 1
    passed = executed = 0.0
    for file, n in files.items():
        if file == leave_out:
            continue
        weight = weights.get(file, [0])[0] / sum(n.values())
        passed += weight * n["passed"]
        executed += weight * (n["passed"] + n["failed"])
    return 100 * passed / executed if executed else 0.0


def read_list():
    known = {}
    for line in LIST.read_text().splitlines() if LIST.exists() else []:
        if line and not line.startswith("#"):
            test, _, cause = line.partition("  # ")
            known[test] = cause
    return known


def write_list(known, results, failed):
    for test in failed:
        known.setdefault(test, " ".join(results[test]["why"].split())[:160])
    for test, r in results.items():
        if r["o"] != "failed":
            known.pop(test, None)
    LIST.write_text("# Tests of JAX that fail on Tenon, each with its cause: see tools/jax_suite.py.\n" +
                    "".join(f"{t}  # {c}\n" for t, c in sorted(known.items())))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("jax_dir")
    p.add_argument("sample")
    p.add_argument("--groups", nargs="+", default=["single"])
    p.add_argument("--files", nargs="+")
    p.add_argument("--write", action="store_true")
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--report-only", action="store_true", help="compare what an earlier run left")
    args = p.parse_args()
    if args.files:
        args.groups = ["single"]

    env = {"JAX_PLATFORMS": "tenon,cpu", **os.environ}
    env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"  # run.sh calls "python"
    tag = env["JAX_PLATFORMS"].split(",")[0]
    if args.report_only:
        work = Path(args.sample)
    else:
        work = prepare(args, env)
        env["SAMPLE"] = str(work)
        subprocess.run([work / "run.sh", str(Path(args.jax_dir).resolve()), tag, *args.groups], env=env, check=True)

    results = read_results(work, tag, args.groups)
    counts = collections.Counter(r["o"] for r in results.values())
    failed = sorted(t for t, r in results.items() if r["o"] in ("failed", "error"))
    apart = [t for t in failed if PARTITIONER in results[t]["why"]]
    failed = [t for t in failed if t not in apart]
    known = read_list()
    new = [t for t in failed if t not in known]
    mended = sorted(t for t in known if t in results and results[t]["o"] == "passed")
    for test in new:
        print(f"FAILED {test}: {' '.join(results[test]['why'].split())[:300]}")
    for test in mended:
        print(f"PASSED {test}: it is on the list of failures")
    weights = json.loads((work / "weights.json").read_text())
    print(f"weighted to the whole suite {weighted(results, weights):.2f} % of executed cases pass, "
          f"{weighted(results, weights, HARNESSES):.2f} % without {HARNESSES.split('/')[1]}; {len(failed)} failures, "
          f"{len(failed) - len(new)} of them known; {len(apart)} need a partitioner")
    if args.write:
        write_list(known, results, failed)
        new = mended = []
    print(f"{counts['passed']} passed, {len(new) + len(mended)} failed, "
          f"{counts['skipped'] + len(failed) - len(new) + len(apart)} skipped")
    return 1 if new or mended or not results else 0


if __name__ == "__main__":
    sys.exit(main())
