# SPDX-License-Identifier: Apache-2.0
"""What must work with every JAX: one short script of checks without pytest, for tools/matrix.py.

Each check runs on Tenon and is compared with NumPy. Ends with `N passed, N failed, N skipped`.
"""

import os
import sys
import traceback

os.environ.setdefault("JAX_PLATFORMS", "tenon,cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

DEV = jax.devices("tenon")[0]
assert "tenon" in DEV.client.platform_version.lower(), DEV.client.platform_version
CHECKS = []


def check(f):
    CHECKS.append(f)
    return f


def put(x):
    return jax.device_put(x, DEV)


@check
def arithmetic():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = jax.jit(lambda x: jnp.tanh(x) @ x.T + 1)(put(x))
    assert list(y.devices()) == [DEV]
    np.testing.assert_allclose(y, np.tanh(x) @ x.T + 1, rtol=1e-5)


@check
def types():
    for t in (np.int8, np.uint32, np.float16, jnp.bfloat16, np.complex64, np.bool_):
        x = np.arange(6).astype(t)
        np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: x[::-1])(put(x))), x[::-1])


@check
def gradients():
    g = jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2)))(put(np.arange(5.0, dtype=np.float32)))
    np.testing.assert_allclose(g, np.sin(2 * np.arange(5.0)), rtol=1e-4, atol=1e-6)


@check
def control_flow():
    f = jax.jit(lambda n: jax.lax.fori_loop(0, n, lambda i, c: c + i, 0))
    assert int(f(put(np.int32(100)))) == 4950
    g = jax.jit(lambda x: jax.lax.cond(x > 0, lambda x: x * 2, lambda x: -x, x))
    assert float(g(put(np.float32(-3)))) == 3
    _, s = jax.jit(lambda x: jax.lax.scan(lambda c, x: (c + x, c * x), 0.0, x))(put(np.arange(4.0, dtype=np.float32)))
    np.testing.assert_allclose(s, [0, 0, 2, 9])


@check
def random_numbers():
    want = jax.random.normal(jax.device_put(jax.random.PRNGKey(3), jax.devices("cpu")[0]), (100,))
    np.testing.assert_allclose(jax.random.normal(put(jax.random.PRNGKey(3)), (100,)), want, rtol=1e-5, atol=1e-6)


@check
def convolution_and_windows():
    x, w = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype("f"), np.ones((4, 3, 3, 3), np.float32)
    f = jax.jit(lambda x, w: jax.lax.reduce_window(jax.lax.conv(x, w, (1, 1), "SAME"), -jnp.inf, jax.lax.max, (1, 1, 2, 2),
                                                   (1, 1, 2, 2), "VALID"))
    with jax.default_device(jax.devices("cpu")[0]):
        want = np.asarray(f(x, w))
    np.testing.assert_allclose(f(put(x), put(w)), want, rtol=1e-4, atol=1e-4)


@check
def sorting_and_indexing():
    x = np.random.default_rng(1).permutation(1000).astype(np.int32)
    np.testing.assert_array_equal(jax.jit(jnp.sort)(put(x)), np.arange(1000))
    np.testing.assert_array_equal(jax.jit(lambda x: x[x[:10]])(put(x)), x[x[:10]])
    y = jax.jit(lambda x: jnp.zeros(5, jnp.int32).at[jnp.array([1, 1, 3])].add(x[:3]))(put(x))
    np.testing.assert_array_equal(y, [0, x[0] + x[1], 0, x[2], 0])


@check
def linear_algebra():
    a = np.random.default_rng(2).normal(size=(6, 6)).astype(np.float32)
    s = a @ a.T + 6 * np.eye(6, dtype=np.float32)
    c = jnp.linalg.cholesky(put(s))
    np.testing.assert_allclose(c @ c.T, s, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jnp.linalg.eigh(put(s))[0], np.linalg.eigvalsh(s), rtol=1e-4)
    np.testing.assert_allclose(s @ jnp.linalg.solve(put(s), put(a)), a, rtol=1e-3, atol=1e-3)


@check
def fourier():
    x = np.random.default_rng(4).normal(size=64).astype(np.float32)
    np.testing.assert_allclose(jnp.fft.rfft(put(x)), np.fft.rfft(x), rtol=1e-4, atol=1e-4)


@check
def donation():
    x = put(np.ones(1000, np.float32))
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and float(y[0]) == 2


@check
def ahead_of_time():
    c = jax.jit(lambda x: x * 3).lower(put(np.ones(3, np.float32))).compile()
    np.testing.assert_array_equal(c(put(np.ones(3, np.float32))), [3, 3, 3])
    assert c.as_text()


@check
def callbacks():
    y = jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x) * 2, jax.ShapeDtypeStruct((3,), np.float32), x))(
        put(np.ones(3, np.float32)))
    np.testing.assert_array_equal(y, [2, 2, 2])


@check
def errors():
    try:
        jax.jit(lambda x: x * 2, donate_argnums=0)(put(np.ones(3))).block_until_ready()
        x = put(np.ones(3))
        x.delete()
        np.asarray(x)
    except RuntimeError as e:
        assert "deleted" in str(e), e
    else:
        raise AssertionError("no error")
    arithmetic()


@check
def profiler():
    import tempfile

    with tempfile.TemporaryDirectory() as d:
        with jax.profiler.trace(d):
            arithmetic()
        files = [os.path.join(p, f) for p, _, fs in os.walk(d) for f in fs if f.endswith(".xplane.pb")]
        assert files and b"Tenon" in open(files[0], "rb").read()


# What older versions say in a way that only jaxlib's own CPU understands.
VERSION = tuple(int(n) for n in jax.__version__.split(".")[:3])
SINCE = {"callbacks": ((0, 6, 0), "pure_callback is a call by a pointer to C++ objects of jaxlib"),
         "linear_algebra": ((0, 4, 35), "LAPACK calls have the interface from before the typed FFI")}

failed = skipped = 0
for f in CHECKS:
    since, why = SINCE.get(f.__name__, ((0,), ""))
    if VERSION < since:
        skipped += 1
        print(f"skipped {f.__name__}: before {'.'.join(map(str, since))} {why}")
        continue
    try:
        f()
    except Exception:
        failed += 1
        print(f"FAILED {f.__name__}", file=sys.stderr)
        traceback.print_exc()
print(f"{len(CHECKS) - failed - skipped} passed, {failed} failed, {skipped} skipped")
sys.exit(failed > 0)
