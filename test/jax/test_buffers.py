# SPDX-License-Identifier: Apache-2.0
"""The life of an array: donation, deletion, readiness, devices, memories, and no growth."""

import gc
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import CPU, DEV, DEVICES, bits_equal, host_memory, resident_bytes, still_works, values
from jax.sharding import SingleDeviceSharding


def put(x, memory=None, device=DEV):
    return jax.device_put(x, SingleDeviceSharding(device, memory_kind=memory))


def test_delete():
    x = put(values("float32", (16, 4)))
    assert not x.is_deleted()
    x.delete()
    x.delete()
    assert x.is_deleted() and x.shape == (16, 4)
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    with pytest.raises(RuntimeError, match="deleted"):
        jax.jit(lambda v: v + 1)(x)
    still_works()


def test_delete_while_in_use():
    f = jax.jit(lambda v: jax.lax.fori_loop(0, 50, lambda _, w: jnp.sin(w), v))
    x = put(values("float32", (1 << 16,)))
    want = np.asarray(f(x))
    for _ in range(5):
        x = put(values("float32", (1 << 16,)))
        y = f(x)
        x.delete()
        bits_equal(y, want)


def test_donated_argument_is_gone_and_its_memory_used():
    f = jax.jit(lambda v: v * 2 + 1, donate_argnums=0)
    x = put(np.arange(1 << 16, dtype=np.float32)) + 0
    x.block_until_ready()
    pointer = x.unsafe_buffer_pointer()
    y = f(x)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    bits_equal(y, np.arange(1 << 16, dtype=np.float32) * 2 + 1)
    assert y.unsafe_buffer_pointer() == pointer


def test_using_a_donated_argument_again_raises():
    f = jax.jit(lambda v: v + 1, donate_argnums=0)
    x = put(values("float32", (8,)))
    f(x)
    with pytest.raises((RuntimeError, ValueError), match="deleted or donated|has been deleted"):
        f(x)
    still_works()


def test_donating_and_passing_the_same_array_raises():
    f = jax.jit(lambda a, b: (a + 1, b * 2), donate_argnums=0)
    x = put(values("float32", (8,)))
    with pytest.raises((RuntimeError, ValueError), match="donate"):
        jax.block_until_ready(f(x, x))
    still_works()


def test_a_view_held_by_the_host_survives_donation():
    f = jax.jit(lambda v: v + 1, donate_argnums=0)
    x = jax.jit(lambda v: v * 1)(put(np.arange(1 << 12, dtype=np.int32)))
    view = np.asarray(x)
    y = f(x)
    bits_equal(y, np.arange(1 << 12, dtype=np.int32) + 1)
    bits_equal(view, np.arange(1 << 12, dtype=np.int32))


def test_donation_through_a_training_loop():
    @jax.jit
    def plain(state, grad):
        return jax.tree.map(lambda s, g: s * 0.9 + g, state, grad)

    donating = jax.jit(plain, donate_argnums=0)
    grad = put({"w": values("float32", (64, 32), 1), "b": values("float32", (32,), 2)}["w"])
    a = b = {"w": grad, "m": grad}
    a, b = jax.tree.map(lambda v: v + 0, a), jax.tree.map(lambda v: v + 0, b)
    for _ in range(20):
        a, b = plain(a, {"w": grad, "m": grad}), donating(b, {"w": grad, "m": grad})
    for key in a:
        bits_equal(a[key], b[key])


def test_results_are_ready_after_waiting():
    x = put(values("float32", (256, 256)))
    y = jax.jit(lambda v: jnp.tanh(v @ v))(x)
    y.block_until_ready()
    assert y.is_ready() and x.is_ready()


def long_program():
    """A program that takes a good part of a second whatever the speed of the device, with its argument."""
    f = jax.jit(lambda v, n: jax.lax.fori_loop(0, n, lambda _, w: jnp.cos(w) + v, v))
    x, n = put(values("float32", (1 << 16,))), 8
    while True:
        jax.block_until_ready(f(x, n))
        start = time.perf_counter()
        jax.block_until_ready(f(x, n))
        took = time.perf_counter() - start
        if took > 0.4:
            return f, x, n, took
        n *= 2 if took > 0.2 else 4


def test_dispatch_does_not_wait():
    f, x, n, took = long_program()
    start = time.perf_counter()
    y = f(x, n)
    returned = time.perf_counter() - start
    ready_at_once = y.is_ready()
    y.block_until_ready()
    total = time.perf_counter() - start
    assert not ready_at_once and y.is_ready()
    assert returned < total / 3, f"returned after {returned:.3f} s of {total:.3f} s"


def test_order_of_dependent_work():
    f = jax.jit(lambda v: v * 3 + 1)
    x, want = put(np.arange(1000, dtype=np.int32)), np.arange(1000, dtype=np.int32)
    for _ in range(200):
        x, want = f(x), want * 3 + 1
    bits_equal(x, want)


@pytest.mark.skipif(len(DEVICES) < 2, reason="one device")
def test_copies_between_devices():
    x = values("float32", (33, 7))
    a = put(x)
    b = jax.device_put(a, DEVICES[1])
    assert b.devices() == {DEVICES[1]}
    a.delete()
    bits_equal(b, x)
    c = jax.jit(lambda v: v + 1)(b)
    assert c.devices() == {DEVICES[1]}
    bits_equal(jax.device_put(c, DEV), x + 1)


def test_copies_to_and_from_another_backend():
    x = values("float32", (5, 6))
    here = put(x)
    there = jax.device_put(here, CPU)
    assert there.devices() == {CPU} and there.device.client is not here.device.client
    here.delete()
    bits_equal(there, x)
    back = jax.device_put(there, DEV)
    there.delete()
    assert back.devices() == {DEV}
    bits_equal(back, x)


def test_memories_are_named():
    kinds = {m.kind for m in DEV.addressable_memories()}
    assert kinds == {"device", "pinned_host", "unpinned_host"}
    assert DEV.default_memory().kind == "device"
    for kind in kinds:
        assert DEV.memory(kind).kind == kind
        assert DEV in DEV.memory(kind).addressable_by_devices()


@pytest.mark.parametrize("kind", ["pinned_host", "unpinned_host"])
def test_copies_between_memories(kind):
    x = values("float32", (129,))
    a = put(x)
    b = put(a, kind)
    assert a.sharding.memory_kind == "device" and b.sharding.memory_kind == kind
    a.delete()
    bits_equal(b, x)
    c = put(b, "device")
    b.delete()
    bits_equal(jax.jit(lambda v: v * 2)(c), x * 2)
    bits_equal(put(x, kind), x)
    bits_equal(put(np.zeros((0, 3), np.int8), kind), np.zeros((0, 3), np.int8))


def test_program_with_a_result_in_pinned_host():
    host = SingleDeviceSharding(DEV, memory_kind="pinned_host")
    x = values("float32", (64,))
    y = jax.jit(lambda v: v * 2, out_shardings=host)(put(x))
    assert y.sharding.memory_kind == "pinned_host"
    bits_equal(y, x * 2)


def test_memory_statistics_follow_allocation():
    stats = DEV.memory_stats()
    assert stats is not None and stats["bytes_in_use"] >= 0
    x = (put(np.full((1 << 22,), 1.5, np.float32)) + 0).block_until_ready()
    during = DEV.memory_stats()["bytes_in_use"]
    assert during >= stats["bytes_in_use"] + (1 << 24)
    x.delete()
    del x
    gc.collect()
    assert DEV.memory_stats()["bytes_in_use"] <= during - (1 << 24)


def test_live_arrays_are_counted():
    before = len(DEV.client.live_arrays())
    keep = [put(values("int32", (3,))) for _ in range(5)]
    assert len(DEV.client.live_arrays()) == before + 5
    del keep
    assert len(DEV.client.live_arrays()) == before


def growth(work, rounds=3, repeats=100):
    """The least growth of the process over several rounds of repeats, after one round to warm up."""
    sizes = []
    for _ in range(rounds + 1):
        for _ in range(repeats):
            work()
        gc.collect()
        sizes.append(resident_bytes())
    return min(b - a for a, b in zip(sizes, sizes[1:]))


def test_running_does_not_grow_memory():
    f = jax.jit(lambda v: jnp.tanh(v) @ v.T)
    host = values("float32", (128, 128))
    # A leaked result or argument would be 6.5 MB a round.
    assert growth(lambda: np.asarray(f(put(host)))) < 2 << 20


def test_donating_does_not_grow_memory():
    f = jax.jit(lambda v: v + 1, donate_argnums=0)
    state = [put(np.zeros((1 << 14,), np.float32))]

    def work():
        state[0] = f(state[0])

    assert growth(work) < 2 << 20
    assert float(state[0][0]) == 400


def test_compiling_does_not_grow_memory():
    x = put(np.arange(32, dtype=np.float32))

    def work():
        jax.block_until_ready(jax.jit(lambda v: jnp.sin(v) * 2 + v.sum())(x))
        jax.clear_caches()

    assert growth(work, repeats=12) < 4 << 20


@host_memory
def test_freed_memory_is_used_again():
    f = jax.jit(lambda v: v * 2)
    x = put(np.zeros((1 << 20,), np.float32))
    pointers = set()
    for _ in range(20):
        y = f(x)
        pointers.add(y.block_until_ready().unsafe_buffer_pointer())
        y.delete()
        del y
    assert len(pointers) <= 3
