# SPDX-License-Identifier: Apache-2.0
"""The operations that user code is made of, against jaxlib's CPU and NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV, FLOATS, INTS, any_bits, close, on, same, values
from jax import lax

POSITIVE, UNIT = (0.01, 30.0), (-0.99, 0.99)
UNARY = {  # name -> range of arguments
    "exp": (-10, 10), "expm1": (-3, 3), "log": POSITIVE, "log1p": (-0.9, 30), "sqrt": POSITIVE, "cbrt": (-30, 30),
    "sin": (-20, 20), "cos": (-20, 20), "tan": (-1.4, 1.4), "tanh": (-6, 6), "sinh": (-6, 6), "cosh": (-6, 6),
    "arcsin": UNIT, "arccos": UNIT, "arctan": (-20, 20), "arctanh": UNIT, "abs": (-4, 4), "negative": (-4, 4),
    "sign": (-4, 4), "floor": (-4, 4), "ceil": (-4, 4), "round": (-4, 4), "isfinite": (-4, 4), "square": (-4, 4),
}
LAX_UNARY = {"logistic": (-8, 8), "rsqrt": POSITIVE, "erf": (-3, 3), "erfc": (-3, 3), "erf_inv": UNIT, "lgamma": POSITIVE,
             "digamma": POSITIVE}
# The functions that StableHLO has; the rest arrive as longer chains of operations and gather their rounding.
RTOL_CHAIN = {"float32": 2e-5, "float64": 1e-13}


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("function", [*UNARY, *LAX_UNARY])
def test_unary(function, name, x64):
    f = getattr(jnp, function, None) or getattr(lax, function)
    x = values(name, (999,), 1, *(UNARY.get(function) or LAX_UNARY[function]))
    rtol = RTOL_CHAIN.get(name) if function in LAX_UNARY or function.startswith("arc") else None
    same(f, x, rtol=rtol)


@pytest.mark.parametrize("function", ["add", "subtract", "multiply", "true_divide", "maximum", "minimum", "power",
                                      "arctan2", "fmod", "remainder", "hypot", "logaddexp", "nextafter", "copysign"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_binary(function, name, x64):
    x = values(name, (64, 1), 1, 0.1 if function == "power" else -4, 4)
    same(getattr(jnp, function), x, values(name, (1, 77), 2), rtol={"float32": 1e-5}.get(name, 1e-13))


@pytest.mark.parametrize("name", INTS)
def test_integers(name, x64):
    x, y = any_bits(name, (500,), 1), any_bits(name, (500,), 2)
    y[y == 0] = 3
    shift = (any_bits(name, (500,), 3) % x.dtype.type(x.dtype.itemsize * 8 + 3)).astype(name)
    with np.errstate(all="ignore"):
        same(lambda a, b: (a + b, a - b, a * b, a & b, a | b, a ^ b, ~a, -a), x, y,
             want=(x + y, x - y, x * y, x & y, x | y, x ^ y, ~x, -x))
    same(lambda a, b: (lax.div(a, b), lax.rem(a, b), a // b, a % b, jnp.maximum(a, b), jnp.minimum(a, b), jnp.abs(a),
                       jnp.sign(a), lax.population_count(a), lax.clz(a)), x, y)
    same(lambda a, s: (lax.shift_left(a, s), lax.shift_right_logical(a, s), lax.shift_right_arithmetic(a, s)), x, shift)


@pytest.mark.parametrize("name", INTS)
def test_integers_by_constants(name, x64):
    info = np.iinfo(name)
    x = np.array(sorted({min(max(v, info.min), info.max) for v in (
        *range(-40, 40), *range(info.min, info.min + 9), *range(info.max - 8, info.max + 1), *(1 << k for k in range(info.bits - 1)))}), name)
    for by in (1, 2, 8, 1 << (info.bits - 2), 3, 12, *([] if info.min == 0 else [-1, -4, info.min])):
        d = np.asarray(by, name)
        same(lambda v: (lax.div(v, jnp.full_like(v, d)), lax.rem(v, jnp.full_like(v, d)), v // d, v % d), x)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy's, about NaN in bfloat16
@pytest.mark.parametrize("name", FLOATS)
def test_comparisons_with_nan_and_zeros(name, x64):
    special = np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 1e-5], np.float64).astype(values(name, ()).dtype)
    a, b = np.repeat(special, len(special)), np.tile(special, len(special))
    same(lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y), a, b,
         want=tuple(np.asarray(f(a, b)) for f in (np.equal, np.not_equal, np.less, np.less_equal, np.greater,
                                                  np.greater_equal)))
    got = on(DEV, jax.jit(lambda x, y: (jnp.maximum(x, y), jnp.minimum(x, y))), a, b)
    nan = np.isnan(a.astype("f8")) | np.isnan(b.astype("f8"))
    for g, f in zip(got, (np.maximum, np.minimum)):
        np.testing.assert_array_equal(np.isnan(g.astype("f8")), nan)
        np.testing.assert_array_equal(g[~nan], f(a, b)[~nan])


@pytest.mark.parametrize("source", ["bool", *INTS, *FLOATS, "complex64"])
def test_conversions(source, x64):
    x = any_bits("bool", (40,)) if source == "bool" else values(source, (40,), 3, -100, 100)
    targets = ["bool", *INTS, *FLOATS, "complex128"]
    if source == "complex64":
        targets = ["complex128"]
    same(lambda v: [v.astype(t) for t in targets], x)


def test_complex_arithmetic(x64):
    for name in ("complex64", "complex128"):
        x, y = values(name, (200,), 1), values(name, (200,), 2)
        same(lambda a, b: (a + b, a * b, a / b, a.real, a.imag, a.conj(), -a, a == b), x, y, rtol=1e-6)
        same(lambda a: (jnp.exp(a), jnp.abs(a), jnp.sqrt(a), jnp.log(a), jnp.sin(a), jnp.tanh(a)), x, rtol=1e-5)


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "int32", "uint8"])
def test_reductions(name, x64):
    x = values(name, (13, 1, 64, 9), 4)
    for axes in (None, 0, (1, 3), (0, 2), -1, ()):
        same(lambda v: (v.sum(axes), v.max(axes), v.min(axes), (v > 1).any(axes), (v > -3).all(axes)), x,
             rtol={"float32": 1e-5, "bfloat16": 2e-2}.get(name), atol={"float32": 1e-4, "bfloat16": 0.5}.get(name))
    same(lambda v: (v.argmax(2), v.argmin(0), v[:0].sum(0), jnp.prod(v[0, 0, 0])), x)


def test_reductions_of_many_elements():
    x = values("float32", (1 << 20,), 5, 0, 1)
    got = on(DEV, jax.jit(lambda v: (v.sum(), v.mean(), v.max(), v.std())), x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(got, (wide.sum(), wide.mean(), wide.max(), wide.std()), rtol=1e-5)


def test_cumulative():
    x = values("float32", (6, 50), 6)
    same(lambda v: (jnp.cumsum(v, 1), jnp.cumprod(v[:, :9], 1), lax.cummax(v, 1), jnp.cumsum(v, 0, dtype=jnp.float32),
                    lax.cumlogsumexp(v, 1, reverse=True)), x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "int32", "complex64"])
def test_matrix_products(name, x64):
    def t(*shape):
        return values(name, shape, sum(shape))

    loose = {"float32": 1e-4, "bfloat16": 0.1, "complex64": 1e-4}.get(name)
    for spec, shapes in [("ij,jk->ik", [(17, 33), (33, 9)]), ("ij,kj->ki", [(4, 8), (5, 8)]), ("i,i->", [(50,), (50,)]),
                         ("bij,bjk->bik", [(3, 8, 4), (3, 4, 6)]), ("bhqd,bhkd->bhqk", [(2, 3, 5, 8), (2, 3, 7, 8)]),
                         ("ijk,lkj->il", [(3, 4, 5), (6, 5, 4)]), ("i,j->ij", [(3,), (4,)]), ("ij,jk->ik", [(0, 4), (4, 2)]),
                         ("ij,jk->ik", [(3, 0), (0, 2)])]:
        same(lambda a, b: jnp.einsum(spec, a, b), *[t(*s) for s in shapes], rtol=loose, atol=loose)


def test_mixed_products():
    a, b = values("int8", (16, 64), 1, -100, 100), values("int8", (64, 8), 2, -100, 100)
    same(lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32), a, b, want=a.astype("i4") @ b.astype("i4"))
    x, y = values("bfloat16", (16, 64), 1), values("bfloat16", (64, 8), 2)
    same(lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32), x, y, want=x.astype("f4") @ y.astype("f4"),
         rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("stride, padding, dilation, groups", [
    (1, "SAME", 1, 1), (2, "VALID", 1, 1), (1, [(2, 1), (0, 3)], 2, 1), (2, "SAME", 1, 4), (1, [(-1, 1), (2, -1)], 1, 1)])
def test_convolution(stride, padding, dilation, groups):
    x, w = values("float32", (2, 8, 11, 10), 1), values("float32", (12, 8 // groups, 3, 3), 2)

    def f(x, w):
        return lax.conv_general_dilated(x, w, (stride, stride), padding, rhs_dilation=(dilation, dilation),
                                        feature_group_count=groups)

    same(f, x, w, rtol=1e-4, atol=1e-4)
    same(lambda x, w: jax.grad(lambda x, w: (f(x, w) ** 2).sum(), (0, 1))(x, w), x, w, rtol=1e-3, atol=1e-2)


def test_transposed_and_one_dimensional_convolution():
    same(lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), values("float32", (2, 5, 6, 3), 1),
         values("float32", (3, 3, 3, 4), 2), rtol=1e-4, atol=1e-4)
    same(lambda x, w: jnp.convolve(x, w, "full"), values("float32", (40,), 1), values("float32", (7,), 2), rtol=1e-4,
         atol=1e-4)


def test_pooling():
    x = values("float32", (2, 9, 10, 3), 1)

    def pool(op, start):
        return lambda v: lax.reduce_window(v, start, op, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")

    same(pool(lax.max, -np.inf), x)
    same(pool(lax.add, 0.0), x, rtol=1e-5, atol=1e-5)
    same(jax.grad(lambda v: (pool(lax.max, -np.inf)(v) ** 2).sum()), x, rtol=1e-5)


def test_shapes():
    x = values("float32", (4, 6, 5), 1)
    y = values("float32", (4, 6, 5), 2)
    same(lambda a, b: (a.reshape(8, 15), a.T, a[:, ::2, 1:4], a[::-1], jnp.concatenate([a, b, a], 1), jnp.stack([a, b], 2),
                       jnp.pad(a, ((1, 2), (0, 0), (3, 0)), constant_values=7), jnp.broadcast_to(a[:1], (3, 6, 5)),
                       jnp.repeat(a, 3, 1), jnp.tile(a, (2, 1, 3)), jnp.flip(a, (0, 2)), jnp.roll(a, 2, 1),
                       jnp.squeeze(a[:, :1]), a[..., None], jnp.swapaxes(a, 0, 2), jnp.split(a, 3, 1), jnp.eye(4, 5, 1),
                       jnp.arange(5) * 2, jnp.linspace(0, 1, 5)), x, y)
    same(lambda v: lax.pad(v, np.float32(9), [(-1, 2, 1), (0, -2, 0), (1, 1, 2)]), x)


def test_where_and_clip():
    x, y = values("float32", (30,), 1), values("float32", (30,), 2)
    same(lambda a, b: (jnp.where(a > b, a, b * 2), jnp.clip(a, -1, 1), lax.clamp(b, a, b + 1), jnp.where(a > 0, 1, 0)), x, y)


def test_indexing():
    x = values("float32", (7, 5, 3), 1)
    i, j = np.array([0, 6, -1, 3, 3]), np.array([[1], [4], [0]])
    same(lambda v, i, j: (v[i], v[i, 1], v[:, j], v[j, i % 5], v[i].at[:, 0].get(), jnp.take(v, i, 0),
                          jnp.take_along_axis(v, jnp.argsort(v, 1), 1), v.at[100].get(mode="clip"),
                          v.at[100].get(mode="fill", fill_value=5), v[3, 2, 1]), x, i, j)
    same(lambda v, k: lax.dynamic_slice(v, (k, 1, 0), (3, 4, 2)), x, np.int32(5))
    same(lambda v, k: lax.dynamic_update_slice(v, v[:2, :2, :2] * 10, (k, k, k)), x, np.int32(-3))


def test_scatter():
    x = values("float32", (8, 4), 1)
    i, u = np.array([1, 3, 1, 7, 0]), values("float32", (5, 4), 2)
    same(lambda v, i, u: (v.at[i].add(u), v.at[i].max(u), v.at[i].min(u), v.at[i].multiply(u), v.at[2].set(0),
                          v.at[i[1:4:2]].set(u[:2]), v.at[:, 1].add(1), v.at[jnp.array([99, 2])].set(5, mode="drop")), x, i, u,
         rtol=1e-5, atol=1e-5)
    same(lambda i: jnp.bincount(i, length=9), i)
    same(lambda u, i: jax.ops.segment_sum(u, i, 8), u, i, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["float32", "int32", "uint8", "bfloat16"])
def test_sorting(name):
    x = values(name, (5, 101), 1)
    same(lambda v: (jnp.sort(v, 1), jnp.sort(v, 0), jnp.argsort(v, 1), jnp.sort(v, 1, descending=True)), x)
    same(lambda v: lax.sort((v, jnp.arange(101, dtype=jnp.int32) + jnp.zeros((5, 1), jnp.int32)), dimension=1, num_keys=1), x)
    same(lambda v: lax.top_k(v, 7), x)


def test_sorting_special_values():
    x = np.array([np.nan, 1, -np.inf, 0.0, -0.0, np.inf, -1, np.nan, 5], np.float32)
    got = on(DEV, jax.jit(jnp.sort), x)
    np.testing.assert_array_equal(got, np.sort(x))
    same(jnp.median, values("float32", (31,), 3))
    same(lambda v: jnp.unique(v, size=5), np.array([3, 1, 3, 2, 1], np.int32))
    same(lambda v: jnp.searchsorted(jnp.sort(v), v), values("float32", (64,), 3))


def test_fft():
    x, z = values("float32", (3, 24), 1), values("complex64", (2, 8, 15), 2)
    same(lambda a, b: (jnp.fft.rfft(a), jnp.fft.irfft(jnp.fft.rfft(a), 24), jnp.fft.fft(b), jnp.fft.ifft2(b),
                       jnp.fft.fftn(b)), x, z, rtol=1e-4, atol=1e-4)


def test_bitcast():
    x = any_bits("float32", (6, 4), 1)
    same(lambda v: (lax.bitcast_convert_type(v, jnp.int32), lax.bitcast_convert_type(v, jnp.uint8),
                    lax.bitcast_convert_type(lax.bitcast_convert_type(v, jnp.uint16), jnp.float32)), x)


def test_empty_and_scalar():
    same(lambda v: (v + 1, v.sum(), v.sum(0), jnp.sort(v, 0), v @ jnp.ones((3, 2)), jnp.concatenate([v, v])),
         np.zeros((0, 3), np.float32))
    same(lambda v: (v * 2, v.reshape(1, 1), jnp.broadcast_to(v, (2, 3)), jnp.where(v > 1, v, -v)), np.float32(3.5))
    same(lambda: (jnp.zeros(()), jnp.ones((2, 0)), jnp.arange(4)))


def test_many_arguments_and_results():
    xs = [np.float32(i) for i in range(150)]
    out = on(DEV, jax.jit(lambda *v: [a * 2 for a in v]), *xs)
    assert [float(o) for o in out] == [2.0 * i for i in range(150)]


def test_unused_and_returned_arguments():
    x, y = values("float32", (4,), 1), values("int32", (3,), 2)
    same(lambda a, b: (b, b, a), x, y)
    same(lambda a, b: jnp.float32(3), x, y)
    got = on(DEV, jax.jit(lambda a: (a, a + 0)), x)
    close(got, (x, x))


def test_a_long_chain_and_a_wide_program():
    x = values("float32", (100,), 1)

    def chain(v):
        for i in range(400):
            v = v * 0.999 + 0.001 * i if i % 7 else jnp.sin(v)
        return v

    same(chain, x, rtol=1e-4, atol=1e-4)
    same(lambda v: sum(jnp.tanh(v * i) for i in range(100)), x, rtol=1e-4, atol=1e-4)


def test_orders_between_values_change_nothing(x64):
    def f(x):
        a, b = jnp.sin(x @ x), jnp.cos(x)
        jax.ffi.ffi_call("control_dep", (), has_side_effect=True)(b, a)
        return a + b

    x = values("float64", (9, 9))
    compiled = jax.jit(f).lower(jax.device_put(x, DEV)).compile()
    assert "control_dep" not in compiled.as_text()
    np.testing.assert_allclose(compiled(jax.device_put(x, DEV)), np.sin(x @ x) + np.cos(x), rtol=1e-12)


def test_a_sink_keeps_what_it_takes():
    def f(x, keep):
        lax.dce_sink(x + 1, prevent_mlir_dce=keep)
        return x

    x = jax.device_put(values("float32", (9,)), DEV)
    for keep in (False, True):
        compiled = jax.jit(f, static_argnums=1).lower(x, keep).compile()
        assert ("add" in compiled.as_text()) == keep
        close(compiled(x), x)
