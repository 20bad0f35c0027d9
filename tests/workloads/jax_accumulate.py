#!/usr/bin/env python3
"""Trains a network in plain JAX with several compiled functions a step, and more of them midway.

A step normalises its micro-batches and takes their gradients, one jitted call each, adds them up and
updates the weights. From the middle on there are twice as many; then the batch changes, which compiles
everything anew. Evaluation calls another jitted function in between.
"""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

from truth import Truth, add_options

SIZES = (64, 128, 128, 10)


def init(key):
    layers = []
    for before, after in zip(SIZES, SIZES[1:]):
        key, used = jax.random.split(key)
        weights = jax.random.normal(used, (before, after)) * (2 / before) ** 0.5
        layers.append({"weights": weights, "bias": jnp.zeros(after)})
    return layers


def predict(layers, x):
    for layer in layers[:-1]:
        x = jax.nn.relu(x @ layer["weights"] + layer["bias"])
    return x @ layers[-1]["weights"] + layers[-1]["bias"]


def loss_of(layers, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(predict(layers, x), y).mean()


@jax.jit
def normalise(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-5)


@jax.jit
def gradients(layers, x, y):
    return jax.value_and_grad(loss_of)(layers, x, y)


@jax.jit
def add(one, other):
    return jax.tree_util.tree_map(jnp.add, one, other)


@jax.jit
def accuracy(layers, x, y):
    return (predict(layers, x).argmax(-1) == y).mean()


OPTIMIZER = optax.adam(1e-3)


@jax.jit
def update(layers, state, grads):
    changes, state = OPTIMIZER.update(grads, state, layers)
    return optax.apply_updates(layers, changes), state


class Batches:
    """Points around ten centres."""

    def __init__(self, seed):
        self.chance = np.random.default_rng(seed)
        self.centres = self.chance.normal(size=(SIZES[-1], SIZES[0]))

    def next(self, size):
        y = self.chance.integers(SIZES[-1], size=size)
        x = self.centres[y] + self.chance.normal(size=(size, SIZES[0])) * 2
        return x.astype(np.float32), y


def step(layers, state, batches, accumulate, size):
    total, loss = None, 0.0
    for _ in range(accumulate):
        x, y = batches.next(size)
        value, grads = gradients(layers, normalise(x), y)
        total = grads if total is None else add(total, grads)
        loss += float(value)
    layers, state = update(layers, state, total)
    return layers, state, loss / accumulate


def train(given, truth, batches):
    layers = init(jax.random.PRNGKey(given.seed))
    state = OPTIMIZER.init(layers)
    accumulate, size, losses = given.accumulate, given.batch, []
    for number in range(given.steps):
        if number == given.steps // 2:
            accumulate *= 2
            truth.note("accumulate", marks=accumulate, step=number)
        if number == given.steps * 3 // 4:
            size *= 2
            truth.note("batch", size=size, step=number)
        with truth.step():
            layers, state, loss = step(layers, state, batches, accumulate, size)
            losses.append(loss)
        if given.evaluate and number % given.evaluate == given.evaluate - 1:
            with truth.phase("evaluation"):
                for _ in range(61):
                    x, y = batches.next(256)
                    accuracy(layers, normalise(x), y).block_until_ready()
    return losses


def main():
    options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 600)
    options.add_argument("--batch", type=int, default=64)
    options.add_argument("--accumulate", type=int, default=2, help="batches a step at first (2)")
    options.add_argument("--evaluate", type=int, default=53, help="steps between evaluations (53)")
    given = options.parse_args()
    batches = Batches(given.seed)
    with Truth(given) as truth:
        losses = train(given, truth, batches)
    print("loss %.3f at first, %.3f at the end" % (losses[0], losses[-1]))


if __name__ == "__main__":
    main()
