#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_page.py RESULTS.json DIR [ROOFS.md] - the page of a comparison: DIR/README.md and its plots.

RESULTS.json is what bench.py writes: cases of two platforms, measured in one process, times in seconds. The first platform is
the baseline; a speed-up is its time over the other's, so more is faster. ROOFS.md is
what bench/roofs prints: kernels beside the limits of the machine.

Exits with 1 where a case failed. Cases that fail since something is said to be unsupported are counted apart."""
import json
import math
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "tenon"  # the same page from the same figures
import matplotlib.pyplot as plt

UNSUPPORTED = re.compile("partitioning .* is not supported")
MEASURES = [("run_min", "run"), ("compile_min", "compile")]


def speed_up(case, measure, base, other):
    """The baseline's time over the other's; None where one is missing or failed."""
    times = [case["plat"].get(p, {}) for p in (base, other)]
    if any(t.get("failed") or not t.get(measure) for t in times):
        return None
    return times[0][measure] / times[1][measure]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def milliseconds(seconds):
    return "" if seconds is None else f"{seconds * 1e3:.4g}"


def plot(cases, measure, what, base, other, file):
    """A bar for each case, by group; green where `other` is faster."""
    bars = [(c["group"], c["id"], s) for c in cases if (s := speed_up(c, measure, base, other))]
    if not bars:
        return False
    figure, axes = plt.subplots(figsize=(max(6, 0.055 * len(bars)), 3.6))
    axes.bar(range(len(bars)), [s - 1 for _, _, s in bars], bottom=1, width=0.9,
             color=["#2a7f4f" if s >= 1 else "#b5482f" for _, _, s in bars])
    axes.set_yscale("log")
    axes.axhline(1, color="black", linewidth=0.8)
    starts = [i for i, b in enumerate(bars) if not i or b[0] != bars[i - 1][0]]
    for i in starts[1:]:
        axes.axvline(i - 0.5, color="#cccccc", linewidth=0.6)
    axes.set_xticks(starts, [bars[i][0] for i in starts], rotation=-30, ha="left", fontsize=8)
    axes.set_xlim(-1, len(bars))
    axes.set_ylabel(f"{what}: times as fast as {base}")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
    return True


def failures(cases, platforms):
    """The cases that failed, and those that fail since partitioning is unsupported."""
    failed, unsupported = [], []
    for c in cases:
        errors = [c["error"]] if "error" in c else []
        errors += [e for p in platforms if (e := c["plat"].get(p, {}).get("failed"))]
        if errors:
            (unsupported if all(UNSUPPORTED.search(e) for e in errors) else failed).append(c["id"])
    return failed, unsupported


def mean_text(speed_ups, digits):
    return f"{geometric_mean(speed_ups):.{digits}f}" if speed_ups else ""


def group_table(cases, base, other):
    lines = ["| group | cases | run, geometric mean | slowest case | below 0.8 | compile, geometric mean |", "|---|---|---|---|---|---|"]
    for group in [*dict.fromkeys(c["group"] for c in cases), "all"]:
        own = [c for c in cases if group in (c["group"], "all")]
        run = [(s, c["id"]) for c in own if (s := speed_up(c, "run_min", base, other))]
        compiled = [s for c in own if (s := speed_up(c, "compile_min", base, other))]
        slowest = "{:.2f} {}".format(*min(run)) if run else ""
        lines.append(f"| {group} | {len(own)} | {mean_text([s for s, _ in run], 2)} | {slowest} | {sum(s < 0.8 for s, _ in run)} | "
                     f"{mean_text(compiled, 1)} |")
    return lines


def case_table(cases, base, other):
    lines = [f"| case | {base} run ms | {other} run ms | speed-up | {base} compile ms | {other} compile ms | values |", "|---|---|---|---|---|---|---|"]
    for c in cases:
        b, o = (c["plat"].get(p, {}) for p in (base, other))
        s = speed_up(c, "run_min", base, other)
        state = o.get("failed") or o.get("correct") or ""
        lines.append(f"| {c['id']} | {milliseconds(b.get('run_min'))} | {milliseconds(o.get('run_min'))} | {'' if s is None else f'{s:.2f}'} | "
                     f"{milliseconds(b.get('compile_min'))} | {milliseconds(o.get('compile_min'))} | {str(state).replace('|', '/')} |")
    return lines


def memory_table(cases, base, other):
    """The cases that want more temporary memory than the baseline, beyond what doesn't matter."""
    more = []
    for c in cases:
        b, o = (c["plat"].get(p, {}).get("temp_bytes") for p in (base, other))
        if b is not None and o is not None and o > b + (64 << 10):
            more.append((o - b, f"| {c['id']} | {b / 1e6:.2f} | {o / 1e6:.2f} |"))
    return [f"| case | {base} MB | {other} MB |", "|---|---|---|"] + [row for _, row in sorted(more, reverse=True)] if more else []


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    data = json.loads(Path(sys.argv[1]).read_text())
    out = Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    base, other = data["platforms"][:2]
    results = data["results"]
    cases = list(results.values()) if isinstance(results, dict) else results
    page = [f"# {other} beside {base}", "",
            f"Made by `make bench` on {data['when']}; {data['cpu']}; load {data['load'][0]:.1f} before and {data['load'][-1]:.1f} after. "
            "Both ran in one process, turn by turn; a time is the least of its rounds, a speed-up the baseline's time over the other's.", ""]
    page += group_table(cases, base, other) + [""]
    failed, unsupported = failures(cases, (base, other))
    if unsupported:
        page += [f"{len(unsupported)} cases are sharded and have no times, since programs aren't partitioned yet: {', '.join(unsupported)}.", ""]
    if failed:
        page += [f"{len(failed)} cases failed: {', '.join(failed)}.", ""]
    for measure, what in MEASURES:
        if plot(cases, measure, what, base, other, out / f"{what}.svg"):
            page += [f"![{what}]({what}.svg)", ""]
    if len(sys.argv) == 4 and (roofs := Path(sys.argv[3]).read_text().strip()):
        page += ["## Beside the limits of the machine", "", roofs, ""]
    if memory := memory_table(cases, base, other):
        page += ["## Programs with more temporary memory", ""] + memory + [""]
    page += ["## Every case", ""] + case_table(cases, base, other)
    (out / "README.md").write_text("\n".join(page) + "\n")
    if failed:
        sys.exit(f"{len(failed)} cases failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
