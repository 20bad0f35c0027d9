"""What gctrace says that collections cost, against the clock (tests/workloads/interleaved.py).

In: a Bench, a program whose blocks of steps collect or not. Out: a Run for each run: its truth by the clock, how far chance
may have moved that, and gctrace's answer from a recording of the blocks that collect alone.

The truth is what these blocks took more than those that are alike but do not collect, and ran just before or after them. All
are in one recording, out of which the latter are taken before gctrace reads it (held_out.py): otherwise it would be
given, as steps far from pauses, those that the truth was made of, and would be right whenever chance made both wrong.
"""

import json
import subprocess

import held_out
from harness import SOURCE, report

WORKLOADS = SOURCE / "tests/workloads"
SYSTEM = "/usr/bin/python3"
START_S = 60
RUN_S = 60
# What begins a step: an option of record, the label of its marks, and how many of them a step comes behind its own.
MARKED = ("--step", "libc.so.6:srand48"), None, 0
TORCH = (), "Optimizer.step#SGD.step", 1

# Name → program with arguments, what begins its steps. All want Debian's python3-torch but the first three.
LOOPS = {
    "queue of 0": (("queued.py", "--depth", 0, "--work", 0.5), MARKED),
    "queue of 2": (("queued.py", "--depth", 2), MARKED),
    "queue of 4": (("queued.py", "--depth", 4), MARKED),
    "loader, prefetch 2": (("torch_prefetch.py", "--prefetch", 2), TORCH),
    "loader, prefetch 4": (("torch_prefetch.py", "--prefetch", 4), TORCH),
    "2 ranks": (("torch_ranks.py", "--ranks", 2, "--pause", 50), TORCH),
    "4 ranks": (("torch_ranks.py", "--ranks", 4, "--pause", 50), TORCH),
}


class Run:
    """One run, of one rank. All figures are ns; cost, low and high None: cannot be told."""

    def __init__(self, track, stopped, blocks, collections):
        self.stopped = stopped
        self.cost, self.low, self.high = (track[k] for k in ("cost_ns", "cost_low_ns", "cost_high_ns"))
        self.source = track.get("cost_source") or "estimated"
        self.pauses, self.collections = track["pauses"], collections
        self.truth, self.error = truth_of(blocks)

    def __str__(self):
        said = "nothing"
        if self.told:
            said = "%.2f ms (%.2f to %.2f)" % tuple(ns / 1e6 for ns in (self.cost, self.low, self.high))
        return "stopped %.2f ms, lost %.2f ± %.2f; said: %s, %s" % (
            self.stopped / 1e6, self.truth / 1e6, self.error / 1e6, said, self.source)

    @property
    def told(self):
        return self.cost is not None

    def covered(self, errors=0):
        """Whether the truth is in the interval; with `errors`, or so many of its standard errors beside it."""
        slack = errors * self.error
        return self.low - slack <= self.truth <= self.high + slack


def truth_of(blocks):
    """What the blocks that collect took more than those of their group that do not, and the standard error of that.
    @blocks: (ns, whether it collects), three in a group."""
    truth, differ = 0, 0
    for group in zip(*[iter(blocks)] * 3):
        (with_them,) = [ns for ns, collects in group if collects]
        a, b = [ns for ns, collects in group if not collects]
        truth += with_them - (a + b) / 2
        differ += (a - b) ** 2
    # of one block the variance is half of that, and what is compared is one with the mean of two
    return truth, (differ / 2 * 1.5) ** 0.5


class Program:
    """A program that waits to be told to run."""

    def __init__(self, bench, argv, begin):
        self.bench = bench
        self.options, self.label, self.behind = begin
        # not to be kept waiting by what else runs on this machine
        argv = ["chrt", "-f", "1", SYSTEM, WORKLOADS / argv[0], *argv[1:]]
        self.process = bench.process(argv)
        ready = self.process.out.next(START_S)
        assert ready and ready.startswith("READY"), self.process.err.text()
        self.pids = [int(word) for word in ready.split()[1:]]

    def run(self, seed):
        """Runs once under a tracer of its own; returns a Run for each rank."""
        file = self.bench.scratch / ("run-%d.gct" % seed)
        targets = [word for pid in self.pids for word in ("-p", pid)]
        tracer = self.bench.tracer("record", *targets, "-o", file, *self.options)
        self.process.send("%d" % seed)
        said = self.process.out.next(RUN_S)
        assert said, self.process.err.text()
        said = json.loads(said)
        assert tracer.interrupt() == 0, tracer.err.text()
        kept = [(first - self.behind, first + steps - self.behind)
                for first, steps, collects in said["blocks"] if collects]
        held_out.keep(file, self.pids, self.label, kept, said["steps"])
        found = {track["pid"]: track for track in report(file).summary["tracks"]}
        file.unlink()
        stopped = sum(track["pause_ns"] for track in found.values())  # one rank at a time
        collects = [block[2] for block in said["blocks"]]
        for pid, ns, made in zip(self.pids, said["ns"], said["collections"]):
            took = [end - begin for begin, end in zip(ns, ns[1:])]
            yield Run(found[pid], stopped, list(zip(took, collects)), made)

    def end(self):
        self.process.popen.stdin.close()
        assert self.process.wait() == 0, self.process.err.text()


def measure(bench, name, runs, *more):
    """So many runs: a list of a Run for each rank of each. more: arguments."""
    argv, begin = LOOPS[name]
    program = Program(bench, [*argv, *more], begin)
    found = [run for seed in range(1, runs + 1) for run in program.run(seed)]
    program.end()
    return found


def bias(runs):
    """By how much more the runs are said to have lost than they did, and its standard error, of the time stopped."""
    stopped = sum(run.stopped for run in runs)
    variance = sum(((run.high - run.low) / (2 * 1.96)) ** 2 + run.error**2 for run in runs)
    return sum(run.cost - run.truth for run in runs) / stopped, variance**0.5 / stopped


def has_torch():
    done = subprocess.run([SYSTEM, "-c", "import torch"], stderr=subprocess.DEVNULL)
    return done.returncode == 0
