#!/usr/bin/env python3
"""A loop with pauses of known length: every Nth step a finalizer sleeps inside a collection.

Each step begins with a call of the C library (--marker, by default srand48, which seeds its generator):
trace with --step libc.so.6:srand48. What was injected is in the truth as "inject", and summed at the end.
"""

import argparse
import ctypes
import gc
import random
import time

from truth import Truth, add_options


class Handle:
    """Half of a reference cycle whose finalizer takes a while, like that of a file on a slow disk."""

    def __init__(self, seconds, truth):
        self.seconds, self.truth = seconds, truth
        self.peer = None

    def __del__(self):
        if self.seconds:
            with self.truth.phase("inject"):
                time.sleep(self.seconds)


def lose_cycle(seconds, truth):
    one, other = Handle(seconds, truth), Handle(0, truth)
    one.peer, other.peer = other, one


def fill_youngest():
    """As many new containers as it takes for an automatic collection."""
    return [[] for _ in range(gc.get_threshold()[0] + 500)]


def compute(numbers, seconds):
    """Work of a fixed length, whatever the machine does meanwhile."""
    end = time.monotonic() + seconds
    total = 0.0
    while time.monotonic() < end:
        total += sum(numbers)
    return total


def step(number, given, truth, mark, numbers):
    mark(number)
    compute(numbers, given.work / 2e3)
    if number % given.every == given.every // 2:
        lose_cycle(given.sleep / 1e3, truth)
        if given.manual:
            gc.collect()
        else:
            fill_youngest()
    compute(numbers, given.work / 2e3)


def main():
    options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 503)
    options.add_argument("--every", type=int, default=7, help="steps between two pauses (7)")
    options.add_argument("--sleep", type=float, default=20, help="ms that a pause lasts (20)")
    options.add_argument("--work", type=float, default=5, help="ms of work in a step (5)")
    options.add_argument("--manual", action="store_true", help="by gc.collect(), not automatic")
    options.add_argument("--marker", default="srand48", help="function of libc to call (srand48)")
    given = options.parse_args()
    chance = random.Random(given.seed)
    numbers = [chance.random() for _ in range(1000)]
    mark = getattr(ctypes.CDLL("libc.so.6"), given.marker)
    gc.collect()
    gc.freeze()
    with Truth(given) as truth:
        for number in range(given.steps):
            with truth.step():
                step(number, given, truth, mark, numbers)
    times = truth.phases.get("inject", [])
    print("injected %.3f ms in %d pauses" % (
        sum(b - a for a, b in zip(times[::2], times[1::2])) / 1e6, len(times) // 2))


if __name__ == "__main__":
    main()
