#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer on Tenon and on jaxlib's CPU side by side, from the same seed.

A character-level language model (two layers, four heads, AdamW from optax) learns this project's licence text.
Every step runs on both; the losses must agree to 1e-3 all the way. Exits 1 if they do not.

    build/venv/bin/python examples/train_transformer.py [--steps 120] [--platform tenon]
"""

import argparse
import os
import sys
import time
from pathlib import Path

args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
args.add_argument("--steps", type=int, default=120)
args.add_argument("--platform", default="tenon")
args = args.parse_args()
os.environ["JAX_PLATFORMS"] = f"{args.platform},cpu"

import jax  # noqa: E402  (reads JAX_PLATFORMS when it is imported)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402

LAYERS, HEADS, WIDTH, LENGTH, BATCH = 2, 4, 64, 64, 16
TOLERANCE = 1e-3

TEXT = (Path(__file__).resolve().parents[1] / "LICENSE").read_bytes()
ALPHABET = sorted(set(TEXT))
DATA = np.searchsorted(ALPHABET, np.frombuffer(TEXT, np.uint8)).astype(np.int32)


def init(seed):
    keys = iter(jax.random.split(jax.random.key(seed), 2 + 4 * LAYERS))

    def matrix(rows, columns):
        return jax.random.normal(next(keys), (rows, columns)) / np.sqrt(rows)

    return {
        "embed": matrix(len(ALPHABET), WIDTH), "place": matrix(LENGTH, WIDTH),
        "layers": [{"qkv": matrix(WIDTH, 3 * WIDTH), "out": matrix(WIDTH, WIDTH), "up": matrix(WIDTH, 4 * WIDTH),
                    "down": matrix(4 * WIDTH, WIDTH), "norm1": jnp.ones(WIDTH), "norm2": jnp.ones(WIDTH)}
                   for _ in range(LAYERS)],
        "norm": jnp.ones(WIDTH),
    }


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def attention(layer, x):
    q, k, v = jnp.split((x @ layer["qkv"]).reshape(BATCH, LENGTH, HEADS, -1), 3, -1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ layer["out"]


def loss(params, tokens):
    x = params["embed"][tokens[:, :-1]] * np.sqrt(WIDTH) + params["place"]
    for layer in params["layers"]:
        x = x + attention(layer, norm(x, layer["norm1"]))
        x = x + jax.nn.gelu(norm(x, layer["norm2"]) @ layer["up"]) @ layer["down"]
    logits = norm(x, params["norm"]) @ params["embed"].T
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


OPTIMIZER = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 2e-3, 20, args.steps))


def train_step(state, tokens):
    params, optimizer_state = state
    value, grads = jax.value_and_grad(loss)(params, tokens)
    updates, optimizer_state = OPTIMIZER.update(grads, optimizer_state, params)
    return (optax.apply_updates(params, updates), optimizer_state), value


class Trainer:
    """The training run on one device."""

    def __init__(self, name, device):
        self.name, self.device, self.seconds = name, device, []
        with jax.default_device(device):
            params = jax.jit(init, static_argnums=0)(0)
            self.state = params, OPTIMIZER.init(params)
            lowered = jax.jit(train_step, donate_argnums=0).lower(self.state, batch(0))
            start = time.perf_counter()
            self.program = lowered.compile()
            self.compile_seconds = time.perf_counter() - start

    def step(self, tokens):
        tokens = jax.device_put(tokens, self.device)
        start = time.perf_counter()
        self.state, value = self.program(self.state, tokens)
        value = float(value)
        self.seconds.append(time.perf_counter() - start)
        return value

    def step_ms(self):
        return 1e3 * float(np.median(self.seconds))


def batch(step):
    starts = np.random.default_rng(step).integers(0, len(DATA) - LENGTH - 1, BATCH)
    return DATA[starts[:, None] + np.arange(LENGTH + 1)]


def main():
    ours, theirs = jax.devices(args.platform)[0], jax.devices("cpu")[0]
    print(f"{args.platform}: {ours.client.platform_version.splitlines()[0]}, beside jaxlib {jax.lib.__version__}'s cpu")
    runs = [Trainer(args.platform, ours), Trainer("jaxlib cpu", theirs)]
    count = sum(p.size for p in jax.tree.leaves(runs[0].state[0]))
    print(f"transformer of {count} parameters, {BATCH} x {LENGTH} characters a step, {args.steps} steps")
    for run in runs:
        print(f"{run.name:10} compiled the training step in {1e3 * run.compile_seconds:.0f} ms")

    first, worst, live = None, 0.0, sys.stdout.isatty()
    for step in range(1, args.steps + 1):
        mine, other = (run.step(batch(step)) for run in runs)
        first, worst = first or mine, max(worst, abs(mine - other))
        if live or step % 10 == 0 or step == 1:
            print(f"step {step:4}/{args.steps}   loss {mine:.5f} | {other:.5f}   apart {abs(mine - other):.1e}   "
                  f"{runs[0].step_ms():.1f} ms | {runs[1].step_ms():.1f} ms a step", end="\r" if live else "\n", flush=True)
        if not abs(mine - other) <= TOLERANCE:
            sys.exit(f"\nstep {step}: the losses {mine} and {other} are more than {TOLERANCE} apart")
    print("\n" if live else "")

    for run in runs:
        print(f"{run.name:10} compile {1e3 * run.compile_seconds:8.0f} ms   step {run.step_ms():8.1f} ms (median)")
    print(f"loss {first:.4f} -> {mine:.4f}; the two never more than {worst:.1e} apart (allowed {TOLERANCE:.0e})")
    if not mine < first - 0.5:
        sys.exit("the model did not learn")


if __name__ == "__main__":
    main()
