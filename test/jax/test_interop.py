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


@host_memory
def test_dlpack_between_backends():
    x = values("float32", (6, 9))
    there = jax.dlpack.from_dlpack(put(x))
    bits_equal(there, x)
    here = jax.device_put(jax.dlpack.from_dlpack(x), DEV)
    assert here.devices() == {DEV}
    bits_equal(here, x)


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
