# SPDX-License-Identifier: Apache-2.0
"""Makes the programs of this folder: `python make_programs.py` (needs jax; the artifacts are committed)."""
import os

import jax
import jax.numpy as jnp
from jax import lax
from jaxlib import _jax

HERE = os.path.dirname(os.path.abspath(__file__))


def write(name, lowered=None, text=None):
    module = text if text is not None else str(lowered.compiler_ir("stablehlo"))
    data = _jax.mlir.serialize_portable_artifact(module, "1.17.0", True)
    with open(os.path.join(HERE, name + ".mlirbc"), "wb") as f:
        f.write(data)


f4 = jax.ShapeDtypeStruct((4,), jnp.float32)
write("add", jax.jit(lambda x, y: x + y).lower(f4, f4))
f23 = jax.ShapeDtypeStruct((2, 3), jnp.float32)
write("add_2x3", jax.jit(lambda x, y: x + y).lower(f23, f23))
write("donate", jax.jit(lambda x: x + 1, donate_argnums=0).lower(f4))
write("donate_one_of_two", jax.jit(lambda x, y: x + y, donate_argnums=0).lower(f4, f4))
write("two_outputs", jax.jit(lambda x, y: (x + y, x * y)).lower(f4, f4))
write("constant", jax.jit(lambda: jnp.arange(4, dtype=jnp.float32)).lower())
write("empty", jax.jit(lambda x: x * 2).lower(jax.ShapeDtypeStruct((0, 3), jnp.float32)))


def busy(x):  # a tenth of a second of scalar work or more, in a loop that nobody can remove
    step = lambda i, c: c * jnp.uint32(1664525) + i.astype(jnp.uint32)
    return lax.fori_loop(0, 20_000_000, step, x)


write("busy", jax.jit(busy).lower(jax.ShapeDtypeStruct((), jnp.uint32)))
write("unknown_target", text='''
module @unknown_target { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @tenon_no_such_target(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32> } }''')
write("replica_id", text='''
module @replica_id attributes {mhlo.num_replicas = 2 : i32} { func.func public @main(%x: tensor<ui32>) -> tensor<ui32> {
  %0 = stablehlo.replica_id : tensor<ui32>
  %1 = stablehlo.add %x, %0 : tensor<ui32>
  return %1 : tensor<ui32> } }''')
