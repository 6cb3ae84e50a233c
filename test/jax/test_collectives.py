# SPDX-License-Identifier: Apache-2.0
"""Programs of one device that meet the others: shard_map, pmap, and their collectives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from common import DEVICES
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

pytestmark = pytest.mark.skipif(len(DEVICES) < 4, reason="needs four devices")

LINE = Mesh(np.array(DEVICES[:4]), "i")
GRID = Mesh(np.array(DEVICES[:4]).reshape(2, 2), ("i", "j"))


def mapped(f, mesh, ins, outs):
    return jax.jit(jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False))


@pytest.mark.parametrize("rows", [4, 64])
def test_all_kinds_together(rows):
    x = np.random.RandomState(0).randint(-99, 99, (16, rows, 32)).astype(np.float32)
    parts = x.reshape(4, 4, rows, 32)
    whole = parts.sum(0)
    f = mapped(lambda v: (lax.psum(v, "i"), lax.psum_scatter(v, "i", tiled=True), lax.all_gather(v, "i", tiled=True),
                          lax.ppermute(v, "i", [(k, (k + 1) % 4) for k in range(4)]), lax.all_to_all(v, "i", 1, 0, tiled=True)),
               LINE, P("i"), (P(), P("i"), P(), P("i"), P("i")))
    step = rows // 4
    exchanged = np.concatenate([np.concatenate([parts[s][:, k * step:(k + 1) * step] for s in range(4)]) for k in range(4)])
    for argument in (x, jax.device_put(x, NamedSharding(LINE, P("i")))):
        for got, want in zip(f(argument), (whole, whole, x, np.roll(parts, 1, 0).reshape(x.shape), exchanged)):
            np.testing.assert_array_equal(got, want)


def test_a_mesh_of_two_axes():
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    f = mapped(lambda v: (lax.psum(v, "j"), lax.pmax(v, "i"), lax.psum(v, ("i", "j"))), GRID, P("i", "j"), (P("i"), P(None, "j"), P()))
    by_j, by_i, by_both = f(x)
    np.testing.assert_array_equal(by_j, x.reshape(4, 2, 3).sum(1))
    np.testing.assert_array_equal(by_i, x.reshape(2, 2, 6).max(0))
    np.testing.assert_array_equal(by_both, x.reshape(2, 2, 2, 3).sum((0, 2)))


def test_pmap():
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    f = jax.pmap(lambda v: (lax.psum(v, "i"), lax.axis_index("i")), axis_name="i", devices=DEVICES[:4])
    total, index = f(x)
    np.testing.assert_array_equal(total, np.tile(x.sum(0), (4, 1)))
    np.testing.assert_array_equal(index, np.arange(4))


def test_collectives_in_loops():
    def body(v):
        return lax.fori_loop(0, 20, lambda i, w: lax.ppermute(w, "i", [(k, (k + 1) % 4) for k in range(4)]) + 1, v)

    x = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(mapped(body, LINE, P("i"), P("i"))(x), x + 20)


def test_gradients():
    loss = mapped(lambda v: lax.pmean(jnp.sum(v**2), "i"), LINE, P("i"), P())
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), x / 2, rtol=1e-6)


def test_many_runs_in_flight():
    f = mapped(lambda v: lax.psum(v, "i"), LINE, P("i"), P())
    x = jax.device_put(np.ones((4, 1000), np.float32), NamedSharding(LINE, P("i")))
    for y in [f(x) for _ in range(100)]:
        assert float(y[0, 0]) == 4
