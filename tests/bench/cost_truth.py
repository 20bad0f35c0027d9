#!/usr/bin/env python3
"""What gctrace says that collections cost in real loops, against steps of the same runs that it was not shown.

usage: cost_truth.py GCTRACE [-r RUNS] [--each] [NAME...]

NAME: a part of a loop's name. In per cent of the time stopped: the truth, its standard error, what gctrace said; in how many
runs its interval held the truth, and in how many with two standard errors of the truth on either side. How the truth is
got, and what gctrace sees: tests/root/paired.py. Needs root; what runs beside it should do so at SCHED_IDLE.
"""

import argparse
import os
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "root"), str(HERE.parent / "workloads")]


def row(name, runs):
    told = [run for run in runs if run.told]
    share = lambda figures: 100 * statistics.mean(figures)
    out = "%-20s %4d %8.1f ± %4.1f" % (name, len(runs), share(r.truth / r.stopped for r in runs),
                                       share(r.error / r.stopped for r in runs))
    out += " %5d" % len(told)
    if told:
        out += " %8.1f %8.1f … %6.1f %6d %6d" % (
            *(share(getattr(r, what) / r.stopped for r in told) for what in ("cost", "low", "high")),
            sum(r.covered() for r in told), sum(r.covered(2) for r in told))
    return out + "  " + ", ".join(sorted({r.source for r in runs}))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("gctrace")
    options.add_argument("-r", "--runs", type=int, default=40)
    options.add_argument("--each", action="store_true", help="print each run, too")
    options.add_argument("names", nargs="*", metavar="NAME")
    given = options.parse_intermixed_args()
    os.environ["GCTRACE"] = os.path.abspath(given.gctrace)

    import paired
    from run_all import Folder

    print("%-20s %4s %15s %5s %8s %17s %6s %6s" % (
        "", "runs", "truth", "told", "said", "interval", "in it", "near"))
    for name in paired.LOOPS:
        if given.names and not any(part in name for part in given.names):
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = Folder(pathlib.Path(place))
            try:
                runs = paired.measure(folder, name, given.runs)
            finally:
                folder.close()
        print(row(name, runs), flush=True)
        for run in runs if given.each else ():
            print("  %s" % run)


if __name__ == "__main__":
    main()
