# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the two devices, running on both, and comparing."""

import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

PLATFORM = os.environ["TENON_TEST_PLATFORM"]
DEVICES = jax.devices(PLATFORM)
DEV = DEVICES[0]
CPU = jax.devices("cpu")[0]
assert DEV.client is not CPU.client, "the platform under test must not be jaxlib's own CPU"

# The host reads the memory of the cpu driver in place; a simulated accelerator's it does not.
host_memory = pytest.mark.skipif(PLATFORM != "tenon", reason="the host can't read this device's memory in place")

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["bfloat16", "float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
SUB_BYTE = ["int2", "uint2", "int4", "uint4"]
SMALL_FLOATS = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
                "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"]

# Relative tolerance against jaxlib's CPU, per element type: a few units in the last place.
RTOL = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 2e-6, "float64": 1e-14, "complex64": 4e-6, "complex128": 2e-14}


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def any_bits(name, shape, seed=0):
    """An array of any representable values: NaN, infinities, subnormals and both zeros among them."""
    rng, t = np.random.default_rng(seed), dtype(name)
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if name in SUB_BYTE:
        low, high = ml_dtypes.iinfo(t).min, ml_dtypes.iinfo(t).max
        return rng.integers(low, high + 1, shape).astype(t)
    bits = rng.integers(0, 256, (*shape, t.itemsize), dtype=np.uint8)
    if name == "float4_e2m1fn":
        bits &= 15
    return bits.reshape(-1).view(t).reshape(shape)


def values(name, shape, seed=0, low=-4.0, high=4.0):
    """An array of ordinary values between low and high."""
    rng, t = np.random.default_rng(seed), dtype(name)
    if t.kind == "c":
        return (rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(t)
    if t.kind == "u":
        low = 0
    return np.asarray(rng.uniform(low, high, shape)).astype(t)


def bits_equal(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, a.shape, b.dtype, b.shape)
    assert a.tobytes() == b.tobytes()


def close(got, want, rtol=None, atol=None):
    """Trees of arrays are equal: exactly for integers, to a few ulps (or rtol, atol) for others."""
    got, got_tree = jax.tree.flatten(got)
    want, want_tree = jax.tree.flatten(want)
    assert got_tree == want_tree
    for g, w in zip(got, want):
        g, w = np.asarray(g), np.asarray(w)
        assert g.dtype == w.dtype and g.shape == w.shape, (g.dtype, g.shape, w.dtype, w.shape)
        r = rtol if rtol is not None else RTOL.get(w.dtype.name, 0)
        if w.dtype.name in RTOL:
            wide = np.complex128 if w.dtype.kind == "c" else np.float64
            a = atol if atol is not None else r
            np.testing.assert_allclose(g.astype(wide), w.astype(wide), rtol=r, atol=a)
        else:
            np.testing.assert_array_equal(g, w)


def on(device, f, *args):
    """f(*args) with everything on one device; the result as numpy arrays."""
    with jax.default_device(device):
        out = f(*jax.device_put(args, device))
        for leaf in jax.tree.leaves(out):
            assert leaf.devices() == {device}
        return jax.device_get(out)


def same(f, *args, rtol=None, atol=None, want=None):
    """Asserts that jit(f)(*args) here gives what jaxlib's CPU gives (or `want`); returns it."""
    got = on(DEV, jax.jit(f), *args)
    close(got, on(CPU, jax.jit(f), *args) if want is None else want, rtol, atol)
    return got


def still_works():
    """A program that is compiled now and gives the right answer: what must hold after any error."""
    still_works.count += 1
    k = still_works.count
    with jax.default_device(DEV):
        out = jax.jit(lambda x: jnp.sum(x) * k)(np.arange(5, dtype=np.int32))
    assert out.devices() == {DEV} and int(out) == 10 * k


still_works.count = 0


def python(code, rc=0, **env):
    """Runs code in a new interpreter; the environment names what differs (None removes)."""
    full = {k: v for k, v in {**os.environ, **env}.items() if v is not None}
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=full, capture_output=True, text=True,
                         timeout=120)
    assert run.returncode == rc, f"exit status {run.returncode}\n{run.stdout}\n{run.stderr}"
    return run


def resident_bytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
