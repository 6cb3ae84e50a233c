#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes axpy.mlirbc: a JAX function as a StableHLO portable artifact, which any PJRT plugin compiles.

    build/venv/bin/python examples/make_program.py examples/axpy.mlirbc
"""

import sys

import jax
import jax.numpy as jnp

jax.config.update("jax_platforms", "cpu")  # nothing runs: the function is only traced
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # locations without this machine's folders
vector = jax.ShapeDtypeStruct((8,), jnp.float32)
exported = jax.export.export(jax.jit(lambda a, x, y: a * x + y))(jax.ShapeDtypeStruct((), jnp.float32), vector, vector)
with open(sys.argv[1], "wb") as f:
    f.write(exported.mlir_module_serialized)
