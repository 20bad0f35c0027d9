#!/usr/bin/env python3
"""How well gctrace states what pauses cost, over simulated loops: a line for each loop.

usage: GCTRACE=build/gctrace tests/truth/score.py [-n SEEDS] [-j JOBS] [--work | --no-work] [NAME...]

NAME: a part of a loop's name. Figures are per cent of the time stopped: the truth; in how many of the seeds
the cost was told; of those, bias with its standard error, spread, mean width of the interval, and in how many
the truth lay in it.
"""

import argparse
import concurrent.futures
import os
import statistics
import sys
import tempfile
from collections import namedtuple

import gct
from loop import covered, play
from loops import LOOPS

# Shares of the time stopped; cost, low and high None: cannot be told. whole: every pause was charged.
Outcome = namedtuple("Outcome", "truth source cost low high whole")


def judge(name, seed, work, folder=None):
    """One run of a loop through gctrace. Of several ranks one is judged, each seed another."""
    loop = LOOPS[name]
    ranks = play(loop, "%s/%d" % (name, seed))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = os.path.join(place, "run.gct")
        gct.write(path, ranks, work)
        tracks = gct.tracks(path)
    number = seed % loop.ranks
    rank, track = ranks[number], tracks[number]
    stopped = rank.stopped_by_any
    told = [track["cost_ns"], track["cost_low_ns"], track["cost_high_ns"]]
    cost, low, high = [None if ns is None else ns / stopped for ns in told]
    # Without a barrier nobody else can hold it up; with one, what others add is for gctrace to find out.
    whole = track["overlap_ns"] >= rank.stopped if loop.ranks > 1 else track["overlap_ns"] == stopped
    source = track.get("cost_source") or ("untold" if cost is None else "estimated")
    return Outcome(rank.lost / stopped, source, cost, low, high, whole)


class Score:
    """Of one loop, over seeds."""

    def __init__(self, outcomes):
        self.seeds = len(outcomes)
        self.truth = statistics.mean(o.truth for o in outcomes)
        self.whole = all(o.whole for o in outcomes)
        told = [o for o in outcomes if o.cost is not None]
        self.told = len(told)
        self.covered = sum(o.low <= o.truth <= o.high for o in told)
        self.sources = sorted({o.source for o in outcomes})
        if told:
            errors = [o.cost - o.truth for o in told]
            self.bias = statistics.mean(errors)
            self.spread = statistics.stdev(errors) if self.told > 1 else 0.0
            self.width = statistics.mean(o.high - o.low for o in told)

    @property
    def error(self):
        """Standard error of the bias."""
        return self.spread / self.told**0.5


def line(name, score):
    out = "%-42s %6.1f %4d" % (name, 100 * score.truth, score.told)
    if score.told:
        out += " %7.1f ± %4.1f %6.1f %6.1f %5.0f %%" % (
            100 * score.bias, 100 * score.error, 100 * score.spread, 100 * score.width,
            100 * score.covered / score.told)
    else:
        out += " " * 38
    return out + "  " + ", ".join(score.sources) + ("" if score.whole else "  NOT ALL PAUSES CHARGED")


def run(pool, names, seeds, work):
    """Yields (name, Score)."""
    waiting = {name: [pool.submit(judge, name, seed, work) for seed in range(seeds)] for name in names}
    for name in names:
        yield name, Score([future.result() for future in waiting[name]])


def main():
    options = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__.split("\n")[0])
    options.add_argument("-n", "--seeds", type=int, default=100)
    options.add_argument("-j", "--jobs", type=int, default=1)
    options.add_argument("--work", action="store_true", help="only with the CPU time at each mark")
    options.add_argument("--no-work", action="store_true", help="only without")
    options.add_argument("names", nargs="*", metavar="NAME")
    given = options.parse_args()
    if not os.access(os.environ.get("GCTRACE", ""), os.X_OK):
        sys.exit("GCTRACE must name the gctrace binary to test")
    names = [n for n in LOOPS if not given.names or any(part in n for part in given.names)]
    knows = gct.knows_work()
    with concurrent.futures.ProcessPoolExecutor(given.jobs) as pool:
        for work in (False, True):
            if given.no_work if work else given.work:
                continue
            if work and not knows:
                print("\nwith work: this gctrace does not record it")
                continue
            print("\n%-42s %6s %4s %14s %6s %6s %7s  source" % (
                "with work" if work else "steps alone", "truth", "told", "bias", "spread", "width", "covered"))
            for name, score in run(pool, names, given.seeds, work):
                print(line(name, score), flush=True)


if __name__ == "__main__":
    main()
