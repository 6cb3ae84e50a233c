# SPDX-License-Identifier: Apache-2.0
"""What newcomers to libraries on top of JAX do first, on Tenon and on jaxlib's CPU: the results must agree.

    JAX_PLATFORMS=tenon,cpu python test/ecosystem/run.py [NAME...]

Each example returns arrays. They are compared with the tolerance that it names, since sums in another order differ a
little and training makes more of it. Ends with `N passed, N failed, N skipped`; a library that is not installed is skipped.
"""

import os
import sys
import time
import traceback

os.environ.setdefault("JAX_PLATFORMS", "tenon,cpu")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

EXAMPLES = []


def example(tolerance):
    return lambda f: EXAMPLES.append((f, tolerance)) or f


def spiral(n):
    """Points of two spirals and which one they belong to."""
    t = np.linspace(0.5, 3, n)
    arms = [np.stack([s * t * np.cos(3 * t), s * t * np.sin(3 * t)], 1) for s in (1, -1)]
    return np.concatenate(arms).astype(np.float32), np.repeat([0, 1], n).astype(np.int32)


@example(2e-3)
def flax_linen_classifier():
    import flax.linen as nn
    import optax
    from flax.training import train_state

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.LayerNorm()(nn.Dense(32)(x)))
            return nn.Dense(2)(x)

    x, y = spiral(64)
    net = Net()
    state = train_state.TrainState.create(apply_fn=net.apply, params=net.init(jax.random.key(0), x), tx=optax.adam(1e-2))

    @jax.jit
    def step(state):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(p, x), y).mean()
        value, grads = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=grads), value

    losses = []
    for _ in range(30):
        state, value = step(state)
        losses.append(value)
    assert losses[-1] < losses[0]
    return losses, state.params


@example(2e-3)
def flax_nnx_convolution():
    import optax
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs):
            self.conv = nnx.Conv(1, 8, (3, 3), rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)
            self.dense = nnx.Linear(8, 4, rngs=rngs)

        def __call__(self, x):
            x = nnx.relu(self.norm(self.conv(x)))
            return self.dense(nnx.avg_pool(x, (8, 8)).reshape(x.shape[0], -1))

    net = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(net, optax.adamw(5e-3), wrt=nnx.Param)
    x = jax.random.normal(jax.random.key(1), (16, 8, 8, 1))
    y = jnp.arange(16) % 4

    @nnx.jit
    def step(net, optimizer):
        def loss(net):
            return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()
        value, grads = nnx.value_and_grad(loss)(net)
        optimizer.update(net, grads)
        return value

    return [step(net, optimizer) for _ in range(10)]


@example(1e-3)
def optax_optimizers():
    import optax

    a = jax.random.normal(jax.random.key(0), (20, 5))
    b = a @ jnp.arange(5.0)
    results = []
    for optimizer in (optax.sgd(1e-2, momentum=0.9), optax.adam(1e-1), optax.adamw(1e-1), optax.lion(1e-2), optax.rmsprop(1e-2),
                      optax.chain(optax.clip_by_global_norm(1.0), optax.adagrad(0.5)),
                      optax.adam(optax.cosine_decay_schedule(0.1, 40))):
        def loss(w):
            return jnp.mean((a @ w - b) ** 2)

        @jax.jit
        def step(w, s):
            updates, s = optimizer.update(jax.grad(loss)(w), s, w)
            return optax.apply_updates(w, updates), s

        w = jnp.zeros(5)
        s = optimizer.init(w)
        for _ in range(40):
            w, s = step(w, s)
        results.append(w)
    return results


@example(2e-3)
def equinox_rnn():
    import equinox as eqx
    import optax

    class Net(eqx.Module):
        cell: eqx.nn.GRUCell
        out: eqx.nn.Linear

        def __init__(self, key):
            k1, k2 = jax.random.split(key)
            self.cell = eqx.nn.GRUCell(2, 16, key=k1)
            self.out = eqx.nn.Linear(16, 1, key=k2)

        def __call__(self, x):
            h, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(16), x)
            return self.out(h)[0]

    net = Net(jax.random.key(0))
    t = jnp.linspace(0, 6, 16)
    x = jnp.stack([jnp.stack([jnp.sin(t * f), jnp.cos(t * f)], 1) for f in (0.5, 1.0, 1.5, 2.0)])
    y = jnp.array([0.0, 0.0, 1.0, 1.0])
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(net, eqx.is_array))

    @eqx.filter_jit
    def step(net, state):
        def loss(net):
            return jnp.mean(optax.sigmoid_binary_cross_entropy(jax.vmap(net)(x), y))
        value, grads = eqx.filter_value_and_grad(loss)(net)
        updates, state = optimizer.update(grads, state)
        return eqx.apply_updates(net, updates), state, value

    losses = []
    for _ in range(20):
        net, state, value = step(net, state)
        losses.append(value)
    assert losses[-1] < losses[0]
    return losses


@example(1e-4)
def diffrax_equations():
    import diffrax as dfx

    def field(t, y, args):
        prey, predator = y
        a, b, c, d = args
        return jnp.stack([a * prey - b * prey * predator, d * prey * predator - c * predator])

    def solve(args):
        return dfx.diffeqsolve(dfx.ODETerm(field), dfx.Tsit5(), 0.0, 8.0, 0.1, jnp.array([10.0, 10.0]), args=args,
                               saveat=dfx.SaveAt(ts=jnp.linspace(0, 8, 9)),
                               stepsize_controller=dfx.PIDController(rtol=1e-5, atol=1e-5)).ys

    args = jnp.array([0.1, 0.02, 0.4, 0.02])
    return jax.jit(solve)(args), jax.jit(jax.grad(lambda a: solve(a)[-1].sum()))(args)


@example(2e-2)
def numpyro_regression():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
    from numpyro.infer.autoguide import AutoNormal

    x = jnp.linspace(-1, 1, 40)
    y = 0.5 + 2 * x + 0.1 * jax.random.normal(jax.random.key(3), (40,))

    def model(x, y=None):
        a = numpyro.sample("a", dist.Normal(0, 1))
        b = numpyro.sample("b", dist.Normal(0, 1))
        s = numpyro.sample("s", dist.Exponential(1))
        numpyro.sample("y", dist.Normal(a + b * x, s), obs=y)

    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(0.02), Trace_ELBO())
    fit = svi.run(jax.random.key(0), 500, x, y, progress_bar=False)
    chain = MCMC(NUTS(model), num_warmup=100, num_samples=200, progress_bar=False)
    chain.run(jax.random.key(1), x, y)
    samples = chain.get_samples()
    # Chains part after some steps, whatever differs in the last place: their means say the same within their spread.
    means = {k: jnp.round(v.mean(), 1) for k, v in samples.items()}
    assert abs(samples["b"].mean() - 2) < 0.2
    return fit.params["a_auto_loc"], fit.params["b_auto_loc"], means


@example(2e-3)
def haiku_autoencoder():
    import haiku as hk
    import optax

    def forward(x):
        h = jnp.tanh(hk.Linear(4)(hk.LayerNorm(-1, True, True)(x)))
        return hk.nets.MLP([8, x.shape[-1]])(h)

    net = hk.without_apply_rng(hk.transform(forward))
    x = jax.random.normal(jax.random.PRNGKey(5), (32, 12))
    params = net.init(jax.random.PRNGKey(0), x)
    optimizer = optax.adam(1e-2)
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        value, grads = jax.value_and_grad(lambda p: jnp.mean((net.apply(p, x) - x) ** 2))(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, value

    losses = []
    for _ in range(30):
        params, state, value = step(params, state)
        losses.append(value)
    assert losses[-1] < losses[0]
    return losses


def on(device, f):
    with jax.default_device(device):
        start = time.time()
        out = jax.tree.leaves(f())
        for leaf in out:
            assert not isinstance(leaf, jax.Array) or leaf.devices() == {device}, "it ran elsewhere"
        return [np.asarray(leaf, np.float64) for leaf in out], time.time() - start


def main(names):
    counts = dict(passed=0, failed=0, skipped=0)
    ours, theirs = jax.devices("tenon")[0], jax.devices("cpu")[0]
    for f, tolerance in EXAMPLES:
        if names and not any(n in f.__name__ for n in names):
            continue
        try:
            got, seconds = on(ours, f)
            want, their_seconds = on(theirs, f)
            assert len(got) == len(want)
            worst = max(float(np.max(np.abs(g - w) / (1 + np.abs(w)), initial=0)) for g, w in zip(got, want))
            assert all(np.isfinite(g).all() for g in got) and worst <= tolerance, f"they differ by {worst:.2g}"
            verdict, text = "passed", f"differs by {worst:.1e}, {seconds:.1f} s, jaxlib's CPU {their_seconds:.1f} s"
        except ImportError as e:
            verdict, text = "skipped", str(e)
        except Exception as e:
            verdict, text = "failed", f"{type(e).__name__}: {e}"
            traceback.print_exc()
        counts[verdict] += 1
        print(f"{f.__name__:24} {verdict}: {text}", flush=True)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
