# SPDX-License-Identifier: Apache-2.0
"""Gradients, vectorised functions and control flow, against jaxlib's CPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import CPU, DEV, close, on, same, values
from jax import lax

LOOSE = {"rtol": 1e-4, "atol": 1e-5}


def mlp(params, x):
    for w, b in params[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def mlp_params():
    sizes = [8, 16, 16, 3]
    return [(values("float32", (m, n), m + n, -0.5, 0.5), values("float32", (n,), n)) for m, n in zip(sizes, sizes[1:])]


def loss(params, x, y):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(mlp(params, x)) * y, -1))


def batch():
    return values("float32", (32, 8), 5), np.eye(3, dtype=np.float32)[np.random.default_rng(6).integers(0, 3, 32)]


def test_gradient():
    same(jax.value_and_grad(loss), mlp_params(), *batch(), **LOOSE)


def test_gradient_agrees_with_differences():
    params, (x, y) = mlp_params(), batch()
    gradient = on(DEV, jax.jit(jax.grad(loss)), params, x, y)
    value = jax.jit(loss)
    for layer, index in [(0, (3, 4)), (2, (5, 1))]:
        moved = [jax.tree.map(np.copy, params) for _ in range(2)]
        for m, sign in zip(moved, (1, -1)):
            m[layer][0][index] += sign * 1e-2
        high, low = (float(on(DEV, value, m, x, y)) for m in moved)
        np.testing.assert_allclose((high - low) / 2e-2, gradient[layer][0][index], rtol=2e-2, atol=1e-4)


def test_second_derivatives():
    same(jax.hessian(lambda v: jnp.sum(jnp.tanh(v) ** 3) + v[0] * jnp.exp(v[1])), values("float32", (5,), 1), **LOOSE)
    same(jax.jacfwd(lambda v: jnp.outer(v, jnp.sin(v))), values("float32", (4,), 1), **LOOSE)


def test_vmap_and_jvp():
    x, t = values("float32", (6, 4), 1), values("float32", (6, 4), 2)
    same(jax.vmap(lambda v: jnp.dot(v, v) / (1 + v.max())), x, **LOOSE)
    same(jax.vmap(jax.grad(lambda v: jnp.prod(jnp.cos(v)))), x, **LOOSE)
    same(lambda v, d: jax.jvp(lambda a: jax.nn.softmax(a) * a, (v,), (d,)), x, t, **LOOSE)


def test_training_converges_alike():
    def step(state, _):
        params, momentum = state
        value, grads = jax.value_and_grad(loss)(params, *data)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        return (jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum), value

    data, params = batch(), mlp_params()
    history = same(lambda p: lax.scan(step, (p, jax.tree.map(jnp.zeros_like, p)), None, 60)[1], params, rtol=1e-3, atol=1e-3)
    assert history[-1] < history[0] / 2


def test_scan():
    x = values("float32", (20, 4), 1)
    same(lambda v: lax.scan(lambda c, a: (c * 0.9 + a, c.sum()), jnp.zeros(4), v), x, **LOOSE)
    same(lambda v: lax.scan(lambda c, a: (c + a, None), jnp.ones(4), v, reverse=True), x, **LOOSE)
    same(lambda v: lax.scan(lambda c, a: (c + a, c), jnp.ones(4), v, unroll=3), x, **LOOSE)
    same(lambda v: lax.scan(lambda c, a: (c, a), jnp.ones(4), v[:0]), x)


def test_gradient_through_scan():
    def run(w, xs):
        return lax.scan(lambda h, a: (jnp.tanh(h @ w + a), h.sum()), jnp.zeros(4), xs)[1].sum()

    same(jax.grad(run, (0, 1)), values("float32", (4, 4), 1, -0.5, 0.5), values("float32", (15, 4), 2), **LOOSE)
    same(jax.grad(jax.checkpoint(run)), values("float32", (4, 4), 1, -0.5, 0.5), values("float32", (15, 4), 2), **LOOSE)


def test_while():
    def collatz(n):
        return lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2, 3 * s[0] + 1, s[0] // 2), s[1] + 1), (n, 0))[1]

    def steps(n):
        count = 0
        while n != 1:
            n, count = 3 * n + 1 if n % 2 else n // 2, count + 1
        return count

    numbers = [1, 2, 7, 27, 97]
    with jax.default_device(DEV):
        assert [int(jax.jit(collatz)(n)) for n in numbers] == [steps(n) for n in numbers]
        got = jax.jit(jax.vmap(collatz))(np.array(numbers, np.int32))
    assert list(np.asarray(got)) == [steps(n) for n in numbers]


def test_while_that_never_runs_and_nested_loops():
    same(lambda n: lax.while_loop(lambda s: s < 0, lambda s: s + 1, n), np.int32(5), want=np.int32(5))
    same(lambda v: lax.fori_loop(0, 5, lambda i, a: lax.fori_loop(0, i, lambda j, b: b + v[j] * i, a), 0.0),
         np.arange(5, dtype=np.float32), **LOOSE)


@pytest.mark.parametrize("value", [-1.0, 2.0])
def test_cond(value):
    same(lambda v: lax.cond(v > 0, lambda a: jnp.sqrt(a), lambda a: a * a, v), np.float32(value))
    same(jax.grad(lambda v: lax.cond(v > 0, lambda a: a ** 3, lambda a: jnp.sin(a), v)), np.float32(value))


def test_switch_clamps_its_index():
    def f(i, v):
        return lax.switch(i, [lambda a: a, lambda a: a * 10, lambda a: a - 1], v)

    for i, want in [(-7, 4), (0, 4), (1, 40), (2, 3), (99, 3)]:
        same(f, np.int32(i), np.float32(4), want=np.float32(want))


def test_branches_in_loops():
    def f(v):
        return lax.fori_loop(0, 30, lambda i, a: lax.cond(i % 3 == 0, lambda b: b * 1.5, lambda b: b - 0.1 * i, a), v)

    same(f, values("float32", (6,), 1), **LOOSE)


def test_loop_carries_that_swap_and_alias():
    same(lambda a, b: lax.fori_loop(0, 7, lambda _, s: (s[1], s[0] + s[1], s[0]), (a, b, a)), np.int32(0), np.int32(1),
         want=(np.int32(13), np.int32(21), np.int32(8)))


def test_map_and_associative_scan():
    x = values("float32", (17, 3), 1)
    same(lambda v: lax.map(lambda a: a.sum() * a, v), x, **LOOSE)
    same(lambda v: lax.associative_scan(jnp.add, v), x, **LOOSE)
    same(lambda v: lax.associative_scan(jnp.maximum, v, reverse=True), x)


def test_custom_derivative_and_stop_gradient():
    @jax.custom_vjp
    def f(v):
        return jnp.sin(v)

    f.defvjp(lambda v: (f(v), v), lambda v, g: (g * 100 * v,))
    same(jax.grad(lambda v: f(v) + lax.stop_gradient(v) * v), np.float32(0.5), want=np.float32(50.5))


def test_nested_jit_and_static_arguments():
    inner = jax.jit(lambda v, k: v * k, static_argnums=1)
    same(lambda v: inner(inner(v, 3), 4) + inner(v, 3), np.arange(4, dtype=np.float32),
         want=np.arange(4, dtype=np.float32) * 15)


def test_closed_over_constants():
    table = values("float32", (50, 50), 3)
    same(lambda v: table @ v + table[0], values("float32", (50,), 1), **LOOSE)


def test_eager_operations():
    x = values("float32", (8, 8), 1)

    def eager(v):
        return [jnp.linalg.norm(v), (v @ v.T)[0], v.at[0].set(1).sum(), jnp.argsort(v[0]), v[1:3] > 0]

    close(on(DEV, eager, x), on(CPU, eager, x), **LOOSE)
