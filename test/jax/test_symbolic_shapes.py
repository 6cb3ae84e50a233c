# SPDX-License-Identifier: Apache-2.0
"""Programs of unknown sizes: what jax.export makes of symbolic shapes, refined by jaxlib (as `jit` does it), and as it
is: one executable of ours at many sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import CPU, DEV, values
from jax import export, lax
from jax._src.lib import xla_client

W = values("float32", (4, 3))


def mixed(x):
    return jnp.concatenate([jnp.tanh(x @ W), jnp.cumsum(x, 0)[:, :2], jnp.sort(x, 0)[::-1, :1]], 1).reshape(-1)


def loop(x):
    return lax.fori_loop(0, x.shape[0], lambda i, c: c + jnp.roll(x, i, 0) * jnp.ones((x.shape[0], 1)), jnp.zeros_like(x))


def scan(x):
    return lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(x.shape[1:]), x)[1]


def cond(x):
    return lax.cond(x.sum() > 0, lambda: x.T @ x, lambda: jnp.full((4, 4), x.shape[0], x.dtype))


def windows(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (x.shape[0], 2), (1, 1), "VALID")


def conv(x):
    return lax.conv_general_dilated(x.reshape(1, -1, 4), values("float32", (3, 4, 2)), (1,), "SAME",
                                    dimension_numbers=("NWC", "WIO", "NWC"))


def padded(x):
    return jnp.pad(x, ((x.shape[0], 1), (0, 2)))[: 2 * x.shape[0], ::2]


def gathered(x):
    return x[jnp.arange(x.shape[0])[::-1]] + x.at[-1].set(7) + lax.dynamic_slice_in_dim(x, 1, x.shape[0], 0)


# name: function and the polymorphic shape of its argument.
FUNCTIONS = {
    "mixed": (mixed, "b, 4"), "loop": (loop, "b, 4"), "scan": (scan, "b, 4"), "cond": (cond, "b, 4"),
    "windows": (windows, "b, 4"), "conv": (conv, "b, 4"), "padded": (padded, "b, 4"), "gathered": (gathered, "b, 4"),
    "arange": (lambda x: jnp.arange(3 * x.shape[0]) // x.shape[1], "b, 4"),
    "argmax": (lambda x: jnp.argmax(x, 0), "b, 4"),
    "einsum": (lambda x: jnp.einsum("ij,kj->ik", x, x), "b, 4"),
    "halves": (lambda x: x.reshape(2, -1, 4).sum(0), "2*b, 4"),
    "two sizes": (lambda x: jnp.outer(x[:, 0], x[0]), "a, b"),
    "top_k": (lambda x: lax.top_k(x.T, x.shape[0] // 2 + 1)[0], "b, 4"),
    "one hot": (lambda x: jax.nn.one_hot(jnp.arange(4), x.shape[0]), "b, 4"),
    "mean and variance": (lambda x: (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1), "b, 4"),
    "grad": (jax.grad(lambda x: (jnp.tanh(x @ W) ** 2).sum()), "b, 4"),
    "vmap": (jax.vmap(lambda r: jnp.convolve(r, jnp.ones(2))), "b, 4"),
    "cholesky": (jax.vmap(lambda r: jnp.linalg.cholesky(jnp.outer(r, r) + 5 * jnp.eye(4))), "b, 4"),
    "svd": (lambda x: jnp.linalg.svd(jnp.outer(x[:, 0], x[:, 1])[None] * jnp.ones((x.shape[0], 1, 1)),
                                     compute_uv=False), "b, 4"),
    "solve": (jax.vmap(lambda r: jnp.linalg.solve(jnp.outer(r, r) + 5 * jnp.eye(4), r)), "b, 4"),
    "rng bits": (lambda x: jax.random.bits(jax.random.key(3, impl="unsafe_rbg"), (x.shape[0], 2)) // 2, "b, 4"),
    "random normal": (lambda x: jax.random.normal(jax.random.key(3), x.shape), "b, 4"),
    "clip and where": (lambda x: jnp.where(x > 0, jnp.clip(x, -1, 1), x.shape[0]), "b, 4"),
    "percentile": (lambda x: jnp.percentile(x, 30.0, axis=0), "b, 4"),
    "approx max k": (lambda x: lax.approx_max_k(x.T, 1)[0], "b, 4"),
    "segment sum": (lambda x: jax.ops.segment_sum(x, jnp.arange(x.shape[0]) % 2, x.shape[0]), "b, 4"),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.int16), "b, 4"),
}
SIZES = {"b, 4": [(3, 4), (8, 4), (2, 4)], "2*b, 4": [(2, 4), (6, 4)], "a, b": [(2, 5), (3, 3), (1, 2)]}


def exported(name):
    f, shape = FUNCTIONS[name]
    spec = jax.ShapeDtypeStruct(export.symbolic_shape(shape), np.float32)
    return f, shape, export.export(jax.jit(f), platforms=["cpu"])(spec)


def expected(f, x):
    return np.asarray(jax.jit(f)(jax.device_put(x, CPU)))


def load(program):
    """The program as jax.export made it, sizes unknown, compiled by the plugin."""
    devices = xla_client.DeviceList((DEV,))
    return DEV.client.compile_and_load(program.mlir_module_serialized, devices, xla_client.CompileOptions())


def run(executable, x):
    out = executable.execute_sharded([jax.device_put(x, DEV)])
    return np.asarray(out.disassemble_into_single_device_arrays()[0][0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_executable_at_several_sizes(name):
    f, shape, program = exported(name)
    executable = load(program)
    for size in SIZES[shape] * 2:
        x = values("float32", size, seed=size[0])
        np.testing.assert_allclose(run(executable, x), expected(f, x), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", ["mixed", "loop", "two sizes", "svd"])
def test_both_directions(name):
    f, shape, program = exported(name)
    again = export.deserialize(program.serialize())
    for size in SIZES[shape]:
        x = values("float32", size, seed=size[0])
        y = jax.jit(again.call)(jax.device_put(x, DEV))
        assert y.devices() == {DEV}
        np.testing.assert_allclose(y, expected(f, x), rtol=2e-5, atol=2e-5)


def test_a_size_that_breaks_the_specification_is_named():
    executable = load(exported("halves")[2])
    with pytest.raises(Exception, match="Input shapes do not match the polymorphic shapes specification"):
        run(executable, values("float32", (3, 4)))
    assert run(executable, values("float32", (4, 4))).shape == (2, 4)


def test_sizes_that_do_not_agree_are_named():
    a, b = (jax.ShapeDtypeStruct(export.symbolic_shape("b"), np.float32),) * 2
    program = export.export(jax.jit(lambda x, y: x + y), platforms=["cpu"])(a, b)
    executable = load(program)
    x, y = (jax.device_put(values("float32", (n,)), DEV) for n in (2, 3))
    with pytest.raises(Exception, match="Input shapes do not match"):
        executable.execute_sharded([x, y])
