# SPDX-License-Identifier: Apache-2.0
"""Linear algebra, which JAX sends as LAPACK custom calls: each factorisation multiplied out again."""

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
import pytest
from common import COMPLEX, DEV

TYPES = ["float32", "float64", *COMPLEX]
BATCHES = [(), (3,), (2, 2)]


@pytest.fixture(autouse=True)
def on_device(x64):
    with jax.default_device(DEV):
        yield


def random(rng, name, *shape):
    x = rng.standard_normal(shape)
    if name.startswith("complex"):
        x = x + 1j * rng.standard_normal(shape)
    return jnp.asarray(x.astype(name))


def adjoint(x):
    return jnp.swapaxes(x, -1, -2).conj()


def close(got, want, name, factor=1):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    eps = np.finfo(name).eps
    assert np.max(np.abs(got - want), initial=0) <= 500 * factor * eps


@pytest.fixture(params=[(t, b) for t in TYPES for b in BATCHES], ids=lambda p: f"{p[0]}-{len(p[1])}")
def case(request):
    name, batch = request.param
    rng = np.random.default_rng(7)
    a = random(rng, name, *batch, 6, 6)
    return name, {"square": a, "positive": a @ adjoint(a) + 6 * jnp.eye(6, dtype=name), "b": random(rng, name, *batch, 6, 3),
                  "tall": random(rng, name, *batch, 7, 4), "wide": random(rng, name, *batch, 4, 7)}


def test_cholesky(case):
    name, m = case
    l = jnp.linalg.cholesky(m["positive"])
    close(l @ adjoint(l), m["positive"], name)
    assert np.all(np.triu(np.asarray(l), 1) == 0)


def test_solve_and_inverse(case):
    name, m = case
    close(m["square"] @ jnp.linalg.solve(m["square"], m["b"]), m["b"], name, 10)
    eye = jnp.broadcast_to(jnp.eye(6, dtype=name), m["square"].shape)
    close(m["square"] @ jnp.linalg.inv(m["square"]), eye, name, 10)


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("lower", [False, True])
def test_triangular(case, lower, trans):
    name, m = case
    t = jnp.tril(m["positive"]) if lower else jnp.triu(m["positive"])
    t = [t, jnp.swapaxes(t, -1, -2), adjoint(t)][trans]
    close(t @ jsl.solve_triangular(m["positive"], m["b"], lower=lower, trans=trans), m["b"], name, 10)


@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_qr(case, shape):
    name, m = case
    for mode in ("reduced", "complete"):
        q, r = jnp.linalg.qr(m[shape], mode=mode)
        close(q @ r, m[shape], name)
        close(adjoint(q) @ q, jnp.broadcast_to(jnp.eye(q.shape[-1], dtype=name), (*q.shape[:-2], *q.shape[-1:] * 2)), name)


@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_svd(case, shape):
    name, m = case
    for full in (False, True):
        u, s, vt = jnp.linalg.svd(m[shape], full_matrices=full)
        k = s.shape[-1]
        close((u[..., :k] * s[..., None, :]) @ vt[..., :k, :], m[shape], name)
    close(jnp.linalg.svd(m[shape], compute_uv=False), s, name)


def test_eigenvalues(case):
    name, m = case
    w, v = jnp.linalg.eigh(m["positive"])
    close(m["positive"] @ v, v * w[..., None, :], name, 20)
    w, v = jnp.linalg.eig(m["square"])
    close(m["square"] @ v, v * w[..., None, :], name, 10)


def test_values_without_vectors(case):
    """Calls whose vectors nobody reads compute values alone, one side of the vectors brings the other."""
    name, m = case
    for shape in ("square", "tall", "wide"):
        u, s, vt = jnp.linalg.svd(m[shape], full_matrices=False)
        close(jax.jit(lambda a: jnp.linalg.svd(a)[1])(m[shape]), s, name)
        close(jax.jit(lambda a: jnp.linalg.svd(a, full_matrices=False)[2])(m[shape]), vt, name)
        close(jax.jit(lambda a: jnp.linalg.svd(a, full_matrices=False)[0])(m[shape]), u, name)
    w, v = jnp.linalg.eigh(m["positive"])
    close(jax.jit(lambda a: jnp.linalg.eigh(a)[0])(m["positive"]), w, name, 20)
    close(jax.jit(lambda a: jnp.linalg.eigh(a)[1])(m["positive"]), v, name)
    w = jnp.linalg.eig(m["square"])[0]
    got = jax.jit(lambda a: jnp.linalg.eig(a)[0])(m["square"])
    close(jnp.sort_complex(got), jnp.sort_complex(w), name, 10)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 13])
def test_sizes_beside_those_of_small_matrices(n):
    for name in ("float32", "float64"):
        rng = np.random.default_rng(n)
        a, b, wide = random(rng, name, 3, n, n), random(rng, name, 3, n, 5), random(rng, name, 3, 5, n)
        p = a @ adjoint(a) + n * jnp.eye(n, dtype=name)
        l = jnp.linalg.cholesky(p)
        close(l @ adjoint(l), p, name, n)
        u = jnp.linalg.cholesky(p, upper=True)
        close(adjoint(u) @ u, p, name, n)
        close(a @ jnp.linalg.solve(a, b), b, name, 20 * n)
        lu, pivots, perm = jax.lax.linalg.lu(jnp.concatenate([a, p], -2))
        factor = jnp.tril(lu, -1) + jnp.eye(2 * n, n, dtype=name)
        close(factor @ jnp.triu(lu[:, :n]), jnp.take_along_axis(jnp.concatenate([a, p], -2), perm[..., None], -2), name, n)
        for lower in (False, True):
            t = jnp.tril(p) if lower else jnp.triu(p)
            for transpose_a in (False, True):
                for unit in (False, True):
                    full = t / n if not unit else (t - t * jnp.eye(n, dtype=name)) / (9 * n) + jnp.eye(n, dtype=name)
                    m = adjoint(full) if transpose_a else full
                    kw = dict(lower=lower, transpose_a=transpose_a, unit_diagonal=unit)
                    close(m @ jax.lax.linalg.triangular_solve(full, b, left_side=True, **kw), b, name, n)
                    close(jax.lax.linalg.triangular_solve(full, wide, left_side=False, **kw) @ m, wide, name, n)
    assert np.isnan(np.asarray(jnp.linalg.cholesky(jnp.diag(jnp.arange(n) * -1.0)))[0, 0])


@pytest.mark.parametrize("name", TYPES)
def test_single_matrices(name):
    rng = np.random.default_rng(8)
    a, tall = random(rng, name, 6, 6), random(rng, name, 7, 4)
    t, z = jsl.schur(a, output="complex" if name.startswith("complex") else "real")
    close(z @ t @ adjoint(z), a, name)
    h, q = jsl.hessenberg(a, calc_q=True)
    close(q @ h @ adjoint(q), a, name)
    q, r, p = jsl.qr(tall, pivoting=True)
    close(q @ r, tall[:, p], name)
    p, l, u = jsl.lu(a)
    close(p @ l @ u, a, name)
    one = np.ones((3, 1), name)
    x = jax.lax.linalg.tridiagonal_solve(*(jnp.asarray(v, name) for v in ([0, 1, 1], [4, 4, 4], [1, 1, 0])), jnp.asarray(one))
    tridiagonal = jnp.asarray([[4, 1, 0], [1, 4, 1], [0, 1, 4]], name)
    close(tridiagonal @ x, one, name)


def test_singular_nan_and_empty():
    assert np.isnan(np.asarray(jnp.linalg.cholesky(-jnp.eye(2)))[[0, 1, 1], [0, 0, 1]]).all()
    assert np.all(np.isnan(np.asarray(jnp.linalg.eigvals(jnp.full((2, 2), jnp.nan)))))
    assert np.all(np.isnan(np.asarray(jnp.linalg.svd(jnp.full((2, 2), jnp.nan))[1])))
    assert np.isinf(np.asarray(jnp.linalg.inv(jnp.zeros((2, 2))))).any()
    assert jnp.linalg.cholesky(jnp.zeros((2, 0, 0))).shape == (2, 0, 0)
    assert jnp.linalg.det(jnp.eye(3) * 2) == 8


# Sizes that go by blocks; the last block of each is not a whole one.
LARGE = 530


@pytest.fixture(params=["float32", "float64"])
def large(request):
    name = request.param
    rng = np.random.default_rng(11)
    a = rng.standard_normal((LARGE, LARGE)).astype(name)
    return name, a, (a @ a.T / LARGE + 2 * np.eye(LARGE)).astype(name)


def test_large_cholesky(large):
    name, _, s = large
    l = np.asarray(jnp.linalg.cholesky(jnp.asarray(s)))
    close(l @ l.T, s, name)
    s[LARGE - 20, LARGE - 20] = -1
    assert np.isnan(np.asarray(jnp.linalg.cholesky(jnp.asarray(s)))).any()


def test_large_lu(large):
    name, a, _ = large
    for m in (a, a[:, :450], a[:450]):
        p, l, u = map(np.asarray, jsl.lu(jnp.asarray(m)))
        close(p @ l @ u, m, name)
        assert np.max(np.abs(l)) <= 1
    a[:, 300] = 0
    assert np.asarray(jnp.linalg.det(jnp.asarray(a))) == 0


def test_large_qr(large):
    name, a, _ = large
    for m in (a, a[:, :201], a[:201]):
        q, r = map(np.asarray, jnp.linalg.qr(jnp.asarray(m)))
        close(q @ r, m, name)
        close(q.T @ q, np.eye(q.shape[1]), name)
        assert np.all(np.tril(r, -1) == 0)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_large_triangular(large, lower, transpose, unit):
    name, _, s = large
    s = s[:210, :210]
    a = np.tril(s) if lower else np.triu(s)
    if unit:
        a /= 4
        np.fill_diagonal(a, 1)
    rng = np.random.default_rng(3)
    for right in (33, 300):
        b = rng.standard_normal((210, right)).astype(name)
        op = a.T if transpose else a
        x = jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, transpose_a=transpose, unit_diagonal=unit)
        close(op @ np.asarray(x), b, name)
        y = jax.lax.linalg.triangular_solve(a, b.T, lower=lower, transpose_a=transpose, unit_diagonal=unit)
        close(np.asarray(y) @ op, b.T, name)


@pytest.mark.parametrize("shape", [(6, 5), (5, 6), (16, 16)])
def test_qr_of_a_matrix_is_that_of_a_batch(shape):
    x = np.random.RandomState(0).randn(10, *shape).astype(np.float32)
    together = jax.jit(jnp.linalg.qr)(jax.device_put(x, DEV))
    for i in range(10):
        for a, b in zip(together, jax.jit(jnp.linalg.qr)(jax.device_put(x[i], DEV)), strict=True):
            np.testing.assert_array_equal(a[i], b)


@pytest.mark.parametrize("name", ["float32", "float64", "complex64", "complex128"])
def test_what_is_computed_for_a_routine_is_changed_in_place(name):
    rng = np.random.default_rng(11)
    x = jax.device_put(random(rng, name, 40, 40), DEV)
    y = jax.device_put(random(rng, name, 40, 30), DEV)

    def memory(f, *args):
        return jax.jit(f).lower(*args).compile().memory_analysis().temp_size_in_bytes

    # Both read what they changed, so what others want of it must not be that.
    def eigen(x):
        h = x + adjoint(x)
        w, v = jnp.linalg.eigh(h, symmetrize_input=False)
        return h @ v - v * w, w

    def solve(x, y):
        z = y * 2
        s = jsl.solve_triangular(x + 40 * jnp.eye(40, dtype=name), z)
        return (jnp.triu(x) + 40 * jnp.eye(40, dtype=name)) @ s - z

    close(jax.jit(eigen)(x)[0], np.zeros((40, 40)), name, 4)
    close(jax.jit(solve)(x, y), np.zeros((40, 30)), name, 4)
    if name != "complex128":
        assert memory(lambda x: jnp.linalg.eigvalsh(x + 1, symmetrize_input=False), x) < 1.5 * x.nbytes
        assert memory(lambda x, y: jsl.solve_triangular(x, y + 1), x, y) == 0
