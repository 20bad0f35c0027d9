"""The same work again and again, with full collections or without, as told on stdin: what they cost shows in the times.

In: "on SEED" or "off SEED" a line. Out: "READY PID...", then a JSON object for each run: ns that it took and
collections that it made, of each rank. Automatic collections are off; what a run collects is the heap made here,
of `pause` ms, every `every` steps or so, in steps that SEED chooses.
"""

import gc
import json
import os
import random
import sys
import time


def add_options(parser, steps, pause):
    parser.add_argument("--steps", type=int, default=steps, help="of a run (%d)" % steps)
    parser.add_argument("--every", type=int, default=20, help="steps between collections (20)")
    parser.add_argument("--pause", type=float, default=pause, help="ms of a collection (%g)" % pause)
    parser.add_argument("--seed", type=int, default=23, help="of what all runs have alike (23)")
    return parser


class Heap:
    """So many live containers that a full collection takes `ms`."""

    def __init__(self, ms):
        gc.disable()
        self.kept = [[i] for i in range(100_000)]
        while self._collect() < ms:
            self.kept += [[i] for i in range(20_000)]

    @staticmethod
    def _collect():
        taken = []
        for _ in range(3):
            begin = time.monotonic()
            gc.collect()
            taken.append((time.monotonic() - begin) * 1e3)
        return min(taken)


class Work:
    """A fixed number of turns of a loop, as many as take `ms` here and now."""

    def __init__(self, ms):
        self.numbers = [float(i) for i in range(50)]
        self.turns, took = 1, 0.0
        while took < 50e-3:
            self.turns *= 2
            begin = time.monotonic()
            self(1.0)
            took = time.monotonic() - begin
        self.turns = self.turns * ms / (took * 1e3)

    def __call__(self, share):
        total = 0.0
        for _ in range(int(self.turns * share)):
            total += sum(self.numbers)
        return total


def plan(given, seed, head=3, tail=20):
    """The steps that collect, and after which share of their work; none where the cost might not show."""
    chance = random.Random(seed)
    chosen, at = {}, head + chance.random() * given.every
    while at < given.steps - tail:
        chosen[int(at)] = chance.random()
        at += chance.uniform(0.5, 1.5) * given.every
    return chosen


def collections():
    return sum(stat["collections"] for stat in gc.get_stats())


def orders():
    """Yields (whether to collect, seed)."""
    for line in sys.stdin:
        word, seed = line.split()
        yield word == "on", int(seed)


def say(**facts):
    os.write(1, (json.dumps(facts) + "\n").encode())


def serve(given, run):
    """run({step: share of its work}) returns ns."""
    os.write(1, b"READY %d\n" % os.getpid())
    for collecting, seed in orders():
        before = collections()
        took = run(plan(given, seed) if collecting else {})
        say(ns=[took], collections=[collections() - before])
