#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wheel with several versions of JAX, each in an environment of its own: matrix.py BUILD [VERSION...]

Each version runs test/matrix/smoke.py and the demo (examples/train_transformer.py, a few steps). An interpreter that fits
is looked for on the path and under pyenv. Prints a line per version, and at the end `N passed, N failed, N skipped`, where a
version counts as one, and is skipped if it can't be installed here.
"""

import glob
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# JAX, what installs beside it, and the Pythons that have wheels for it, best first.
VERSIONS = {
    "0.4.30": (["optax==0.2.3"], ["3.11", "3.12"]),
    "0.4.35": (["optax==0.2.3"], ["3.11", "3.12"]),
    "0.5.3": (["optax==0.2.4"], ["3.11", "3.12"]),
    "0.6.2": (["optax==0.2.5"], ["3.11", "3.12"]),
    "0.7.2": (["optax==0.2.6"], ["3.11", "3.12"]),
    "0.8.1": (["optax==0.2.6"], ["3.12", "3.11"]),
    "0.9.2": (["optax==0.2.8"], ["3.12", "3.11"]),
    "0.11.0": (["optax"], ["3.13", "3.12"]),
    "0.12.0.1": (["optax"], ["3.13", "3.12"]),
}


def interpreter(wanted):
    """A Python of that version, or None."""
    places = [*glob.glob(os.path.expanduser(f"~/.pyenv/versions/{wanted}.*/bin/python")), f"python{wanted}"]
    for python in places:
        try:
            out = subprocess.run([python, "-c", "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"],
                                 capture_output=True, text=True).stdout.strip()
        except OSError:
            continue
        if out == wanted:
            return python
    return None


def install(folder, version, wheel):
    """The environment's Python, or None with the reason."""
    python = folder / "bin/python"
    extra, pythons = VERSIONS.get(version, (["optax"], ["3.11", "3.12", "3.13"]))
    if not python.exists():
        found = next((i for i in map(interpreter, pythons) if i), None)
        if not found:
            return None, f"no Python {' or '.join(pythons)}"
        subprocess.run([found, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "-q", "--disable-pip-version-check", "install"]
    for what in ([f"jax=={version}", f"jaxlib=={version}", "scipy", *extra], ["--force-reinstall", "--no-deps", wheel]):
        run = subprocess.run([*pip, *what], capture_output=True, text=True)
        if run.returncode:
            return None, (run.stderr.strip().splitlines() or ["pip failed"])[-1]
    return python, ""


def try_version(version, build, wheel):
    folder = build / "matrix" / version
    folder.parent.mkdir(parents=True, exist_ok=True)
    python, why = install(folder, version, wheel)
    if not python:
        print(f"{version:10} skipped: {why}", flush=True)
        return "skipped"
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TENON_PJRT_LIBRARY", "JAX_PLATFORMS")}
    verdicts, failed = [], False
    for name, command in (("smoke", ["test/matrix/smoke.py"]), ("demo", ["examples/train_transformer.py", "--steps", "24"])):
        run = subprocess.run([python, *command], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900)
        (folder / f"{name}.log").write_text(run.stdout + run.stderr)
        last = (run.stdout.strip().splitlines() or ["no output"])[-1]
        verdicts.append(f"{name}: {last}" if run.returncode == 0 else f"{name} FAILED ({last}; {folder}/{name}.log)")
        failed |= run.returncode != 0
    print(f"{version:10} {'FAILED' if failed else 'ok'}  " + "; ".join(verdicts), flush=True)
    return "failed" if failed else "passed"


def main(args):
    build = Path(args[0]).resolve()
    wheels = sorted((ROOT / "dist").glob("tenon_pjrt-*.whl"), key=os.path.getmtime)
    if not wheels:
        sys.exit("no wheel in dist/; make wheel makes it")
    verdicts = [try_version(v, build, wheels[-1]) for v in (args[1:] or VERSIONS)]
    print("%d passed, %d failed, %d skipped" % tuple(verdicts.count(v) for v in ("passed", "failed", "skipped")))
    return 1 if "failed" in verdicts or "passed" not in verdicts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
