# SPDX-License-Identifier: Apache-2.0
"""Several devices in one client, each on its own, and arrays laid out over them."""

import os
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV, DEVICES, PLATFORM, bits_equal, values
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

several = pytest.mark.skipif(len(DEVICES) < 4, reason="needs four devices")


def test_jax_says_how_many():
    assert len(DEVICES) == int(os.environ["JAX_NUM_CPU_DEVICES"])
    assert jax.device_count(PLATFORM) == jax.local_device_count(PLATFORM) == len(DEVICES)


def test_devices_are_told_apart():
    assert [d.id for d in DEVICES] == list(range(len(DEVICES)))
    assert {d.process_index for d in DEVICES} == {0}
    assert len({str(d) for d in DEVICES}) == len(DEVICES)
    assert all(d.client is DEV.client for d in DEVICES)
    assert jax.devices() == DEVICES and jax.local_devices() == DEVICES


@several
def test_a_program_runs_where_its_arguments_are():
    x = values("float32", (50,))
    f = jax.jit(lambda v: v * 2 + 1)
    for d in DEVICES:
        y = f(jax.device_put(x, d))
        assert y.devices() == {d}
        bits_equal(y, x * 2 + 1)
    with jax.default_device(DEVICES[2]):
        assert jax.jit(lambda: jnp.ones(3))().devices() == {DEVICES[2]}


@several
def test_arguments_on_two_devices_are_refused():
    a, b = (jax.device_put(np.ones(3, np.float32), d) for d in DEVICES[:2])
    with pytest.raises(ValueError, match="incompatible devices"):
        jax.jit(lambda x, y: x + y)(a, b)


@several
def test_devices_work_at_the_same_time():
    f = jax.jit(lambda v, k: jax.lax.fori_loop(0, 100, lambda i, w: (w * 5 + k) % 1009, v))
    x = np.arange(2000, dtype=np.int32)

    def want(k):
        w = x.copy()
        for _ in range(100):
            w = (w * 5 + k) % 1009
        return w

    ys = [f(jax.device_put(x, d), jax.device_put(np.int32(d.id), d)) for d in DEVICES for _ in range(3)]
    for i, y in enumerate(ys):
        bits_equal(y, want(i // 3))


@several
def test_sharded_arrays_move_as_shards():
    mesh = Mesh(np.array(DEVICES[:4]).reshape(2, 2), ("a", "b"))
    x = values("float32", (8, 12))
    for spec, shape in [(P("a", "b"), (4, 6)), (P("b"), (4, 12)), (P(None, ("a", "b")), (8, 3)), (P(), (8, 12))]:
        y = jax.device_put(x, NamedSharding(mesh, spec))
        assert {s.data.shape for s in y.addressable_shards} == {shape} and len(y.addressable_shards) == 4
        for s in y.addressable_shards:
            assert s.data.devices() == {s.device}
            bits_equal(s.data, x[s.index])
        bits_equal(y, x)
        bits_equal(jax.device_put(y, DEV), x)
        bits_equal(jax.device_put(y, NamedSharding(mesh, P("b", "a"))), x)


def test_threads_share_a_client():
    errors = []

    def work(k):
        try:
            f = jax.jit(lambda v: jnp.sum(v * k) + v[0])
            for i in range(30):
                v = np.arange(i + 1, dtype=np.int32)
                out = f(jax.device_put(v, DEVICES[k % len(DEVICES)]))
                assert int(out) == k * i * (i + 1) // 2, (k, i)
        except BaseException as e:  # handed to the main thread
            errors.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not errors and not any(t.is_alive() for t in threads)
