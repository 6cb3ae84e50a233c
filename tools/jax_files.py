#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs whole files of JAX's own tests on Tenon and on jaxlib's CPU, and counts what passes on each.

    tools/jax_files.py JAXDIR FILE... [--devices N] [--platforms tenon cpu] [--only-failed] [--report] [--fresh]

JAXDIR holds JAX's `tests`, `conftest.py` and `pyproject.toml` of the installed release. Results stay in
build/jax-files, one file for each test file, platform and number of devices, so that an interrupted run goes on where it
was; --fresh runs the files again, --again what failed in them. A crash, or a test without an end, costs that test alone.
--only-failed runs on every platform but the first only what failed on the first. --report prints what is there.

Failures whose text says that Tenon can't partition a program are counted apart. docs/jax.md has what came out.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build/jax-files"
PARTITIONER = "partitioning programs is not supported"
ROUNDS = 50  # restarts after a crash or a hang, for one file


def record_of(platform, devices, file):
    return RESULTS / f"{platform}.{devices}.{file}.jsonl"


def read(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {r["id"]: r for r in rows}


def run(args, platform, file, only=None):
    record = record_of(platform, args.devices, file)
    if args.fresh:
        record.unlink(missing_ok=True)
    if args.again:
        kept = [r for r in read(record).values() if r["outcome"] != "failed"]
        record.write_text("".join(json.dumps(r) + "\n" for r in kept))
    env = {**os.environ, "TN_RECORD": str(record), "JAX_PLATFORMS": "cpu" if platform == "cpu" else f"{platform},cpu",
           "JAX_SKIP_SLOW_TESTS": "true", "PYTHONDONTWRITEBYTECODE": "1",
           "PYTHONPATH": f"{ROOT / 'tools'}:{os.environ.get('PYTHONPATH', '')}"}
    env.pop("JAX_NUM_CPU_DEVICES", None)
    if args.devices > 1:
        env["JAX_NUM_CPU_DEVICES"] = str(args.devices)
    if only is not None:
        chosen = RESULTS / f"{platform}.{args.devices}.{file}.only"
        chosen.write_text("\n".join(only))
        env["TN_ONLY"] = str(chosen)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "jax_record", "-q", "--tb=short",
               "--no-header", f"tests/{file}.py"]
    for _ in range(ROUNDS):
        with open(record.with_suffix(".log"), "w") as log:
            code = subprocess.run(command, cwd=args.jax_dir, env=env, stdout=log, stderr=log).returncode
        if code in (0, 1, 5):
            return
        now = Path(f"{record}.now")
        if code in (2, 3, 4) or not now.exists():
            print(f"{file} on {platform}: pytest ended with {code}, see {record.with_suffix('.log')}")
            return
        if code != 77:  # the plugin has recorded those
            with open(record, "a") as rows:
                rows.write(json.dumps({"id": now.read_text(), "outcome": "failed", "why": f"crash: exit code {code}",
                                       "seconds": 0}) + "\n")


def kind(r):
    if r["outcome"] == "failed" and PARTITIONER in r["why"]:
        return "partitioner"
    return r["outcome"]


def report(args):
    first = args.platforms[0]
    columns = ("passed", "failed", "skipped")
    print("| file | devices | " + " | ".join(f"{p}: passed, failed, skipped" for p in args.platforms) + " | partitioner |")
    print("|---|---|" + "---|" * len(args.platforms) + "---|")
    failures = []
    for file in args.files:
        cells, results = [], {p: read(record_of(p, args.devices, file)) for p in args.platforms}
        for p in args.platforms:
            n = collections.Counter(kind(r) for r in results[p].values())
            cells.append(" / ".join(str(n[c]) for c in columns) if results[p] else "-")
        apart = sum(kind(r) == "partitioner" for r in results[first].values())
        print(f"| {file} | {args.devices} | " + " | ".join(cells) + f" | {apart} |")
        for test, r in results[first].items():
            if kind(r) == "failed":
                others = [f"{p}: {results[p][test]['outcome']}" for p in args.platforms[1:] if test in results[p]]
                failures.append(f"{test} ({', '.join(others) or 'not run elsewhere'}): {r['why'][:args.width]}")
    print("\n".join(failures))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("jax_dir")
    p.add_argument("files", nargs="+")
    p.add_argument("--devices", type=int, default=1)
    p.add_argument("--platforms", nargs="+", default=["tenon", "cpu"])
    p.add_argument("--only-failed", action="store_true")
    p.add_argument("--report", action="store_true")
    p.add_argument("--fresh", action="store_true")
    p.add_argument("--again", action="store_true")
    p.add_argument("--width", type=int, default=200)
    args = p.parse_args()
    args.files = [f.removesuffix(".py") for f in args.files]
    RESULTS.mkdir(parents=True, exist_ok=True)

    for file in args.files if not args.report else []:
        for platform in args.platforms:
            only = None
            if args.only_failed and platform != args.platforms[0]:
                failed = read(record_of(args.platforms[0], args.devices, file)).values()
                only = [r["id"] for r in failed if r["outcome"] == "failed"]
            if only is None or only:
                run(args, platform, file, only)
    report(args)


if __name__ == "__main__":
    main()
