# SPDX-License-Identifier: Apache-2.0
"""Makes modules/*.mlirbc: small programs as JAX 0.10.2 sends them to a plugin.
And plain/*.mlirbc: the same as StableHLO, func and sdy in bytecode of version 4 (python/tenon/direct.py), behind the same
passes, and chlo.mlirbc with ops of CHLO.

usage: python make_modules.py [FOLDER]      (default: modules beside this file)
The files are committed, so that tests need neither JAX nor this script. Names end in the StableHLO
version that they are written for; without one it is the newest that jaxlib 0.10.2 writes, 1.17.0.
"""
import io
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P
from jax._src.interpreters.mlir import make_ir_context
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

# Places in the programs are named by this file alone, wherever it lies.
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
jax.config.update("jax_enable_x64", False)

NEWEST = "1.17.0"
f32 = lambda *s: jax.ShapeDtypeStruct(s, jnp.float32)
i32 = lambda *s: jax.ShapeDtypeStruct(s, jnp.int32)


def mlp_grad():
    def loss(params, x, y):
        (w1, b1), (w2, b2) = params
        h = jnp.tanh(x @ w1 + b1)
        return jnp.mean((h @ w2 + b2 - y) ** 2)

    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    params = [(f32(8, 16), f32(16)), (f32(16, 4), f32(4))]
    return jax.jit(step, donate_argnums=0).lower(params, f32(32, 8), f32(32, 4))


def scan():
    def f(c, xs):
        return lax.scan(lambda c, x: (jnp.sin(c) * x, c.sum()), c, xs)
    return jax.jit(f).lower(f32(3), f32(5, 3))


def branches():
    def f(i, x):
        y = lax.switch(i, [lambda x: x + 1, lambda x: x * 2, jnp.cos], x)
        return lax.while_loop(lambda v: v.sum() < 10, lambda v: v * 2, y)
    return jax.jit(f).lower(i32(), f32(4))


def conv():
    def f(x, k):
        y = lax.conv_general_dilated(x, k, (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax.jit(jax.grad(lambda k, x: f(x, k).sum())).lower(f32(3, 3, 2, 4), f32(1, 8, 8, 2))


def sort():
    def f(x, k):
        return lax.sort((x, k), num_keys=1), lax.top_k(x, 2), jnp.cumsum(x), jnp.argmax(x)
    return jax.jit(f).lower(f32(7), i32(7))


def index():
    def f(x, i, u):
        return x[i], x.at[i].add(u), lax.dynamic_slice(x, (i[0], 1), (2, 2)), jnp.pad(x, 1)
    return jax.jit(f).lower(f32(5, 4), i32(3), f32(3, 4))


def random():
    def f(seed):
        key = jax.random.key(seed)
        return jax.random.normal(key, (3,)), lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (5,))
    return jax.jit(f).lower(i32())


def complex_fft():
    def f(x):
        y = jnp.fft.fft(x.astype(jnp.complex64) * (1 + 2j))
        return jnp.fft.irfft(y[:5], 8), jnp.abs(y), jnp.exp(y)
    return jax.jit(f).lower(f32(8))


def small_types():
    def f(x):
        a = jnp.array([0.5, -1.5, 448.0], jnp.float8_e4m3fn)
        b = jnp.array([1, -8, 7], jnp.int4)
        c = jnp.array([3, 15, 0], jnp.uint4)
        d = np.array([True, False, True, True, False, False, True, False, True])
        return (x.astype(jnp.float8_e5m2) + a.astype(jnp.float8_e5m2), b, c, d,
                jnp.array([np.inf, -np.nan, -0.0], jnp.bfloat16), np.arange(300, dtype=np.int32))
    return jax.jit(f).lower(f32(3))


def dots():
    def f(a, b):
        return (jnp.einsum("bij,bjk->bik", a, b, precision=lax.DotAlgorithmPreset.TF32_TF32_F32),
                lax.dot_general(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16),
                                (((2,), (1,)), ((0,), (0,))), preferred_element_type=jnp.float32))
    return jax.jit(f).trace(f32(2, 3, 4), f32(2, 4, 5)).lower(lowering_platforms=("cuda",))


def custom_call():
    def f(x):
        y = jax.ffi.ffi_call("a_target", jax.ShapeDtypeStruct((4, 4), jnp.float32), has_side_effect=True,
                             input_layouts=[(1, 0)])(x, axis=np.int32(1), scale=2.5, name="n")
        return jnp.linalg.qr(y), lax.approx_max_k(x, 2)
    return jax.jit(f).lower(f32(4, 4))


def tokens():
    def f(x):
        jax.debug.callback(lambda v: None, x, ordered=True)
        return jax.pure_callback(lambda v: v, f32(3), x) * 2
    return jax.jit(f).lower(f32(3))


def functions():
    @jax.jit
    def g(x):
        return jax.scipy.special.erf(x) + lax.erf_inv(x)

    def f(x):
        return g(g(x)), jnp.sinh(x), lax.optimization_barrier((x, x + 1)), lax.linalg.cholesky(x)
    return jax.jit(f).lower(f32(3, 3))


def mesh():
    return jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


def sharded():
    m = mesh()
    def f(x, w):
        y = lax.with_sharding_constraint(x @ w, NamedSharding(m, P("x", None)))
        return jnp.tanh(y)
    s = lambda *p: NamedSharding(m, P(*p))
    return jax.jit(f, in_shardings=(s("x", "y"), s("y")), out_shardings=s(("x", "y"))).lower(f32(8, 8), f32(8, 4))


def shard_map():
    def body(x):
        s = lax.psum(x, "x") + lax.all_gather(x, "y").sum(0)
        s = lax.ppermute(s, "x", [(0, 1), (1, 0)]) + lax.axis_index("y")
        return s + lax.psum_scatter(lax.all_to_all(s, "y", 0, 0), "y").sum()
    f = jax.shard_map(body, mesh=mesh(), in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False)
    return jax.jit(f).lower(f32(4, 4))


def write(folder, name, lowered, version=NEWEST):
    module = lowered.compiler_ir("stablehlo")
    data = _jax.mlir.serialize_portable_artifact(module, version, True)
    name += "" if version == NEWEST else "@" + version
    with open(os.path.join(folder, name + ".mlirbc"), "wb") as f:
        f.write(data)
    if version == NEWEST:
        with make_ir_context() as context:
            plain = stablehlo.deserialize_portable_artifact(context, data)
            write_plain(folder, name, plain)
            if name == "dots":
                write_plain(folder, name + "@newest", plain, None)
    return len(data)


def write_plain(folder, name, module, version=4):
    data = io.BytesIO()
    module.operation.write_bytecode(data, desired_version=version)
    with open(os.path.join(folder, "../plain", name + ".mlirbc"), "wb") as f:
        f.write(data.getvalue())


CHLO = """module @chlo {
  func.func public @main(%a: tensor<4xf32>, %b: tensor<2x4xf32>, %n: tensor<2xi32>, %w: tensor<2x4x3xf32>)
      -> (tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xi1>, tensor<2x2xf32>, tensor<2x2xi32>, tensor<4xf32>,
          tensor<2x3xf32>) {
    %0 = chlo.erf_inv %a : tensor<4xf32> -> tensor<4xf32>
    %1 = chlo.lgamma %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = chlo.broadcast_add %1, %b {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>, tensor<2x4xf32>)
        -> tensor<2x4xf32>
    %3 = chlo.broadcast_compare %a, %2 {comparison_direction = #chlo<comparison_direction LT>}
        : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %4 = "chlo.constant_like"(%2) <{value = 2.5 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %5 = chlo.square %4 : tensor<2x4xf32> -> tensor<2x4xf32>
    %values, %places = chlo.top_k(%5, k = 2) : tensor<2x4xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
    %i = stablehlo.constant dense<1.0> : tensor<f32>
    %6:2 = chlo.scan(%a) inits(%i) dimension=0 attributes {is_reverse = true} {
    ^bb0(%x: tensor<f32>, %c: tensor<f32>):
      %s = stablehlo.add %x, %c : tensor<f32>
      stablehlo.return %s, %s : tensor<f32>, tensor<f32>
    } : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
    %7 = "chlo.ragged_dot"(%b, %w, %n) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision DEFAULT>],
        ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [],
        lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0],
        rhs_group_dimensions = [0]>}> : (tensor<2x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    return %1, %2, %3, %values, %places, %6#0, %7 : tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xi1>, tensor<2x2xf32>,
        tensor<2x2xi32>, tensor<4xf32>, tensor<2x3xf32>
  }
}
"""


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "modules")
    os.makedirs(folder, exist_ok=True)
    os.makedirs(os.path.join(folder, "../plain"), exist_ok=True)
    total = 0
    with make_ir_context():
        write_plain(folder, "chlo", ir.Module.parse(CHLO))
    with open(os.path.join(folder, "../plain/chlo.mlir"), "w") as f:
        f.write(CHLO)
    for make in (mlp_grad, scan, branches, conv, sort, index, random, complex_fft, small_types, dots, custom_call,
                 tokens, functions, sharded, shard_map):
        total += write(folder, make.__name__, make())
    # One for each version of the bytecode, and some in which ops had older versions.
    for version in ("0.9.0", "0.11.0", "0.12.0", "0.14.0", "1.0.0", "1.8.0"):
        for make in (mlp_grad, index, branches):
            if version in ("0.9.0", "1.0.0") or make is index:
                total += write(folder, make.__name__, make(), version)
    print(total, "bytes")


if __name__ == "__main__":
    main()
