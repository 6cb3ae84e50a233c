# SPDX-License-Identifier: Apache-2.0
"""How many threads compute: an option of a program; that of a client is `tenon.configure(num_threads=...)`."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEV

jax.config.update("jax_default_device", DEV)


def f(x):
    y = x @ x.T
    return jnp.sort(y, axis=1), jax.nn.softmax(y), jnp.sum(jnp.sin(x) * x)


@pytest.mark.parametrize("threads", [1, 2, 3, "2"])
def test_any_number_of_threads_gives_the_same_bits(threads):
    x = np.random.default_rng(0).standard_normal((400, 300), dtype=np.float32)
    want = jax.jit(f)(x)
    got = jax.jit(f, compiler_options={"tenon_threads": threads})(x)
    for a, b in zip(want, got):
        np.testing.assert_array_equal(np.asarray(a).view(np.uint32), np.asarray(b).view(np.uint32))


@pytest.mark.parametrize("threads", [-1, 5000, "many", ""])
def test_other_values_are_refused(threads):
    with pytest.raises(Exception, match="tenon_threads"):
        jax.jit(lambda x: x + 1, compiler_options={"tenon_threads": threads})(np.float32(1))
