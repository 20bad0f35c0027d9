#!/usr/bin/env python3
"""How well gctrace states what pauses cost, over simulated loops: a line for each loop.

usage: GCTRACE=build/gctrace tests/truth/score.py [-n SEEDS] [-j JOBS] [--work | --no-work] [--later | --drawn N] [NAME...]

NAME: a part of a loop's name. --later: the loops that were written after the estimators; --drawn: N loops that are drawn,
each with one seed, and a line for all of them. Figures are per cent of the time stopped: the truth; in how many of the seeds
the cost was told; of those, bias with its standard error, spread, mean width of the interval, and in how many
the truth lay in it.
"""

import argparse
import concurrent.futures
import functools
import os
import statistics
import sys
import tempfile
from collections import namedtuple

import gct
from drawn import drawn
from loop import covered, play
from loops import BALANCE, LATER, LOOPS

# Shares of the time stopped; cost, low and high None: cannot be told. whole: every pause was charged.
Outcome = namedtuple("Outcome", "truth source cost low high whole")


def loop_of(name):
    """name: of a loop, or the number of a drawn one."""
    return drawn(name) if isinstance(name, int) else {**LOOPS, **LATER, **BALANCE}[name]


@functools.lru_cache(maxsize=128)
def ranks_of(name, seed):
    """One run of a loop, not to be changed: the seeds of a loop are judged with work and without."""
    return play(loop_of(name), "%s/%d" % (name, seed))


def judge(name, seed, work, folder=None):
    """One run of a loop through gctrace. Of several ranks one is judged, each seed another."""
    loop, ranks = loop_of(name), ranks_of(name, seed)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = os.path.join(place, "run.gct")
        gct.write(path, ranks, work)
        tracks = gct.tracks(path)
    number = seed % loop.ranks
    rank, track = ranks[number], tracks[number]
    stopped = rank.stopped_by_any
    if not stopped:  # a drawn loop whose pauses would have come after its end
        return None
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
            self.spread = statistics.stdev(errors) if self.told > 1 else float("inf")  # one does not show it
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


def of_drawn(numbers, work, judging=map, folder=None):
    """The outcomes of drawn loops, by number; of those in which nothing was stopped, none."""
    found = judging(functools.partial(judge, seed=0, work=work, folder=folder), numbers)
    return {number: outcome for number, outcome in zip(numbers, found) if outcome}


def print_drawn(pool, count, work, each):
    found = of_drawn(range(count), work, functools.partial(pool.map, chunksize=4))
    print(line("%d drawn loops" % len(found), Score(list(found.values()))), flush=True)
    for number, outcome in found.items() if each else ():
        print("%42d %s" % (number, outcome))


def main():
    options = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:], description=__doc__.split("\n")[0])
    options.add_argument("-n", "--seeds", type=int, default=100)
    options.add_argument("-j", "--jobs", type=int, default=1)
    options.add_argument("--work", action="store_true", help="only with the CPU time at each mark")
    options.add_argument("--no-work", action="store_true", help="only without")
    options.add_argument("--later", action="store_true")
    options.add_argument("--drawn", type=int, default=0, metavar="N")
    options.add_argument("--each", action="store_true", help="a line for each drawn loop")
    options.add_argument("names", nargs="*", metavar="NAME")
    given = options.parse_args()
    if not os.access(os.environ.get("GCTRACE", ""), os.X_OK):
        sys.exit("GCTRACE must name the gctrace binary to test")
    loops = {**LATER, **BALANCE} if given.later else LOOPS
    names = [n for n in loops if not given.names or any(part in n for part in given.names)]
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
            if given.drawn:
                print_drawn(pool, given.drawn, work, given.each)
                continue
            for name, score in run(pool, names, given.seeds, work):
                print(line(name, score), flush=True)


if __name__ == "__main__":
    main()
