"""A loop in which blocks of steps collect and blocks that do not take turns, so that what collections cost shows in the times.

In: a seed a line. Out: "READY PID...", then a JSON object for each run: "steps" that it made; "blocks", a list of [first step,
steps, whether it collects]; and of each rank "ns", the clock (CLOCK_MONOTONIC) as each block began and as the last one ended, and
"collections". Blocks come in groups of three that are alike, to the last draw, but that one of them, by chance, makes one full
collection, of a heap of `pause` ms. So whatever makes the machine slow or fast for longer than a group is the same with
collections and without, and how far two blocks without differ says what chance does. After a collection the block has
some steps left in which the loop catches up, and what it does next is as if nothing had been. Automatic collections are off.
"""

import collections
import gc
import json
import os
import random
import sys
import time

FIRST, LAST = 10, 3  # steps before the first block and behind the last one
CATCH_UP = 8  # steps of a block behind the one that collects


def add_options(parser, pause):
    parser.add_argument("--groups", type=int, default=12, help="of blocks in a run: as many collections (12)")
    parser.add_argument("--every", type=int, default=20, help="steps of a block, with half of that more or less (20)")
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


# draw: which of the run's draws it takes; share: of its work before it collects, 1: it does not
Step = collections.namedtuple("Step", "draw share")


class Plan:
    """The steps of a run. @rank: with so many `ranks` it makes one collection in so many."""

    def __init__(self, given, seed, rank=0, ranks=1):
        chance = random.Random(seed)
        self.steps = [Step(i, 1) for i in range(FIRST)]
        self.blocks = []  # (first step, steps, whether it collects)
        for group in range(given.groups):
            length = chance.randint(given.every // 2, given.every * 3 // 2)
            at, share = chance.randrange(1, length - CATCH_UP), chance.random()
            collecting = chance.randrange(3)
            for block in range(3):
                self.blocks.append((len(self.steps), length, block == collecting))
                mine = block == collecting and group % ranks == rank
                self.steps += [Step(group * 2 * given.every + i, share if mine and i == at else 1) for i in range(length)]
        self.end = len(self.steps)
        self.steps += [Step(i, 1) for i in range(LAST)]
        self.begins = {first for first, _, _ in self.blocks} | {self.end}


def draws(given, spread, rank=""):
    """What a step's draw stands for, of mean 1."""
    chance = random.Random("%d/%s" % (given.seed, rank))
    return [chance.uniform(1 - spread, 1 + spread) for _ in range(given.groups * 2 * given.every)]


def run_steps(plan, step):
    """step(draw, share) for each; returns ns at which blocks began and the last one ended."""
    times = []
    for number, (draw, share) in enumerate(plan.steps):
        if number in plan.begins:
            times.append(time.monotonic_ns())
        step(draw, share)
    return times


def made():
    return sum(stat["collections"] for stat in gc.get_stats())


def seeds():
    for line in sys.stdin:
        yield int(line)


def say(plan, ns, made_by):
    facts = {"steps": len(plan.steps), "blocks": plan.blocks, "ns": ns, "collections": made_by}
    os.write(1, (json.dumps(facts) + "\n").encode())


def serve(given, run):
    """run(plan) returns ns, as run_steps() does."""
    os.write(1, b"READY %d\n" % os.getpid())
    for seed in seeds():
        plan, before = Plan(given, seed), made()
        ns = run(plan)
        say(plan, [ns], [made() - before])
