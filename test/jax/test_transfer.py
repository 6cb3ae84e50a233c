# SPDX-License-Identifier: Apache-2.0
"""Arrays to the device and back: every type, any strides, empty and scalar, alive as long as someone looks."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import (COMPLEX, DEV, FLOATS, INTS, PLATFORM, SMALL_FLOATS, SUB_BYTE, any_bits, bits_equal, close, dtype, host_memory,
                    values)

SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0, 2), (1, 1, 2, 1, 3, 1, 1, 2)]


def put(x):
    out = jax.device_put(x, DEV)
    assert out.devices() == {DEV}
    return out


@pytest.mark.parametrize("name", ["bool", *INTS, *FLOATS, *COMPLEX, *SUB_BYTE, *SMALL_FLOATS])
def test_round_trip_keeps_every_bit(name, x64):
    for i, shape in enumerate(SHAPES):
        x = any_bits(name, shape, seed=i)
        y = put(x)
        assert y.dtype == x.dtype and y.shape == x.shape and y.nbytes == x.nbytes
        bits_equal(y, x)


@pytest.mark.parametrize("name", ["bool", *INTS, *FLOATS, *COMPLEX, *SUB_BYTE])
def test_a_program_sees_what_was_sent(name, x64):
    x = any_bits(name, (33, 5))
    identity = jax.jit(lambda x: x[::-1][::-1])
    bits_equal(identity(put(x)), x)


@pytest.mark.parametrize("name", ["bool", "int8", "int4", "bfloat16", "float32", "float64", "complex128"])
def test_any_strides(name, x64):
    x = any_bits(name, (6, 8, 10))
    views = {
        "transposed": x.T, "permuted": x.transpose(1, 2, 0), "fortran": np.asfortranarray(x),
        "reversed": x[::-1, :, ::-1], "stepped": x[::2, 1::3, ::-4], "column": x[:, 3, :], "diagonal": x[2].T[::-1],
        "broadcast": np.broadcast_to(x[0, 0], (3, 4, 10)), "one element repeated": np.broadcast_to(x[1, 1, 1], (5, 6)),
        "empty": x[:, 4:4, ::-1], "single": x[3:4, ::9, ::11],
    }
    for view in views.values():
        bits_equal(put(view), np.ascontiguousarray(view).reshape(view.shape))


def test_unaligned_source():
    raw = np.arange(4 * 1000 + 3, dtype=np.uint8)
    for offset in (1, 2, 3):
        x = np.frombuffer(raw.tobytes(), np.float32, 1000, offset)
        y = put(x)
        bits_equal(y, x)
        bits_equal(jax.jit(lambda v: v.reshape(10, 100))(y), x.reshape(10, 100))


def test_large_array():
    x = np.arange(1 << 23, dtype=np.float32).reshape(1 << 11, -1)
    y = put(x)
    bits_equal(y, x)
    assert int(jax.jit(lambda v: (v == jnp.arange(1 << 23, dtype=jnp.float32).reshape(v.shape)).all())(y)) == 1


def test_python_scalars_keep_their_type():
    f = jax.jit(lambda a, b, c, d: (a, b + 1, c * 2, d * 1j))
    with jax.default_device(DEV):
        out = f(True, 41, 1.25, 2 + 1j)
    assert [o.dtype.name for o in out] == ["bool", "int32", "float32", "complex64"]
    assert [o.item() for o in out] == [True, 42, 2.5, (2 + 1j) * 1j]
    assert all(o.devices() == {DEV} for o in out)


def test_a_tree_of_arrays():
    tree = {"a": values("float32", (3,)), "b": [values("int32", (2, 2)), (any_bits("bool", (4,)), np.float32(2.5))]}
    close(jax.device_get(jax.device_put(tree, DEV)), tree)


def test_array_copies_its_source():
    x = np.arange(64, dtype=np.int32)
    with jax.default_device(DEV):
        y = jnp.array(x)
    if PLATFORM == "tenon_sim":  # JAX lends the array to the device ("cpu" to it) until the copy is made, here later
        y.block_until_ready()
    x[:] = -1
    bits_equal(y, np.arange(64, dtype=np.int32))


def test_source_may_be_dropped_at_once():
    ys = []
    for i in range(50):
        ys.append(put(np.full((1000,), i, np.float32)))
        gc.collect(0)
    for i, y in enumerate(ys):
        np.testing.assert_array_equal(np.asarray(y), np.full((1000,), i, np.float32))


def test_host_view_outlives_its_array():
    want = np.arange(1 << 16, dtype=np.float32)
    y = jax.jit(lambda v: v * 1)(put(want))
    view = np.asarray(y)
    y.delete()
    del y
    gc.collect()
    others = [put(np.full((1 << 16,), -1.0, np.float32)) for _ in range(8)]
    bits_equal(view, want)
    assert not view.flags.writeable
    del others


@host_memory
def test_host_view_is_the_device_memory():
    y = jax.jit(lambda v: v + 1)(put(np.zeros((1 << 12,), np.float32)))
    assert np.asarray(y).ctypes.data == y.unsafe_buffer_pointer()
    assert y.unsafe_buffer_pointer() % 64 == 0


def test_results_in_any_layout():
    x = values("float32", (4, 5, 6))
    y = put(x)
    for axes in [(2, 1, 0), (1, 0, 2), (0, 2, 1)]:
        bits_equal(jax.jit(lambda v: v.transpose(axes))(y), x.transpose(axes))
    bits_equal(jax.jit(lambda v: v.transpose(2, 0, 1).reshape(-1))(y), x.transpose(2, 0, 1).reshape(-1))


@pytest.mark.parametrize("name", ["int2", "int4", "uint4"])
def test_sub_byte_arithmetic(name):
    x = any_bits(name, (65,))
    y = put(x)
    bits_equal(jax.jit(lambda v: v.astype("int32") * 3)(y), x.astype(np.int32) * 3)
    bits_equal(jax.jit(lambda v: v.astype("int8").astype(dtype(name)))(y), x)


def test_copy_to_host_async():
    y = jax.jit(lambda v: v * 2)(put(np.arange(10000, dtype=np.int32)))
    y.copy_to_host_async()
    bits_equal(y, np.arange(10000, dtype=np.int32) * 2)
