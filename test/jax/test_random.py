# SPDX-License-Identifier: Apache-2.0
"""Random bits are those of jaxlib's CPU, bit for bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from common import CPU, DEV, bits_equal, close, on, same
from jax import random

# What threefry2x32 gives for key 0: the first two words, and the two keys that it splits into.
KNOWN_BITS = ["0xf29a4fa7", "0xfa843692"]
KNOWN_SPLIT = ["0x6b200159", "0x99ba4efe", "0x375f238f", "0xcddb151d"]


def key(seed, impl="threefry2x32"):
    """A key that each device makes for itself."""
    return lambda: random.key(seed, impl=impl)


def draws(f, seed=0, impl="threefry2x32"):
    def program():
        return f(key(seed, impl)())

    return on(DEV, jax.jit(program)), on(CPU, jax.jit(program))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])
@pytest.mark.parametrize("name", ["uint8", "uint16", "uint32", "uint64"])
def test_bits(impl, name, x64):
    for shape in [(), (1,), (7,), (128,), (3, 5, 11), (0,)]:
        bits_equal(*draws(lambda k: random.bits(k, shape, name), 42, impl))


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_keys(impl):
    for got, want in [draws(lambda k: random.key_data(random.split(k, 5)), 7, impl),
                      draws(lambda k: random.key_data(random.fold_in(k, 123)), 7, impl)]:
        bits_equal(got, want)


def test_known_answer():
    with jax.default_device(DEV):
        bits = jax.jit(lambda: random.bits(random.key(0, impl="threefry2x32"), (2,), "uint32"))()
        split = jax.jit(lambda: random.key_data(random.split(random.key(0, impl="threefry2x32"))))()
    assert [hex(b) for b in np.asarray(bits)] == KNOWN_BITS
    assert [hex(b) for b in np.asarray(split).ravel()] == KNOWN_SPLIT


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "float16"])
def test_uniform_and_normal(name, x64):
    bits_equal(*draws(lambda k: random.uniform(k, (1000,), name)))
    got, want = draws(lambda k: random.normal(k, (1000,), name))
    # The inverse of erf of f32 is up to 65 ulp off on jaxlib's CPU.
    close(got, want, rtol={"float32": 1e-5, "float64": 1e-12}.get(name))
    assert abs(float(got.astype("f8").mean())) < 0.12 and abs(float(got.astype("f8").std()) - 1) < 0.1


def test_normal_numbers_are_true_to_the_tails():
    with jax.default_device(DEV):
        k = random.key(3, impl="threefry2x32")
        got = np.asarray(jax.jit(lambda: random.normal(k, (300_000,)))())
        low = np.nextafter(np.float32(-1), np.float32(0))
        drawn = np.asarray(jax.jit(lambda: random.uniform(k, (300_000,), minval=low))())
    np.testing.assert_allclose(got, scipy.special.erfinv(drawn.astype("f8")) * 2**0.5, rtol=2.5e-7)


def test_discrete_draws():
    bits_equal(*draws(lambda k: random.randint(k, (500,), -17, 1000)))
    bits_equal(*draws(lambda k: random.bernoulli(k, 0.3, (500,))))
    bits_equal(*draws(lambda k: random.permutation(k, 100)))
    bits_equal(*draws(lambda k: random.choice(k, 50, (20,), replace=False)))
    bits_equal(*draws(lambda k: random.categorical(k, jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(200,))))


def test_continuous_draws():
    for f in (lambda k: random.truncated_normal(k, -1, 2, (200,)), lambda k: random.exponential(k, (200,)),
              lambda k: random.gumbel(k, (200,)), lambda k: random.laplace(k, (200,)), lambda k: random.gamma(k, 2.5, (50,)),
              lambda k: random.dirichlet(k, jnp.ones(4), (10,)), lambda k: random.cauchy(k, (100,))):
        close(*draws(f), rtol=1e-4, atol=1e-5)


def test_vmapped_and_scanned_keys():
    bits_equal(*draws(lambda k: jax.vmap(lambda s: random.bits(s, (3,)))(random.split(k, 6))))
    same(lambda n: jax.lax.scan(lambda k, _: (random.split(k)[0], random.bits(k, (2,))), key(3)(), None, 10)[1] + n,
         np.uint32(0))


def test_old_style_keys():
    def f():
        k = random.PRNGKey(12)
        return random.uniform(random.split(k, 3)[1], (9,))

    bits_equal(on(DEV, jax.jit(f)), on(CPU, jax.jit(f)))
