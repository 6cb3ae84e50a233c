# SPDX-License-Identifier: Apache-2.0
"""Host callbacks: values, order, errors, and callbacks that run programs themselves."""

import subprocess
import sys
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV, DEVICES, host_memory, still_works
from jax.experimental import buffer_callback, io_callback
from jax.sharding import PartitionSpec as P


def double(x):
    return np.asarray(x) * 2


@pytest.mark.parametrize("dtype", ["bool", "int4", "int8", "uint16", "int32", "bfloat16", "float16", "float32",
                                   "float8_e4m3fn", "complex64"])
def test_element_types(dtype):
    x = jnp.arange(6).reshape(2, 3).astype(dtype)
    seen = []

    def same(v):
        seen.append(np.asarray(v))
        return np.asarray(v)

    y = jax.jit(lambda v: jax.pure_callback(same, jax.ShapeDtypeStruct(v.shape, v.dtype), v))(x)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    assert y.dtype == x.dtype and seen[0].dtype == x.dtype
    np.testing.assert_array_equal(seen[0], np.asarray(x))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (5, 7)])
def test_shapes_and_strided_results(shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    f = lambda v: np.asfortranarray(np.asarray(v) + 1).reshape(shape)
    y = jax.jit(lambda v: jax.pure_callback(f, jax.ShapeDtypeStruct(shape, np.float32), v))(x)
    np.testing.assert_array_equal(np.asarray(y), x + 1)


def test_arguments_outlive_the_call():
    kept = []
    f = jax.jit(lambda v: io_callback(lambda a: kept.append(a), None, v * 3, ordered=True))
    for i in range(20):
        f(jnp.full((1000,), i, jnp.float32))
    jax.effects_barrier()
    assert [float(np.asarray(a)[999]) for a in kept] == [3.0 * i for i in range(20)]


def test_order_in_loops():
    seen = []

    def body(i, c):
        io_callback(lambda k: seen.append(int(k)), None, i, ordered=True)
        return c + 1

    jax.jit(lambda c: jax.lax.fori_loop(0, 100, body, c))(jnp.float32(0)).block_until_ready()
    jax.effects_barrier()
    assert seen == list(range(100))


def test_vmap_and_grad():
    @jax.custom_jvp
    def f(x):
        return jax.pure_callback(lambda v: np.sin(v).astype(np.float32), jax.ShapeDtypeStruct(x.shape, x.dtype), x,
                                 vmap_method="sequential")

    f.defjvp(lambda p, t: (f(p[0]), jnp.cos(p[0]) * t[0]))
    x = jnp.linspace(0, 1, 5, dtype=jnp.float32)
    np.testing.assert_allclose(jax.jit(jax.vmap(f))(x), np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(f)))(x), np.cos(x), rtol=1e-6)


@host_memory
def test_a_callback_runs_programs_on_the_same_device():
    inner = jax.jit(lambda v: jnp.sin(v) @ jnp.ones((v.shape[1], 4), v.dtype))

    def nested(v):
        on_device = jax.device_put(np.asarray(v), DEV)
        return np.asarray(inner(on_device))

    x = np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32)
    f = jax.jit(lambda v: jax.pure_callback(nested, jax.ShapeDtypeStruct((300, 4), np.float32), v) + 1)
    want = np.sin(x) @ np.ones((200, 4), np.float32) + 1
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(f(x)), want, rtol=1e-4, atol=1e-3)


@host_memory
def test_callbacks_within_callbacks():
    def depth(n):
        def f(v):
            if n == 0:
                return np.asarray(v)
            x = jax.device_put(np.asarray(v), DEV)
            return np.asarray(jax.jit(lambda a: jax.pure_callback(depth(n - 1), jax.ShapeDtypeStruct((), np.float32),
                                                                  a + 1))(x))
        return f

    assert depth(8)(np.float32(1)) == 9


@host_memory
def test_a_callback_waits_for_another_thread_that_runs_programs():
    def other(v):
        out = []
        t = threading.Thread(target=lambda: out.append(np.asarray(jax.jit(jnp.cos)(jax.device_put(np.asarray(v), DEV)))))
        t.start()
        t.join(60)
        return out[0]

    x = np.ones((64,), np.float32)
    y = jax.jit(lambda v: jax.pure_callback(other, jax.ShapeDtypeStruct((64,), np.float32), v))(x)
    np.testing.assert_allclose(np.asarray(y), np.cos(x), rtol=1e-6)


def on_device(d, x):
    """What a callback does that runs a program: on our device, whatever JAX's default is there."""
    return np.asarray(jax.jit(lambda v: jnp.sin(v).sum())(jax.device_put(np.asarray(x), DEVICES[d])))


SIN = np.float32(np.sin(np.ones(4)).sum())


@host_memory
@pytest.mark.parametrize("d", [0, 1])
@pytest.mark.parametrize("n", [1, 700])
def test_a_callback_runs_programs_while_others_wait_for_its_result(d, n):
    def late(v):
        time.sleep(0.1)  # until the others have been started
        return on_device(d, v)

    f = jax.jit(lambda v: jax.pure_callback(late, jax.ShapeDtypeStruct((), np.float32), v))
    g = jax.jit(lambda y: (jnp.ones((n, n)) * y) @ jnp.ones((n, n)))
    x = jax.device_put(np.ones(4, np.float32), DEV)
    y = f(x)
    moved = jax.device_put(y, DEVICES[d])
    z, w = g(moved), g(jax.device_put(np.float32(3), DEVICES[d]))
    np.testing.assert_allclose(np.asarray(w), 3 * n)
    np.testing.assert_allclose(np.asarray(z), SIN * n, rtol=1e-5)


@host_memory
@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("how", ["shard_map", "pmap"])
def test_callbacks_of_several_devices_run_programs(how, other):
    def call(v, i):
        f = lambda a, i: on_device(int(i) ^ other, a)
        return jax.lax.psum(jax.pure_callback(f, jax.ShapeDtypeStruct((), np.float32), v, i), "i")

    if how == "pmap":
        f = jax.pmap(lambda v: call(v, jax.lax.axis_index("i")), axis_name="i", devices=DEVICES[:2])
        x = np.ones((2, 4), np.float32)
    else:
        mesh = jax.sharding.Mesh(np.array(DEVICES[:2]), ("i",))
        f = jax.jit(jax.shard_map(lambda v: call(v, jax.lax.axis_index("i"))[None], mesh=mesh, in_specs=P("i"),
                                  out_specs=P("i")))
        x = np.ones(8, np.float32)
    runs = [f(x) for _ in range(20)]  # more than are run at once
    for y in runs:
        np.testing.assert_allclose(np.asarray(y), [2 * SIN] * 2, rtol=1e-5)


@host_memory
def test_a_launch_on_several_devices_within_a_callback_of_another():
    mesh = jax.sharding.Mesh(np.array(DEVICES[:2]), ("i",))
    over = lambda f: jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
    inner = over(lambda v: jax.lax.psum(v, "i"))
    ordered = []

    def call(v):
        io_callback(lambda a: ordered.append(float(a)), None, v.sum())
        r = jax.pure_callback(lambda a: np.asarray(inner(jax.device_put(
            np.asarray(a), jax.sharding.NamedSharding(mesh, P("i"))))), jax.ShapeDtypeStruct((4,), np.float32), v)
        return jax.lax.psum(r, "i")

    outer = over(call)
    runs = [outer(np.arange(8, dtype=np.float32)) for _ in range(30)]
    jax.effects_barrier()
    half = lambda a: np.tile(a[:2] + a[2:], 2)
    want = half(np.arange(4.0)) + half(np.arange(4.0, 8.0))
    for y in runs:
        np.testing.assert_array_equal(np.asarray(y), np.tile(want, 2))
    assert sorted(ordered) == [6.0] * 30 + [22.0] * 30


def test_an_exception_keeps_its_text_and_the_next_program_works():
    def bad(v):
        raise ValueError("tell-tale-93")

    f = jax.jit(lambda v: jax.pure_callback(bad, jax.ShapeDtypeStruct((), np.float32), v) * 2)
    with pytest.raises(jax.errors.JaxRuntimeError, match="tell-tale-93"):
        f(np.float32(1)).block_until_ready()
    still_works()
    assert float(jax.jit(lambda v: jax.pure_callback(double, jax.ShapeDtypeStruct((), np.float32), v))(4.0)) == 8


@host_memory
def test_buffers_in_place():
    def callback(ctx, out, x):
        assert not x.writeable and out.writeable and x.shape == (3, 4)
        np.asarray(out)[...] = np.asarray(x) + 1

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    f = buffer_callback.buffer_callback(callback, jax.ShapeDtypeStruct(x.shape, x.dtype))
    np.testing.assert_array_equal(np.asarray(jax.jit(f)(x)), x + 1)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_one_worker_thread_is_enough(threads):
    code = """if True:
        import os, jax, jax.numpy as jnp, numpy as np
        f = jax.jit(lambda v: jax.pure_callback(lambda a: np.asarray(jnp.sum(jnp.ones((200, 200)) @ jnp.ones((200, 200))) * 0
                    + jnp.asarray(a)), jax.ShapeDtypeStruct((300, 300), np.float32), v) + 1)
        x = np.ones((300, 300), np.float32)
        for _ in range(3): assert (np.asarray(f(x)) == 2).all()
    """
    import os
    env = dict(os.environ, TN_THREADS=threads, JAX_PLATFORMS=os.environ["TENON_TEST_PLATFORM"])
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=120)


def test_large_arguments_are_read_only_and_kept():
    kept = []

    def keep(v):
        kept.append(v)
        return np.float32(0)

    f = jax.jit(lambda v: io_callback(keep, jax.ShapeDtypeStruct((), np.float32), v, ordered=True))
    for i in range(4):
        f(jnp.full((300, 400), i, jnp.float32))
    jax.effects_barrier()
    for i, v in enumerate(kept):
        assert (np.asarray(v) == i).all() and np.asarray(v).shape == (300, 400)
        with pytest.raises(ValueError):
            np.asarray(v)[0, 0] = 7
