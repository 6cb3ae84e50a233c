# SPDX-License-Identifier: Apache-2.0
"""What passes recognise: Threefry loops and sorts of which the head is wanted; and the ways of sorting."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import CPU, DEV

KEY = np.array([3, 42], np.uint32)


def wrap(key):
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def same(f, *args):
    """f gives the same bits here and on jaxlib's CPU."""
    results = []
    for device in (CPU, DEV):
        with jax.default_device(device):
            results.append(jax.tree.leaves(jax.jit(f)(*[jax.device_put(a, device) for a in args])))
    for want, got in zip(*results):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (1000,), (3, 5), (2, 3, 4, 5)])
def test_threefry(shape):
    for dtype in (jnp.uint32, jnp.uint8):
        same(lambda k: jax.random.bits(wrap(k), shape, dtype), KEY)
        same(lambda: jax.random.bits(jax.random.key(0), shape, dtype))
        same(lambda: jax.random.bits(jax.random.key(7), shape, dtype))


def test_threefry_of_many_keys():
    same(lambda k: jax.random.key_data(jax.random.split(wrap(k), 17)), KEY)
    same(lambda k: jax.vmap(lambda i: jax.random.key_data(jax.random.fold_in(wrap(k), i)))(jnp.arange(9)), KEY)
    same(lambda k: jax.vmap(lambda q: jax.random.bits(q, (33,)))(jax.random.split(wrap(k), 5)), KEY)
    same(lambda k: jax.vmap(lambda q: jax.random.bits(q, (4, 1, 3)))(jax.random.split(wrap(k), 5)), KEY)
    many = jax.vmap(jax.vmap(lambda q: jax.random.key_data(jax.random.split(q, 4))))
    same(lambda k: many(jax.random.split(wrap(k), (3, 1))), KEY)
    same(lambda k: many(jax.random.split(wrap(k), (3, 4))), KEY)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int8, np.uint16, "bfloat16"])
@pytest.mark.parametrize("shape, k", [((5, 4000), 3), ((1, 300000), 100), ((2, 1000), 250), ((3, 7), 7), ((40, 64), 1), ((50, 64), 8)])
def test_top_k(dtype, shape, k):
    x = (np.random.RandomState(0).randn(*shape) * 20).astype(np.float32).astype(jnp.dtype(dtype))
    same(lambda v: jax.lax.top_k(v, k), x)


@pytest.mark.parametrize("shape", [(9, 5), (40, 64), (6, 3, 33), (3, 5000)])
def test_heads_of_sorts_with_places(shape):
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(np.float32)

    def places(x, dim):
        return jax.lax.broadcasted_iota(jnp.uint32, x.shape, dim)

    for dim in (0, len(shape) - 1):
        for keys in (1, 2):
            same(lambda x: [v[:1] for v in jax.lax.sort((x, places(x, 0), x + x), dimension=0, num_keys=keys)], x)
            same(lambda x: [v[..., :1] for v in jax.lax.sort((x, places(x, dim)), num_keys=keys)], x)
            same(lambda x: [v[..., :1] for v in jax.lax.sort((places(x, dim), x), num_keys=keys)], x)


def test_sorts_take_little_memory():
    x = jax.device_put(np.arange(100000, dtype=np.float32), DEV)

    def memory(f):
        return jax.jit(f).lower(x).compile().memory_analysis().temp_size_in_bytes

    assert memory(lambda x: jax.lax.top_k(x, 10)) == 0  # places are no array
    assert memory(jnp.argsort) <= x.nbytes
    assert memory(lambda x: jnp.sort(x * 2) * 2) == 0  # all in the result


def test_top_k_of_ordered_and_equal_values():
    x = np.sort(np.random.RandomState(1).randn(3000).astype(np.float32))
    for v in (x, x[::-1].copy(), np.zeros_like(x)):
        same(lambda v: jax.lax.top_k(v, 100), v)
    x[::7], x[::5], x[1::5] = np.nan, -0.0, 0.0
    same(lambda v: jax.lax.top_k(v, 700), x)
    same(lambda v: jnp.argsort(v)[:50], x)


@pytest.mark.parametrize("n", [2, 15, 16, 17, 33, 100, 1000, 70000])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, np.float16])
def test_sort_keeps_order_and_bits(n, dtype):
    x = (np.random.RandomState(n).randn(n) * 30).astype(dtype)
    if x.dtype.kind == "f":
        x[::3], x[1::5], x[2::7] = -0.0, np.nan, 0.0
    same(lambda v: jax.lax.bitcast_convert_type(jnp.sort(v), f"uint{8 * x.itemsize}"), x)
    same(lambda v: jax.lax.bitcast_convert_type(jnp.sort(v, descending=True), f"uint{8 * x.itemsize}"), x)
    same(lambda v: jnp.argsort(v), x)
    same(lambda v: jax.lax.sort((v, -v, jnp.arange(n)), num_keys=2), x)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.bool_, np.complex64])
@pytest.mark.parametrize("shape, axis", [((2,), 0), ((9, 3), 0), ((3, 22, 4), 1)])
def test_scans_in_log_steps(dtype, shape, axis):
    x = (np.random.RandomState(3).randn(*shape) * 3).astype(dtype)
    if x.dtype.kind in "fc":
        x[::2] *= 0  # zeros of both signs
    op = jnp.logical_xor if dtype == np.bool_ else jnp.add
    same(lambda v: jax.lax.associative_scan(op, v, axis=axis), x)
    if dtype == np.float32:
        bits = lambda v: jax.lax.bitcast_convert_type(v, jnp.uint32)
        same(lambda v: bits(jax.lax.associative_scan(jnp.minimum, v, axis=axis, reverse=True)), x)


def test_pads_that_fill_gaps():
    x, y = np.arange(5, dtype=np.float32), -np.arange(5, dtype=np.float32)
    pad = lambda v, value, low, high, gap: jax.lax.pad(v, np.float32(value), [(low, high, gap)])
    same(lambda a, b: pad(a, 0, 1, 0, 1) + pad(b, 0, 0, 1, 1), x, y)
    same(lambda a, b: pad(a, 1, 0, 1, 1) + pad(b, 0, 1, 0, 1), x, y)  # not zeros in the gaps
    same(lambda a, b: pad(a, 0, 0, 1, 1) + pad(b, 0, 0, 1, 1), x, y)  # at the same places
    same(lambda a, b: pad(a, 0, 0, 3, 1) + pad(b, 0, 3, 0, 1), x, y)  # with gaps left
    same(lambda a, b: pad(a, 0, 0, 1, 2) + pad(b, 0, 1, 0, 2), x, y)


INDEXED = [(np.float32, np.int32), (np.int8, np.uint8), (np.complex64, np.int8), (np.int32, np.uint32)]


@pytest.mark.parametrize("dtype, index", INDEXED + [("bfloat16", np.int32)])
def test_gathers_of_elements(dtype, index):
    x = np.arange(120).reshape(6, 4, 5).astype(jnp.dtype(dtype))
    far = np.random.RandomState(0).randint(-60, 60, (6, 7, 5)).astype(index)  # many of them outside

    def some(v, i, mode):
        near = i // 8
        yield v.ravel().at[i * 2].get(mode=mode)
        yield v.at[:, i[0, 0]].get(mode=mode)
        yield v.at[near[0], near[1], near[2]].get(mode=mode) + v.at[near[0], near[1], near[2]].get(mode=mode)
        yield jnp.take_along_axis(v, i, 1, mode=mode)
        yield jnp.take(v, near, 1, mode=mode)
        yield jax.vmap(lambda a, b: jnp.take(a, b[:, 0], 0, mode=mode))(v, i)
        for width in (2, 5, 8, 20, 40):  # rows of few elements
            yield v.reshape(-1, width).at[i].get(mode=mode)

    wide = lambda v: v.astype(jnp.float32) if v.dtype == jnp.bfloat16 else v  # NumPy's NaNs of bf16 differ
    same(lambda v, i: [wide(y) for mode in ("fill", "clip") for y in some(v, i, mode)], x, far)


@pytest.mark.parametrize("op, of", zip(("max", "add", "add", "min"), INDEXED))
def test_scatters(op, of):
    dtype, index = of
    x = np.arange(240).reshape(6, 4, 10).astype(dtype)
    u = np.random.RandomState(1).randint(-9, 9, (60, 10)).astype(dtype)
    at = np.random.RandomState(0).randint(-8, 8, (3, 60)).astype(index)  # some of them outside, many equal

    def some(v, i, u):
        yield getattr(v.at[i[0], i[1]], op)(u)
        yield getattr(v.at[i[2]], op)(u[:, None, :])
        yield getattr(v.at[i[2], i[1], i[0]], op)(u[:, 0])
        yield getattr(v[0, 0].at[i[2]], op)(u[:, 0])
        yield getattr(v[:, 0, :3].at[i[0]], op)(u[:, :3])

    same(lambda v, i, u: list(some(v, i, u)), x, at, u)
    few = np.stack([np.arange(24) // 4, np.arange(24) % 4, np.arange(24) // 4 * 2]).astype(index)
    same(lambda v, i, u: [v.at[i[0], i[1]].set(u[:24]), v.at[i[0], i[1], i[2]].set(u[:24, 0])], x, few, u)


def test_scatters_of_numbers_like_zero_and_nan():
    x, at = np.zeros((40, 20), np.float32), np.random.RandomState(0).randint(0, 40, 300)
    u = np.random.RandomState(1).choice(np.float32([-0.0, 0.0, np.nan, -1, 2, np.inf]), (300, 20))
    bits = lambda v: jax.lax.bitcast_convert_type(v, jnp.uint32)
    both = lambda v, i, w: [v.at[i].max(w), v.at[i].min(w), v[:, 0].at[i].max(w[:, 0]), v[:, 0].at[i].min(w[:, 0])]
    same(both, x, at, u)
    for v in (x, -x):  # the bits of NaN may differ
        same(lambda *a: [bits(y) for y in both(*a)], v, at, np.where(np.isnan(u), np.float32(-2), u))


def test_gathers_of_windows_by_several_indices():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((5, 6, 7, 3), dtype=np.float32)
    i = rng.integers(-9, 9, (4, 30)).astype(np.int32)
    j = rng.integers(-9, 9, (4, 30)).astype(np.int32)
    for mode in ("clip", "fill", "promise_in_bounds"):
        places = (i % 5, j % 6) if mode == "promise_in_bounds" else (i, j)
        same(lambda x, i, j: x.at[i, j].get(mode=mode), x, *places)
        same(lambda x, i, j: x.at[j % 5, i % 6, i % 7].get(mode=mode), x, *places)
        same(lambda x, i, j: x.at[j % 5, :, i % 7].get(mode=mode), x, *places)


def test_repeats_along_several_dimensions():
    x = np.random.default_rng(2).standard_normal((3, 4, 5, 2), dtype=np.float32)
    same(lambda x: jnp.repeat(jnp.repeat(x, 2, 1), 3, 2), x)
    same(lambda x: jnp.repeat(jnp.repeat(x, 3, 2), 2, 1), x)
    same(lambda x: jnp.repeat(jnp.repeat(jnp.repeat(x, 2, 0), 2, 0), 2, 3), x)
    same(lambda x: jnp.tile(jnp.repeat(x[:, :1], 4, 1), (2, 1, 3, 1)), x)
    same(lambda x: jnp.broadcast_to(jnp.repeat(x[0, 0], 2, 0).reshape(-1)[:, None], (20, 6)), x)
    same(lambda x: jnp.broadcast_to(jnp.broadcast_to(x[:, :, 0, 0], (2, 3, 4)).reshape(6, 1, 4), (6, 5, 4)), x)


def test_gathers_along_inner_dimensions():
    x, i = np.arange(3 * 9 * 7 * 40).reshape(3, 9, 7, 40), np.array([5, 0, 6, 3, 3, 1, 2, 5, 4, 0])
    f = lambda np, v, i: [np.take(v, i, 2), np.take(v[..., :5], i, 1), np.take(v[..., :2], i[:8], 2), v[:, :, i[:3]][:, i]]
    with jax.default_device(DEV):
        got = jax.jit(lambda v, i: f(jnp, v, i))(x, i)
    for a, b in zip(got, f(np, x, i)):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_tables_that_the_same_program_makes():
    x = np.round(9 * np.random.RandomState(0).randn(500)).astype(np.float32)
    i = np.random.RandomState(1).randint(-9, 600, 500)
    same(lambda v, i: [(v * 2)[i] + v * 2, v[i][i] - v[::-1][i], jnp.ones(500)[i] + jnp.arange(500)[i] * v,
                       jnp.take_along_axis(v.reshape(5, 100) - 1, i.reshape(5, 100), 1).sum(1)], x, i)
    same(lambda v, i: jnp.arange(500)[i] * v, x, i)


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex64])
def test_few_places(dtype):
    """Two to four planes that become one, elements that repeat, and back."""
    x = (np.arange(5 * 83) % 120).reshape(5, 83).astype(dtype)
    f = lambda np, v: [[np.stack(list(v[:k]), -1), v[:k].T, v[:, : 16 * k].reshape(5, 16, k).transpose(0, 2, 1),
                        v[:k].reshape(k * 83)[: 83 // k * k].reshape(-1, k).T, np.repeat(v, k, 1)] for k in (2, 3, 4, 5)]
    with jax.default_device(DEV):
        got = jax.jit(lambda v: f(jnp, v))(x)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(f(np, x))):
        np.testing.assert_array_equal(np.asarray(a), b)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_division_of_integers_by_powers_of_two(dtype):
    info = np.iinfo(dtype)
    near = [v + d for v in (info.min, -64, -8, 0, 8, 64, info.max) for d in range(-9, 10)]
    x = np.array([v for v in near if info.min <= v <= info.max], dtype)
    for k in range(1, info.bits - 1):
        by = 1 << k
        quotients = [abs(int(v)) // by * (-1 if v < 0 else 1) for v in x]
        got = jax.jit(lambda v: (jax.lax.div(v, v.dtype.type(by)), jax.lax.rem(v, v.dtype.type(by))))(jax.device_put(x, DEV))
        np.testing.assert_array_equal(np.asarray(got[0]), np.array(quotients, dtype))
        np.testing.assert_array_equal(np.asarray(got[1]), np.array([int(v) - q * by for v, q in zip(x, quotients)], dtype))


def test_programs_are_recognised():
    code = """
import jax, jax.numpy as jnp, numpy as np
jax.jit(lambda k: jax.random.uniform(jax.random.wrap_key_data(k), (64, 8)))(np.array([1, 2], np.uint32))
jax.jit(lambda x: jax.lax.top_k(x, 3))(jnp.arange(100.))
jax.jit(lambda x: jax.lax.associative_scan(jnp.add, x))(jnp.arange(100.))
jax.jit(lambda x, i: jnp.take_along_axis(x, i, 1))(jnp.ones((2, 9)), jnp.ones((2, 3), jnp.int32))
"""
    env = dict(os.environ, TN_DUMP="schedule")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=env)
    assert run.returncode == 0, run.stderr[-1000:]
    text = run.stdout + run.stderr
    assert '"tenon.threefry_bits"' in text and '"tenon.sort_head"' in text and '"tenon.weave"' in text
    assert '"tenon.take"' in text
    code = """
import jax, numpy as np
def draw(k): return jax.random.uniform(jax.random.wrap_key_data(k), (3, 7))
jax.jit(jax.vmap(draw))(np.ones((5, 2), np.uint32))
"""
    env["TN_DUMP"] = "steps"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=env)
    text = run.stdout + run.stderr
    assert "tenon.threefry2x32" in text, text[-1000:]
    assert " loop " not in text and " unless " not in text


@pytest.mark.parametrize("shape, window, strides, padding", [((2, 9, 7, 16), (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
                                                             ((3, 8, 8), (1, 3, 1), (1, 1, 1), "SAME"),
                                                             ((4, 21, 9, 12), (1, 1, 3, 2), (1, 1, 2, 2), "SAME"),
                                                             ((70, 9, 3), (1, 2, 1), (1, 2, 1), "VALID"),
                                                             ((1, 12, 300), (1, 2, 1), (1, 2, 1), "VALID")])
def test_gradients_of_pooling(shape, window, strides, padding):
    # Few different values, so that some windows have several largest ones.
    x = np.random.RandomState(0).randint(0, 4, shape).astype(np.float32)
    pool = lambda v: jax.lax.reduce_window(v, -jnp.inf, jax.lax.max, window, strides, padding)
    same(jax.grad(lambda v: (pool(v) * jnp.arange(pool(v).size).reshape(pool(v).shape)).sum()), x)


def lorenz(y):
    return jnp.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])


def rotate(m):  # two dimensions a place
    return jnp.concatenate([m[1:], m[:1]], 0) * 0.9 + m.T[:2, :1] * jnp.ones((2, 3)) * 0.05


SMALL_STATES = {
    "scan": lambda y, p: jax.lax.scan(lambda y, _: (y + 0.01 * lorenz(y),) * 2, y, None, length=12),
    "inputs": lambda y, p: jax.lax.scan(lambda y, x: (jnp.roll(y, 1) * x[0] + x, y[::-1]), y, p),
    "fori": lambda y, p: jax.lax.fori_loop(0, 9, lambda i, y: y.at[i % 3].set(y[(i + 1) % 3] * 0.5 + i), y),
    "captured": lambda y, p: jax.lax.fori_loop(0, 9, lambda i, y: jnp.where(y[:1] > p[0], y[::-1], y + p[1]), y),
    "scalar": lambda y, p: jax.lax.fori_loop(0, 5, lambda i, c: (c[0] + c[1] * jnp.array([1.0, 2, 3]), c[0][0] * 0.1), (y, y[1])),
    "constant": lambda y, p: jax.lax.fori_loop(0, 5, lambda i, y: y * jnp.array([1.0, -1, 0.5]) + jnp.pad(y[1:], (0, 1)), y),
    "matrix": lambda y, p: jax.lax.fori_loop(0, 6, lambda i, m: rotate(m), jnp.stack([y, y * 2])),
    "while": lambda y, p: jax.lax.while_loop(lambda c: c[1] < 7, lambda c: (jnp.stack([c[0][2], c[0][0], -c[0][1]]), c[1] + 1), (y, 0)),
    "nested": lambda y, p: jax.lax.fori_loop(0, 3, lambda i, y: jax.lax.fori_loop(0, 4, lambda j, y: y + 0.01 * lorenz(y), y) * 0.9, y),
    "sum": lambda y, p: jax.lax.fori_loop(0, 6, lambda i, y: jnp.stack([y[1], y[2], y.sum() * 0.1]), y),
}


@pytest.mark.parametrize("n", [3, 16, 33, 64])
@pytest.mark.parametrize("name", SMALL_STATES)
def test_loops_over_small_states(name, n):
    """Under vmap the places come first; the loop is turned so that they are innermost (passes/strips)."""
    rng = np.random.default_rng(n)
    y, p = rng.standard_normal((n, 3)).astype(np.float32), rng.standard_normal((n, 5, 3)).astype(np.float32)
    swapped = y.T, p.transpose(1, 0, 2)
    for axes, args in ((dict(), (y, p)), (dict(in_axes=1, out_axes=-1), swapped)):
        f = jax.vmap(SMALL_STATES[name], **axes)
        results = []
        for device in (CPU, DEV):
            with jax.default_device(device):
                results.append(jax.tree.leaves(jax.jit(f)(*[jax.device_put(a, device) for a in args])))
        for want, got in zip(*results, strict=True):
            assert want.dtype == got.dtype
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64])
def test_rows_of_windows_that_are_no_whole_vectors(dtype):
    x = np.random.RandomState(0).randint(-50, 50, (3, 6, 150)).astype(jnp.dtype(dtype))
    cases = [(w, stride) for w in (3, 18, 19, 35, 67, 150) for stride in (1, 2, 3)]

    def pools(v):
        for w, stride in cases:
            part, steps = v[..., :w], (1, 1, stride)
            yield jax.lax.reduce_window(part, jnp.asarray(0, v.dtype), jax.lax.add, (1, 2, 3), steps, "VALID")
            edges = [(0, 0), (1, 1), (1, 1)]
            yield jax.lax.reduce_window(part, jnp.asarray(-99, v.dtype), jax.lax.max, (1, 3, 3), steps, edges)

    with jax.default_device(DEV):
        got = jax.jit(lambda v: list(pools(v)))(x)
    for (w, stride), total, most in zip(cases, got[::2], got[1::2]):
        view = np.lib.stride_tricks.sliding_window_view(x[..., :w], (1, 2, 3))[:, :, ::stride, 0]
        np.testing.assert_array_equal(np.asarray(total), view.sum((-1, -2)))
        around = np.pad(x[..., :w], ((0, 0), (1, 1), (1, 1)), constant_values=-99)
        view = np.lib.stride_tricks.sliding_window_view(around, (1, 3, 3))[:, :, ::stride, 0]
        np.testing.assert_array_equal(np.asarray(most), view.max((-1, -2)))
