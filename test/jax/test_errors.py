# SPDX-License-Identifier: Apache-2.0
"""Errors raise, say what was wrong, and leave a client that works."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV, still_works, values

Error = jax.errors.JaxRuntimeError


def put(x):
    return jax.device_put(x, DEV)


def test_unknown_custom_call_names_its_target():
    call = jax.ffi.ffi_call("no_such_target_anywhere", jax.ShapeDtypeStruct((4,), jnp.float32))
    x = put(values("float32", (4,)))
    for _ in range(2):
        with pytest.raises(Error, match="no_such_target_anywhere"):
            jax.block_until_ready(jax.jit(lambda v: call(v) + 1)(x))
    still_works()


def test_unknown_compiler_option_is_named():
    lowered = jax.jit(lambda v: v + 1).lower(put(values("float32", (4,))))
    with pytest.raises(Error, match="No such compile option: 'xla_no_such_flag'"):
        lowered.compile({"xla_no_such_flag": "1"})
    still_works()


@pytest.mark.parametrize("value, kind", [("invalid", "'invalid' is not a valid bool value"), (3, "expected a bool value, got int")])
def test_value_of_compiler_option_of_another_kind(value, kind):
    lowered = jax.jit(lambda v: v + 1).lower(put(values("float32", (4,))))
    with pytest.raises(Error, match=f"'xla_embed_ir_in_executable': {kind}"):
        lowered.compile({"xla_embed_ir_in_executable": value})


def test_options_of_every_kind_that_xla_has():
    x = values("float32", (4,))
    options = {"xla_dump_max_hlo_modules": 200, "xla_gpu_auto_spmd_partitioning_memory_budget_ratio": 0.5,
               "xla_gpu_autotune_gemm_rtol": 1, "xla_cpu_max_isa": "AVX2", "xla_cpu_enable_fast_math": "true"}
    np.testing.assert_array_equal(jax.jit(lambda v: v + 1, compiler_options=options)(put(x)), x + 1)


def test_memory_that_cannot_be_had():
    # 2 ** 47 bytes are more than a process can address.
    with pytest.raises(Error, match="RESOURCE_EXHAUSTED"):
        jax.block_until_ready(jax.jit(lambda v: jnp.broadcast_to(v, (1 << 45,)) * 2)(put(np.float32(1))))
    still_works()


def test_memory_that_cannot_be_had_inside_a_program():
    def f(v):
        return jnp.sort(jnp.sin(jax.lax.iota(jnp.float32, 1 << 45) * v))[7]

    with pytest.raises(Error, match="RESOURCE_EXHAUSTED"):
        jax.block_until_ready(jax.jit(f)(put(np.float32(1))))
    still_works()


def test_deleted_argument():
    f = jax.jit(lambda a, b: a + b)
    a, b = put(values("float32", (4,))), put(values("float32", (4,)))
    f(a, b)
    b.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f(a, b)
    assert not a.is_deleted()
    still_works()


def test_wrong_argument_to_a_compiled_program():
    compiled = jax.jit(lambda v: v * 2).lower(put(values("float32", (4,)))).compile()
    with pytest.raises(TypeError, match="float32"):
        compiled(put(values("int32", (4,))))
    np.testing.assert_array_equal(compiled(put(np.ones(4, np.float32))), np.full(4, 2, np.float32))


def test_error_in_the_middle_of_a_chain():
    f = jax.jit(lambda v: v + 1)
    x = f(put(np.zeros(4, np.float32)))
    bad = jax.ffi.ffi_call("no_such_target_anywhere", jax.ShapeDtypeStruct((4,), jnp.float32))
    with pytest.raises(Error):
        jax.block_until_ready(f(jax.jit(bad)(x)))
    np.testing.assert_array_equal(f(x), np.full(4, 2, np.float32))


def test_debug_nans_finds_the_nan():
    with jax.debug_nans(True), jax.default_device(DEV):
        with pytest.raises(FloatingPointError, match="nan"):
            jax.jit(lambda v: jnp.log(v))(np.float32(-1)).block_until_ready()
    still_works()


def test_integer_division_by_zero_does_not_trap():
    with jax.default_device(DEV):
        out = jax.jit(lambda a, b: (jax.lax.div(a, b), jax.lax.rem(a, b)))(
            np.array([7, -7, np.iinfo(np.int32).min], np.int32), np.array([0, 0, -1], np.int32))
    np.testing.assert_array_equal(out[0], [-1, -1, np.iinfo(np.int32).min])
    np.testing.assert_array_equal(out[1], [7, -7, 0])
    still_works()
