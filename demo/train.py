#!/usr/bin/env python3
"""Trains a small network to predict how a pendulum moves, from a replay buffer of simulated motion.

An ordinary training loop in plain Python, with an ordinary problem: its steps stutter. Every few
hundred milliseconds one step takes many times as long as its neighbours, and nothing in this file
says why. scripts/demo traces it with gctrace to find out.
"""

import argparse
import gc
import random
import statistics
import time
from math import cos, pi, sin

from autograd import Node, backward, mean, weighted_sum

TICK_S = 0.05
TICKS = 5  # that the motor keeps its torque
BATCH = 16
HIDDEN = 20


class Transition:
    """One push and what came of it: the network's input and the answer it should give."""

    __slots__ = ("observed", "change")

    def __init__(self, observed, change):
        self.observed = observed
        self.change = change


class Pendulum:
    """A rod under gravity, pushed by a motor at random."""

    def __init__(self, chance):
        self.chance = chance
        self.angle = chance.uniform(-pi, pi)
        self.speed = 0.0

    def push(self):
        torque = self.chance.uniform(-4.0, 4.0)
        angle, speed = self.angle, self.speed
        for _ in range(TICKS):
            self.speed += TICK_S * (9.0 * sin(self.angle) + 3.0 * torque - 0.2 * self.speed)
            self.angle += TICK_S * self.speed
        return Transition([cos(angle), sin(angle), speed / 8.0, torque / 4.0],
                          [(self.speed - speed) / 4.0, self.angle - angle])


class Layer:
    def __init__(self, inputs, outputs, chance):
        reach = 1.0 / inputs ** 0.5
        self.weights = [[Node(chance.uniform(-reach, reach)) for _ in range(inputs)]
                        for _ in range(outputs)]
        self.biases = [Node(0.0) for _ in range(outputs)]

    def __call__(self, inputs):
        return [weighted_sum(weights, inputs, bias)
                for weights, bias in zip(self.weights, self.biases)]

    def parameters(self):
        return [node for row in self.weights for node in row] + self.biases


class Network:
    def __init__(self, sizes, chance):
        self.layers = [Layer(a, b, chance) for a, b in zip(sizes, sizes[1:])]

    def predict(self, observed):
        values = [Node(number) for number in observed]
        for layer in self.layers[:-1]:
            values = [value.squashed() for value in layer(values)]
        return self.layers[-1](values)

    def parameters(self):
        return [node for layer in self.layers for node in layer.parameters()]


class Trainer:
    def __init__(self, transitions, chance):
        self.chance = chance
        self.pendulum = Pendulum(chance)
        self.replay = [self.pendulum.push() for _ in range(transitions)]
        self.oldest = 0
        self.network = Network([4, HIDDEN, HIDDEN, 2], chance)
        self.parameters = self.network.parameters()
        self.momentum = [0.0] * len(self.parameters)

    def loss(self, batch):
        distances = []
        for transition in batch:
            for guess, answer in zip(self.network.predict(transition.observed), transition.change):
                distances.append(guess.squared_distance(answer))
        return mean(distances)

    def descend(self, rate=0.02):
        for i, node in enumerate(self.parameters):
            self.momentum[i] = 0.9 * self.momentum[i] + node.gradient
            node.value -= rate * self.momentum[i]
            node.gradient = 0.0

    def step(self):
        self.replay[self.oldest] = self.pendulum.push()
        self.oldest = (self.oldest + 1) % len(self.replay)
        loss = self.loss(self.chance.choices(self.replay, k=BATCH))
        backward(loss)
        self.descend()
        return loss.value


def train(trainer, seconds):
    """Steps until the time is over; twice a second says how it goes."""
    started = reported = time.monotonic()
    losses, durations, number = [], [], 0
    while (now := time.monotonic()) - started < seconds:
        losses.append(trainer.step())
        durations.append(time.monotonic() - now)
        number += 1
        if now - reported >= 0.5:
            print(f"step {number:5}   loss {statistics.fmean(losses):7.4f}   "
                  f"typical step {statistics.median(durations) * 1e3:6.1f} ms   "
                  f"slowest {max(durations) * 1e3:6.1f} ms", flush=True)
            losses, durations, reported = [], [], now


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=15, help="train for this long (15)")
    options.add_argument("--transitions", type=int, default=300_000,
                         help="simulated before, and kept for replay (300000)")
    options.add_argument("--freeze", action="store_true",
                         help="tell the collector to leave the replay buffer alone: gc.freeze()")
    given = options.parse_args()
    print(f"simulating {given.transitions} pushes of a pendulum", flush=True)
    trainer = Trainer(given.transitions, random.Random(23))
    if given.freeze:
        gc.freeze()
    train(trainer, given.seconds)


if __name__ == "__main__":
    main()
