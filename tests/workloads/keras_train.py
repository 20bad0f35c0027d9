#!/usr/bin/env python3
"""Trains a small network by Keras's own loop, model.fit() on JAX, with an evaluation after each epoch.

No line of this program is run once a step but the callback that keeps the truth.
"""

import argparse
import gc
import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy

from truth import Truth, add_options

BATCH = 16
COLLECT = 13


class Notes(keras.callbacks.Callback):
    """The times of batches and evaluations, as Keras calls it around them."""

    def __init__(self, truth):
        super().__init__()
        self.truth = truth
        self.done = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.inside = self.truth.step()
        self.inside.__enter__()

    def on_train_batch_end(self, batch, logs=None):
        self.done += 1
        if self.done % COLLECT == 0:
            gc.collect()
        self.inside.__exit__(None, None, None)

    def on_test_begin(self, logs=None):
        self.outside = self.truth.phase("evaluation")
        self.outside.__enter__()

    def on_test_end(self, logs=None):
        self.outside.__exit__(None, None, None)


def data(batches, chance):
    inputs = chance.random((batches * BATCH, 32), dtype="float32")
    return inputs, inputs.sum(axis=1, keepdims=True)


def main():
    parser = add_options(argparse.ArgumentParser(description=__doc__), 59)
    parser.add_argument("--epochs", type=int, default=3, help="of so many steps each (3)")
    given = parser.parse_args()
    chance = numpy.random.default_rng(given.seed)
    model = keras.Sequential(
        [keras.Input((32,)), keras.layers.Dense(256, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    inputs, wanted = data(given.steps, chance)
    held = data(97, chance)
    with Truth(given) as truth:
        model.fit(
            inputs, wanted, batch_size=BATCH, epochs=given.epochs, verbose=0, callbacks=[Notes(truth)],
            validation_data=held, validation_batch_size=BATCH)
        truth.note("keras", version=keras.__version__)


if __name__ == "__main__":
    main()
