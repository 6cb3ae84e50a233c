# SPDX-License-Identifier: Apache-2.0
"""Checked runs: docs/checked-mode.md."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV

jax.config.update("jax_default_device", DEV)


def checked(f, what):
    return jax.jit(f, compiler_options={"tenon_check": what})


def test_right_programs_pass():
    def f(x, w, i):
        y = jnp.tanh(x @ w) + jax.lax.dynamic_slice(x, (i, 0), (4, 8))
        y = jax.lax.fori_loop(0, 3, lambda k, y: jnp.sin(y) * 2 + k, y)
        return jnp.sort(y, axis=1), y.sum(), jnp.where(y > 0, jnp.sqrt(jnp.abs(y)), 0)

    x = np.arange(32, dtype=np.float32).reshape(4, 8) / 7
    w = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    want = jax.jit(f)(x, w, 0)
    got = checked(f, "values,nan,bounds")(x, w, 0)
    for a, b in zip(want, got):
        np.testing.assert_array_equal(a, b)


def test_donated_arguments_are_checked_as_they_were():
    f = jax.jit(lambda x: x * 2 + 1, donate_argnums=0, compiler_options={"tenon_check": "values"})
    x = jnp.arange(1000.0)
    np.testing.assert_array_equal(f(x), np.arange(1000.0, dtype=np.float32) * 2 + 1)


def test_the_first_nan_is_named():
    def f(x):
        y = jnp.exp(x)
        z = jnp.log(x - 2)  # the culprit
        return (y * z).sum()

    with pytest.raises(Exception) as e:
        checked(f, "nan")(np.float32([3, 4, 1, 5])).block_until_ready()
    assert "stablehlo.log " in str(e.value) and "first NaN: element 2" in str(e.value)
    assert "test_checked.py" in str(e.value)
    checked(f, "nan")(np.float32([3, 4, 6, 5])).block_until_ready()


def test_a_nan_in_a_loop_is_found_inside_of_it():
    def f(x):
        return jax.lax.fori_loop(0, 5, lambda i, x: jnp.sqrt(x - 1), x)

    with pytest.raises(Exception) as e:
        checked(f, "nan")(np.float32(3.0)).block_until_ready()
    assert "stablehlo.sqrt " in str(e.value)


def test_nans_that_come_in_are_no_error():
    x = np.float32([np.nan, 1])
    np.testing.assert_array_equal(checked(lambda x: x + 1, "nan")(x), np.float32([np.nan, 2]))


@pytest.mark.parametrize("op", ["slice", "update", "gather", "scatter"])
def test_the_first_index_outside_is_named(op):
    def f(x, i):
        if op == "slice":
            return jax.lax.dynamic_slice(x, (i,), (3,))
        if op == "update":
            return jax.lax.dynamic_update_slice(x, x[:3], (i,))
        if op == "gather":
            return x.at[jnp.array([0, 1]) + i].get(mode="clip")
        return x.at[jnp.array([0, 1]) + i].add(1.0, mode="drop")

    def g(x, i):  # without JAX's own clipping of the index
        dims = jax.lax.GatherDimensionNumbers((), (0,), (0,))
        return jax.lax.gather(x, (jnp.array([[0], [1]]) + i), dims, (1,), mode="promise_in_bounds")

    run = checked(g if op == "gather" else f, "bounds")
    x = np.arange(10, dtype=np.float32)
    run(x, np.int32(2)).block_until_ready()
    with pytest.raises(Exception) as e:
        run(x, np.int32(9)).block_until_ready()
    index = {"slice": "index 9", "update": "index 9", "gather": "index 10", "scatter": "index 10"}[op]
    assert index in str(e.value) and "outside" in str(e.value)
    assert "test_checked.py" in str(e.value)


def test_an_unknown_check_is_refused():
    with pytest.raises(Exception, match="none of values, nan and bounds"):
        checked(lambda x: x, "speed")(np.float32(1))


def test_a_program_that_cannot_run_twice_runs():
    seen = []
    f = checked(lambda x: (jax.debug.callback(seen.append, x), x + 1)[1], "values")
    assert float(f(np.float32(1))) == 2
    jax.effects_barrier()
    assert len(seen) == 1
