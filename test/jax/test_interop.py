# SPDX-License-Identifier: Apache-2.0
"""Arrays that leave JAX: DLPack, pickle, NumPy protocols."""

import copy
import gc
import pickle

import jax
import numpy as np
import pytest
from common import COMPLEX, CPU, DEV, INTS, any_bits, bits_equal, host_memory, values


def put(x):
    return jax.device_put(x, DEV)


@host_memory
@pytest.mark.parametrize("name", ["bool", *INTS, "float16", "float32", "float64", *COMPLEX])
def test_dlpack_to_numpy_shares_memory(name, x64):
    x = any_bits(name, (5, 7))
    y = put(x)
    view = np.from_dlpack(y)
    bits_equal(view, x)
    assert view.ctypes.data == y.unsafe_buffer_pointer()


@host_memory
def test_dlpack_view_outlives_the_array():
    y = jax.jit(lambda v: v + 1)(put(np.arange(1 << 14, dtype=np.int32)))
    assert y.__dlpack_device__() == (1, 0)
    view = np.from_dlpack(y)
    del y
    gc.collect()
    others = [put(np.full((1 << 14,), -1, np.int32)) + 0 for _ in range(8)]
    bits_equal(view, np.arange(1 << 14, dtype=np.int32) + 1)
    del others


@host_memory
def test_dlpack_view_survives_donation():
    y = jax.jit(lambda v: v * 1)(put(np.arange(1000, dtype=np.float32)))
    view = np.from_dlpack(y)
    z = jax.jit(lambda v: v + 5, donate_argnums=0)(y)
    bits_equal(view, np.arange(1000, dtype=np.float32))
    bits_equal(z, np.arange(1000, dtype=np.float32) + 5)


def placed(x, offset):
    """A copy of x at `offset` bytes behind a place that is aligned for any use."""
    room = np.empty(x.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    y = room[start:start + x.nbytes].view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


@host_memory
@pytest.mark.parametrize("name", [*INTS, "float32", "float64", *COMPLEX])
@pytest.mark.parametrize("copy, offset, shared", [(None, 0, True), (False, 0, True), (True, 0, False), (None, 16, False)])
def test_dlpack_from_numpy(name, copy, offset, shared, x64):
    x = placed(any_bits(name, (6, 9)), offset)
    y = jax.dlpack.from_dlpack(x, copy=copy)
    assert y.devices() == {DEV}
    assert (y.unsafe_buffer_pointer() == x.ctypes.data) == shared
    bits_equal(y, x)
    assert jax.jit(lambda v: v + v)(y).devices() == {DEV}


@host_memory
def test_dlpack_that_may_not_copy():
    with pytest.raises(ValueError, match="not aligned to 64 bytes"):
        jax.dlpack.from_dlpack(placed(values("float32", (6, 9)), 16), copy=False)


@host_memory
def test_dlpack_of_transposed_memory():
    x = np.arange(54, dtype=np.int64).reshape(6, 9).T
    for _ in range(3):
        y = jax.dlpack.from_dlpack(x)
        assert y.devices() == {DEV}
        np.testing.assert_array_equal(y + 1, x + 1)


@host_memory
def test_dlpack_between_backends():
    x = values("float32", (6, 9))
    there = jax.dlpack.from_dlpack(put(x), device=CPU)
    assert there.devices() == {CPU}
    bits_equal(there, x)
    assert jax.dlpack.from_dlpack(there).devices() == {CPU}
    here = jax.dlpack.from_dlpack(there, device=DEV)
    assert here.devices() == {DEV}
    bits_equal(here, x)
    assert jax.dlpack.from_dlpack(here, device=DEV, copy=False).unsafe_buffer_pointer() == here.unsafe_buffer_pointer()


def test_numpy_array_of_another_backend_is_accepted():
    x = jax.device_put(values("float32", (8,)), CPU)
    y = jax.jit(lambda v: v * 2)(put(np.asarray(x)))
    assert y.devices() == {DEV}
    bits_equal(y, np.asarray(x) * 2)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int4", "bool"])
def test_pickle_and_copy(name):
    x = any_bits(name, (3, 5))
    y = put(x)
    with jax.default_device(DEV):
        for z in (pickle.loads(pickle.dumps(y)), copy.deepcopy(y), copy.copy(y)):
            bits_equal(z, x)
            assert z.devices() == {DEV}


def test_array_protocols():
    y = put(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert int(y[1, 2]) == 5 and float(put(np.float32(2.5))) == 2.5 and bool(put(np.bool_(True)))
    assert y.tolist() == [[0, 1, 2], [3, 4, 5]] and [r.tolist() for r in y] == [[0, 1, 2], [3, 4, 5]]
    assert np.add(y, 1).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert list(range(10))[put(np.int32(7))] == 7
    assert str(y) == "[[0 1 2]\n [3 4 5]]"
    assert np.array(y, dtype=np.float64).dtype == np.float64


def test_eager_update_leaves_the_source():
    y = put(np.zeros(4, np.float32))
    with jax.default_device(DEV):
        z = y.at[1].set(7)
    bits_equal(y, np.zeros(4, np.float32))
    bits_equal(z, np.array([0, 7, 0, 0], np.float32))
