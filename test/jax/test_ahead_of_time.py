# SPDX-License-Identifier: Apache-2.0
"""Compiled programs as things of their own: inspected, serialized, cached, exported."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV, PLATFORM, bits_equal, python, values
from jax.experimental import serialize_executable


def put(x):
    return jax.device_put(x, DEV)


def compiled():
    x = put(values("float32", (64, 32)))
    return jax.jit(lambda a: {"y": jnp.tanh(a) @ a.T, "s": a.sum()}).lower(x).compile(), x


def test_compile_and_call():
    program, x = compiled()
    out = program(x)
    bits_equal(out["y"], jax.jit(lambda a: jnp.tanh(a) @ a.T)(x))
    assert set(out) == {"y", "s"}


def test_memory_analysis():
    program, _ = compiled()
    memory = program.memory_analysis()
    assert memory.argument_size_in_bytes == 64 * 32 * 4
    assert memory.output_size_in_bytes >= 64 * 64 * 4 + 4
    assert memory.temp_size_in_bytes >= 0


def test_text():
    program, _ = compiled()
    text = program.as_text()
    assert text is None or "64,32" in text or "64x32" in text


@pytest.mark.parametrize("f", [
    lambda x: jax.random.uniform(jax.random.key(0), (9,)) + x[0, 0],
    lambda x: jnp.take_along_axis(x, jnp.argsort(x), -1),
    lambda x: jax.lax.top_k(x, 3),
    lambda x: x.astype(jnp.bfloat16).astype(jnp.float32) @ x.T,
    lambda x: jax.lax.erf(x),
])  # fmt: skip
def test_text_of_programs_with_ops_of_our_own(f):
    program = jax.jit(f).lower(jax.ShapeDtypeStruct((8, 64), jnp.float32)).compile()
    assert program.as_text().startswith("HloModule") and program.cost_analysis() is not None


def test_serialized_program_runs():
    program, x = compiled()
    blob, in_tree, out_tree = serialize_executable.serialize(program)
    again = serialize_executable.deserialize_and_load(blob, in_tree, out_tree, backend=DEV.client,
                                                      execution_devices=[DEV])
    for name, value in program(x).items():
        bits_equal(again(x)[name], value)


def test_layouts_are_row_major():
    program, _ = compiled()
    (formats,), _ = program.input_formats
    assert formats.layout.major_to_minor == (0, 1)


@pytest.mark.skipif(PLATFORM != "tenon", reason="JAX keeps a cache for platform names that it knows")
def test_persistent_cache_hits(tmp_path):
    code = """
        import jax, jax.numpy as jnp, logging
        from jax._src import monitoring
        events = []
        monitoring.register_event_listener(lambda name, **_: events.append(name))
        f = jax.jit(lambda v: jnp.tanh(v) * 3 + v.sum())
        assert abs(float(f(jnp.ones(4))[0]) - (0.76159416 * 3 + 4)) < 1e-6
        print(sum(e.endswith("/cache_hits") for e in events))
    """
    env = dict(JAX_COMPILATION_CACHE_DIR=str(tmp_path), JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
               JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1", JAX_ENABLE_COMPILATION_CACHE="true")
    first, second = (int(python(code, **env).stdout) for _ in range(2))
    assert first == 0 and second >= 1


def test_export_round_trip():
    x = values("float32", (5, 3))
    f = jax.jit(lambda a: jnp.sort(a, 0) * 2)
    blob = jax.export.export(f)(jax.ShapeDtypeStruct((5, 3), jnp.float32)).serialize()
    again = jax.export.deserialize(blob)
    bits_equal(jax.jit(again.call)(put(x)), np.sort(x, 0) * 2)


def test_exported_with_a_symbolic_size():
    n, = jax.export.symbolic_shape("n")
    exported = jax.export.export(jax.jit(lambda a: jnp.cumsum(a) / a.shape[0]))(jax.ShapeDtypeStruct((n,), jnp.float32))
    for size in (1, 6, 10):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_allclose(jax.jit(exported.call)(put(x)), np.cumsum(x) / size, rtol=1e-6)
