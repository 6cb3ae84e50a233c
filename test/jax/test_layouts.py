# SPDX-License-Identifier: Apache-2.0
"""Arrays whose dimensions lie in another order than row-major, and layouts that are left to the compiler."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV
from jax.experimental.layout import Format, Layout
from jax.sharding import SingleDeviceSharding

ONE = SingleDeviceSharding(DEV)


def order(x):
    return x.format.layout.major_to_minor


def test_results_and_arguments_in_a_fixed_layout():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    f = jax.jit(lambda v: v * 2, out_shardings=Format(Layout((2, 0, 1)), ONE))
    y = f(x)
    assert order(y) == (2, 0, 1)
    np.testing.assert_array_equal(np.asarray(y), x * 2)
    g = jax.jit(lambda v: v.sum(axis=1) + v[:, 0], in_shardings=Format(Layout((2, 0, 1)), ONE))
    np.testing.assert_array_equal(np.asarray(g(y)), x.sum(axis=1) * 2 + x[:, 0] * 2)
    # No layout asked for: the program is compiled for the one that comes.
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda v: v @ v.swapaxes(1, 2))(y)),
                                  4 * x @ x.swapaxes(1, 2))


def test_device_put_to_a_layout_and_back():
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    y = jax.device_put(x, Format(Layout((1, 0)), ONE))
    assert order(y) == (1, 0)
    np.testing.assert_array_equal(np.asarray(y), x)
    z = jax.device_put(y, Format(Layout((0, 1)), ONE))
    assert order(z) == (0, 1)
    np.testing.assert_array_equal(np.asarray(z), x)
    host = jax.device_put(y, SingleDeviceSharding(DEV, memory_kind="pinned_host"))
    np.testing.assert_array_equal(np.asarray(host), x)


def test_auto_is_row_major_and_can_be_fed_back():
    f = jax.jit(lambda v: v.T, in_shardings=Format(Layout.AUTO), out_shardings=Format(Layout.AUTO))
    compiled = f.lower(jax.ShapeDtypeStruct((3, 5), jnp.float32)).compile()
    (arguments, _), result = compiled.input_formats, compiled.output_formats
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    y = compiled(jax.device_put(x, arguments[0]))
    assert y.format == result
    np.testing.assert_array_equal(np.asarray(y), x.T)


def test_donation_keeps_the_layout():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = jax.device_put(x, Format(Layout((1, 0)), ONE))
    f = jax.jit(lambda v: v + 1, donate_argnums=0, in_shardings=Format(Layout((1, 0)), ONE),
                out_shardings=Format(Layout((1, 0)), ONE))
    z = f(y)
    assert y.is_deleted() and order(z) == (1, 0)
    np.testing.assert_array_equal(np.asarray(z), x + 1)


def test_compiled_for_another_layout_is_an_error():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    c = jax.jit(lambda v: v + 1, in_shardings=Format(Layout((1, 0)), ONE)).lower(x).compile()
    with pytest.raises(ValueError, match="[Ll]ayout"):
        c(jax.device_put(x, Format(Layout((0, 1)), ONE)))
