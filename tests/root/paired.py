"""What gctrace says that collections cost, against the times of the same work without them (tests/workloads/interleaved.py).

In: a Bench, a program that serves runs. Out: a Run for each run with collections: its truth by the clock, how far chance
may have moved that, and gctrace's answer from a recording of this run alone.
"""

import json
import statistics
import subprocess

from harness import SOURCE, report

WORKLOADS = SOURCE / "tests/workloads"
SYSTEM = "/usr/bin/python3"
START_S = 60
RUN_S = 30
MARKED = ("--step", "libc.so.6:srand48")

# Name → program with arguments, options of record. All want Debian's python3-torch but the first three.
LOOPS = {
    "queue of 0": (("queued.py", "--depth", 0, "--work", 0.5), MARKED),
    "queue of 2": (("queued.py", "--depth", 2), MARKED),
    "queue of 4": (("queued.py", "--depth", 4), MARKED),
    "loader, prefetch 2": (("torch_prefetch.py", "--prefetch", 2), ()),
    "loader, prefetch 4": (("torch_prefetch.py", "--prefetch", 4), ()),
    "2 ranks": (("torch_ranks.py", "--ranks", 2, "--pause", 50), ()),
    "4 ranks": (("torch_ranks.py", "--ranks", 4, "--pause", 50), ()),
}


class Run:
    """One run with collections, of one rank. All figures are ns; cost, low and high None: cannot be told."""

    def __init__(self, track, stopped, took, without, collections):
        self.stopped = stopped
        self.cost, self.low, self.high = (track[k] for k in ("cost_ns", "cost_low_ns", "cost_high_ns"))
        self.source = track.get("cost_source") or "estimated"
        self.pauses, self.collections = track["pauses"], collections
        self.took, self.without = took, without
        self.error = None  # standard error of the truth

    def __str__(self):
        said = "nothing"
        if self.told:
            said = "%.2f ms (%.2f to %.2f)" % tuple(ns / 1e6 for ns in (self.cost, self.low, self.high))
        return "stopped %.2f ms, lost %.2f ± %.2f; said: %s, %s" % (
            self.stopped / 1e6, self.truth / 1e6, self.error / 1e6, said, self.source)

    @property
    def truth(self):
        return self.took - self.without

    @property
    def told(self):
        return self.cost is not None

    def covered(self, errors=0):
        """Whether the truth is in the interval; with `errors`, or so many of its standard errors beside it."""
        slack = errors * self.error
        return self.low - slack <= self.truth <= self.high + slack


class Program:
    """A program that waits to be told to run."""

    def __init__(self, bench, argv, options):
        self.bench, self.options = bench, options
        # not to be kept waiting by what else runs on this machine
        argv = ["chrt", "-f", "1", SYSTEM, WORKLOADS / argv[0], *argv[1:]]
        self.process = bench.process(argv)
        ready = self.process.out.next(START_S)
        assert ready and ready.startswith("READY"), self.process.err.text()
        self.pids = [int(word) for word in ready.split()[1:]]
        self.number = 0

    def run(self, collecting, seed):
        """Runs once under a tracer of its own; returns what the program said and the tracks by pid."""
        self.number += 1
        file = self.bench.scratch / ("run-%d.gct" % self.number)
        targets = [word for pid in self.pids for word in ("-p", pid)]
        tracer = self.bench.tracer("record", *targets, "-o", file, *self.options)
        self.process.send("%s %d" % ("on" if collecting else "off", seed))
        said = self.process.out.next(RUN_S)
        assert said, self.process.err.text()
        assert tracer.interrupt() == 0, tracer.err.text()
        tracks = {}
        if collecting:
            tracks = {track["pid"]: track for track in report(file).summary["tracks"]}
        file.unlink()
        return json.loads(said), tracks

    def end(self):
        self.process.popen.stdin.close()
        assert self.process.wait() == 0, self.process.err.text()


def measure(bench, name, runs, *more):
    """So many runs with collections, each between two without: a list of a Run for each rank of each. more: arguments."""
    argv, options = LOOPS[name]
    program = Program(bench, [*argv, *more], options)
    without = [program.run(False, 0)[0]]
    found = []
    for seed in range(1, runs + 1):
        on, tracks = program.run(True, seed)
        without.append(program.run(False, 0)[0])
        beside = [(a + b) / 2 for a, b in zip(without[-2]["ns"], without[-1]["ns"])]
        stopped = sum(track["pause_ns"] for track in tracks.values())  # one rank at a time
        for rank, pid in enumerate(program.pids):
            run = (tracks[pid], stopped, on["ns"][rank], beside[rank], on["collections"][rank])
            found.append(Run(*run))
    program.end()
    error = error_of([run["ns"][0] for run in without])
    for run in found:
        run.error = error
    return found


def error_of(times):
    """The standard error of the difference between one run and the mean of those before and after it,
    from how much runs that are alike differ from their neighbours."""
    steps = [b - a for a, b in zip(times, times[1:])]
    spread = statistics.fmean(d * d for d in steps) ** 0.5 / 2**0.5
    return spread * 1.5**0.5


def bias(runs):
    """By how much more the runs are said to have lost than they did, and its standard error, of the time stopped."""
    stopped = sum(run.stopped for run in runs)
    variance = sum(((run.high - run.low) / (2 * 1.96)) ** 2 + run.error**2 for run in runs)
    return sum(run.cost - run.truth for run in runs) / stopped, variance**0.5 / stopped


def has_torch():
    done = subprocess.run([SYSTEM, "-c", "import torch"], stderr=subprocess.DEVNULL)
    return done.returncode == 0
