#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_bits.py BENCH [--threads 1,2,3,8] [--sizes s,m] [--filter REGEX] - runs every benchmark case that is a program
at each number of threads and compares the results bit for bit.

BENCH is the folder that holds cases.py. The clients live in one process and take the same arguments; a program that
carries a state is run three times on its own results. Ends with a line that counts: a case passes if all results of
all its clients have the same bytes."""
import argparse
import os
import re
import sys


def register_backends(counts):
    """A backend t1, t2, ... for each number of threads."""
    from jax._src import xla_bridge
    from jaxlib import xla_client

    for n in counts:  # they are made when JAX first asks for a device, the plugin being loaded then
        xla_bridge.register_backend_factory(f"t{n}", lambda n=n: xla_client.make_c_api_client("tenon", {"num_threads": n}),
                                            priority=-100, fail_quietly=False)


def results_of(prog, device):
    """The bytes of every result, in order."""
    import jax
    import numpy as np

    args = jax.block_until_ready(jax.device_put(prog.args, device))
    fn = jax.jit(prog.fn, donate_argnums=(0,) if prog.carry else ())
    with jax.default_device(device):
        for _ in range(3 if prog.carry else 1):
            out = fn(*args)
            if prog.carry:
                args = (out[0], *args[1:])
        return [(a.dtype, a.shape, a.tobytes()) for a in map(np.asarray, jax.tree.leaves(out))]


def first_difference(a, b):
    """What differs between two lists of results, or None."""
    if len(a) != len(b):
        return f"{len(a)} results and {len(b)}"
    for i, (x, y) in enumerate(zip(a, b)):
        if x[:2] != y[:2]:
            return f"result {i}: {x[0]}{x[1]} and {y[0]}{y[1]}"
        if x[2] != y[2]:
            width = x[0].itemsize
            at = next(k for k in range(len(x[2])) if x[2][k] != y[2][k]) // width
            n = sum(x[2][k:k + width] != y[2][k:k + width] for k in range(0, len(x[2]), width))
            return f"result {i}, {x[0]}{x[1]}: {n} elements differ, the first at {at}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--threads", default="1,2,3,8", type=lambda s: [int(n) for n in s.split(",")])
    parser.add_argument("--sizes", default="s,m", type=lambda s: s.split(","))
    parser.add_argument("--filter", default="")
    a = parser.parse_args()
    sys.path.insert(0, a.bench)
    os.environ["JAX_PLATFORMS"] = ",".join(["cpu", "tenon", *(f"t{n}" for n in a.threads)])
    import jax

    jax.config.update("jax_enable_compilation_cache", False)
    import cases

    register_backends(a.threads)
    cases.define()
    passed, failed, skipped = 0, 0, 0
    for case in cases.CASES:
        if case.build is None or not re.search(a.filter, case.id):
            continue
        if case.size not in a.sizes or case.devices > 1 or case.compile_only:
            skipped += 1
            continue
        try:
            prog = case.build()
            first = None
            for n in a.threads:
                found = results_of(prog, jax.devices(f"t{n}")[0])
                first = first or found
                if wrong := first_difference(first, found):
                    raise ValueError(f"{a.threads[0]} and {n} threads: {wrong}")
            passed += 1
        except Exception as e:  # a case that fails is counted, the others still run
            failed += 1
            print(f"FAIL {case.id}: {type(e).__name__}: {str(e).splitlines()[0][:200] if str(e) else ''}", flush=True)
        jax.clear_caches()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
