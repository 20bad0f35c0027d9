#!/usr/bin/env python3
"""Trains a small transformer with Equinox on JAX, from a corpus and a stream of Python objects.

Most steps take a few milliseconds; now and then one takes many times that, when a collection of the
oldest generation walks every sentence and every module. --freeze, --threshold and --manual are the three
usual cures.
"""

import argparse
import gc
import random

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from truth import Truth, add_options

SYMBOLS = 32
LENGTH = 16


class Token:
    """A word of a sentence, with where it came from."""

    __slots__ = ("symbol", "span", "features")

    def __init__(self, symbol, start):
        self.symbol = symbol
        self.span = (start, start + 1)
        self.features = [symbol % 2, symbol % 3]


class Sentence:
    """Counts upwards in strides from a random start, which the model has to learn."""

    __slots__ = ("tokens", "meta")

    def __init__(self, number, chance):
        start, stride = chance.randrange(SYMBOLS), chance.randrange(1, 4)
        self.tokens = [Token((start + stride * i) % SYMBOLS, i) for i in range(LENGTH + 1)]
        self.meta = {"number": number, "tags": [start, stride]}

    def symbols(self):
        return [token.symbol for token in self.tokens]


class Corpus:
    """Permanent sentences, and a shuffle buffer that is filled from a stream, a shard at a time."""

    def __init__(self, kept, shard, seed):
        self.chance = random.Random(seed)
        self.made = 0
        self.shard = shard
        self.kept = [self.make() for _ in range(kept)]
        self.buffer = []

    def make(self):
        self.made += 1
        return Sentence(self.made, self.chance)

    def from_stream(self):
        if len(self.buffer) < self.shard:
            self.buffer.extend([self.make() for _ in range(self.shard)])
            self.chance.shuffle(self.buffer)
        return self.buffer.pop()

    def batch(self, size):
        """A quarter from the corpus, the rest from the stream."""
        chosen = self.chance.choices(self.kept, k=size // 4)
        while len(chosen) < size:
            chosen.append(self.from_stream())
        return jnp.array([sentence.symbols() for sentence in chosen])


class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm
    mlp: eqx.nn.MLP

    def __init__(self, width, key):
        key1, key2 = jax.random.split(key)
        self.attention = eqx.nn.MultiheadAttention(2, width, key=key1)
        self.norm1, self.norm2 = eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)
        self.mlp = eqx.nn.MLP(width, width, 4 * width, 1, key=key2)

    def __call__(self, x, mask):
        y = jax.vmap(self.norm1)(x)
        x = x + self.attention(y, y, y, mask)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norm2)(x))


class Transformer(eqx.Module):
    embed: eqx.nn.Embedding
    places: jax.Array
    blocks: list
    head: eqx.nn.Linear

    def __init__(self, width, layers, key):
        keys = jax.random.split(key, layers + 2)
        self.embed = eqx.nn.Embedding(SYMBOLS, width, key=keys[0])
        self.places = jnp.zeros((LENGTH, width))
        self.blocks = [Block(width, k) for k in keys[1:-1]]
        self.head = eqx.nn.Linear(width, SYMBOLS, key=keys[-1])

    def __call__(self, symbols):
        x = jax.vmap(self.embed)(symbols) + self.places
        mask = jnp.tril(jnp.ones((LENGTH, LENGTH), dtype=bool))
        for block in self.blocks:
            x = block(x, mask)
        return jax.vmap(self.head)(x)


def loss_of(model, batch):
    logits = jax.vmap(model)(batch[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch[:, 1:]).mean()


@eqx.filter_jit
def make_step(model, state, batch, optimizer):
    loss, grads = eqx.filter_value_and_grad(loss_of)(model, batch)
    updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), state, loss


@eqx.filter_jit
def evaluate(model, batch):
    return (jax.vmap(model)(batch[:, :-1]).argmax(-1) == batch[:, 1:]).mean()


class Trainer:
    def __init__(self, given, corpus):
        self.given, self.corpus = given, corpus
        self.model = Transformer(given.width, given.layers, jax.random.PRNGKey(given.seed))
        self.optimizer = optax.adam(1e-3)
        self.state = self.optimizer.init(eqx.filter(self.model, eqx.is_array))
        self.batch = given.batch
        self.losses = []

    def step(self):
        batch = self.corpus.batch(self.batch)
        self.model, self.state, loss = make_step(self.model, self.state, batch, self.optimizer)
        self.losses.append(float(loss))

    def evaluate(self, batches):
        right = [float(evaluate(self.model, self.corpus.batch(64))) for _ in range(batches)]
        return sum(right) / len(right)

    def train(self, truth):
        given = self.given
        for number in range(given.steps):
            if number == given.warmup and given.freeze:
                gc.collect()
                gc.freeze()
            if given.grow and number == given.steps // 2:
                self.batch *= 2
                truth.note("batch", size=self.batch, step=number)
            with truth.step():
                self.step()
                if given.manual and number % given.manual == given.manual - 1:
                    gc.collect()
            if given.evaluate and number % given.evaluate == given.evaluate - 1:
                with truth.phase("evaluation"):
                    self.evaluate(11)


def main():
    options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 600)
    options.add_argument("--batch", type=int, default=32)
    options.add_argument("--width", type=int, default=32)
    options.add_argument("--layers", type=int, default=2)
    options.add_argument("--corpus", type=int, default=3000, help="sentences kept (3000)")
    options.add_argument("--shard", type=int, default=256, help="sentences read at once (256)")
    options.add_argument("--evaluate", type=int, default=0, help="steps between evaluations")
    options.add_argument("--grow", action="store_true", help="double the batch midway")
    options.add_argument("--warmup", type=int, default=10, help="steps before a cure (10)")
    cure = options.add_mutually_exclusive_group()
    cure.add_argument("--freeze", action="store_true", help="gc.freeze() after the warm-up")
    cure.add_argument("--threshold", type=int, metavar="N", help="gc.set_threshold(N)")
    cure.add_argument("--manual", type=int, metavar="N", help="gc.collect() every N steps only")
    given = options.parse_args()
    corpus = Corpus(given.corpus, given.shard, given.seed)
    trainer = Trainer(given, corpus)
    if given.threshold:
        gc.set_threshold(given.threshold)
    if given.manual:
        gc.disable()
    with Truth(given) as truth:
        trainer.train(truth)
    print("loss %.3f at first, %.3f at the end; %.0f %% right" % (
        trainer.losses[0], trainer.losses[-1], 100 * trainer.evaluate(3)))


if __name__ == "__main__":
    main()
