# SPDX-License-Identifier: Apache-2.0
"""JAX on TENON_TEST_PLATFORM (tenon or tenon_sim), with jaxlib's own CPU beside it to compare with."""

import os

PLATFORM = os.environ.setdefault("TENON_TEST_PLATFORM", "tenon")
os.environ["JAX_PLATFORMS"] = f"{PLATFORM},cpu"
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "4")

import pytest  # noqa: E402  (JAX reads the environment when it is imported)


@pytest.fixture
def x64():
    import jax

    with jax.enable_x64(True):
        yield
