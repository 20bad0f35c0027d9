#!/usr/bin/env python3
"""Trains DL4J's networks with each setting of its memory under gctrace, and tabulates what came of it.

In: $GCTRACE, what scripts/workloads installed as dl4j, root. Out: the recordings and the tables as Markdown
in the folder named; with --docs also in docs/workloads-jvm.md, between its marks. Takes about ten minutes; run
nothing beside it.
"""

import argparse
import bisect
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "root"))

import harness
import run_all
import training
from run_all import ms, percent, table

START_S = 60  # until ND4J has loaded its libraries
TRAIN_S = 150
MODELS = {"mlp": ("--steps", 4001), "lstm": ("--model", "lstm", "--steps", 307)}
WORKSPACES = ("on", "off")
MANAGER = "-Dmemorymanager=PeriodicManager"
CALL = "System.gc"  # the kind of the stalls that are calls of it

G1, PARALLEL, SERIAL = "-XX:+UseG1GC", "-XX:+UseParallelGC", "-XX:+UseSerialGC"
COLLECTORS = {"G1": G1, "Parallel": PARALLEL, "ZGC": "-XX:+UseZGC"}

# name → flags of the JVM, options of Train
SETTINGS = {
    "as it comes": ((), ()),
    "`setAutoGcWindow(500)`": ((), ("--window", 500)),
    "`setAutoGcWindow(5000)`": ((), ("--window", 5000)),
    "`togglePeriodicGc(false)`": ((), ("--periodic", "false")),
    "manager that calls, 500 ms": ((MANAGER,), ("--periodic", "true", "--window", 500)),
    "manager that calls, 5000 ms": ((MANAGER,), ("--periodic", "true", "--window", 5000)),
    "as it comes, again": ((), ()),
}


def folder():
    """Where scripts/workloads puts DL4J."""
    listed = [e for e in training.load_environments() if e.kind == "dl4j"]
    if not listed:
        return None, None
    home = subprocess.run(
        ["getent", "passwd", os.environ.get("SUDO_USER") or str(os.getuid())],
        stdout=subprocess.PIPE, check=True,
    ).stdout.decode().split(":")[5]
    cache = os.environ.get("GCTRACE_CACHE") or os.path.join(home, ".cache/gctrace")
    return listed[0], Path(cache) / "workloads/dl4j"


class Java(training.Training):
    """A recorded training of DL4J."""

    def __init__(self, file, truth, *options):
        super().__init__(file, truth, *options)
        with open(truth.path) as lines:
            self.tid = json.loads(next(lines))["tid"]  # of the thread that trains
        stalls = [s for s in self.records.of("stall") if s["pid"] == self.pid]
        self.calls = sorted(
            (s for s in stalls if s["kind"] == CALL), key=lambda s: s["start_ns"]
        )

    def in_books(self, begin_ns):
        """Whether it was between the two readings of the JVM's beans, as what in_training() returns."""
        books = self.truth.books
        return books["begin"]["after_ns"] <= begin_ns <= books["end"]["before_ns"]

    def true_calls(self):
        """The calls of System.gc() during the training, by the memory manager's own clock."""
        return [c for c in self.truth.phases.get("gc_call", []) if self.in_books(c[0])]

    def calls_in_training(self):
        return [c for c in self.calls if self.in_books(c["start_ns"])]

    def callers(self):
        """Who called it, as the report sums it up."""
        return [c for c in self.records.summary["explicit_gc"] or [] if c["pid"] == self.pid]

    def late_ns(self):
        """How long before the listener's call each step was marked, pauses between them apart."""
        ends = [end for _, end in self.truth.steps]
        spans = training.united((p["start_ns"], p["end_ns"]) for p in self.pauses)
        found = []
        for start in (s["start_ns"] for s in self.steps):
            after = bisect.bisect_left(ends, start)
            if after < len(ends):
                stopped = sum(training.shared((start, ends[after]), span) for span in spans)
                found.append(ends[after] - start - stopped)
        return sorted(found)


class Truth(training.Truth):
    """The truth and its location."""

    def __init__(self, path):
        super().__init__(path)
        self.path = path


def command(environment, place, flags, *args):
    return [
        environment.python, "-Xmx512m", *flags, "-Dorg.bytedeco.javacpp.cachedir=%s/javacpp" % place,
        "-cp", "%s/classes:%s/lib/*" % (place, place), "Train", *map(str, args),
    ]


def attach(bench, flags, *args, options=(), name="run", java=None):
    """Starts a training, attaches before its first step, and reports when it has ended."""
    environment, place = folder()
    file, truth = bench.scratch / (name + ".gct"), bench.scratch / (name + ".jsonl")
    argv = command(environment, place, flags, "--truth", truth, "--wait", "yes", *args)
    if java:
        argv[0] = java
    target = bench.process(argv, env={"OMP_NUM_THREADS": "1"})
    assert target.out.find(lambda line: line.startswith("READY"), START_S), target.err.text()
    tracer = bench.tracer("record", "-p", target.pid, "-o", file, *options)
    target.send("go")
    assert target.wait(TRAIN_S) == 0, target.err.text()
    tracer.finish()
    return Java(file, Truth(truth))


def difference(before, after):
    """What `gctrace diff` says about the mean step: its change with the interval."""
    done = harness.gctrace("diff", before.file, after.file, "--json")
    for item in map(json.loads, done.stdout.decode().splitlines()):
        if item["type"] == "comparison" and item["name"] == "step.mean" and item["low"] is not None:
            told = "%+.0f %% (%+.0f … %+.0f)" % tuple(100 * item[k] for k in ("change", "low", "high"))
            return told + ("" if item["low"] > 0 or item["high"] < 0 else ": none")
    return "-"


HEAD = ["", "Steps", "Exact", "Median step", "p99", "Worst", "Safepoints", "Of them full",
        "In safepoints", "Longest", "`System.gc()`", "Mean step against the first row (95 %)"]


def row(name, trained, first):
    exact, invented = trained.boundaries()
    track, seen = trained.track, trained.in_training()
    assert invented == 0, invented
    return [
        name,
        len(trained.truth.steps),
        percent(exact, len(trained.truth.steps)),
        ms(track["p50_ns"]),
        ms(track["p99_ns"]),
        ms(track["max_ns"]),
        len(seen),
        sum(p["full"] is True for p in seen),
        percent(track["overlap_ns"], track["time_ns"]),
        ms(max((p["duration_ns"] for p in seen), default=None)),
        "%d of %d" % (len(trained.calls_in_training()), len(trained.true_calls())),
        "" if trained is first else difference(first, trained),
    ]


def settings(runs, model, out):
    for workspaces in WORKSPACES:
        rows, first = [], None
        for name in SETTINGS:
            trained = runs.train(model, workspaces, name)
            first = first or trained
            rows.append(row(name, trained, first))
        out.write("\n%s, workspaces %s\n" % (model.upper(), workspaces))
        table(out, HEAD, rows)


def collectors(runs, out):
    """The manager that calls, under collectors that make something else of it."""
    rows, first = [], None
    for name, flag in COLLECTORS.items():
        trained = runs.train("mlp", "on", "manager that calls, 500 ms", flag)
        first = first or trained
        rows.append(row(name, trained, first))
    table(out, HEAD, rows)
    tell_callers(out, {
        name: runs.train("mlp", "on", "manager that calls, 500 ms", flag)
        for name, flag in COLLECTORS.items()
    })


CALLER_HEAD = ["", "Calls", "A collection came of", "Every", "Blocked (median)", "(longest)",
               "Safepoints of them", "In all", "Longest", "Freed"]


def caller_row(name, caller):
    return [
        name,
        caller["calls"],
        caller["collected"],
        ms(caller["period_ns"]),
        ms(caller["blocked_median_ns"]),
        ms(caller["blocked_max_ns"]),
        caller["pauses"],
        ms(caller["pause_ns"]),
        ms(caller["max_ns"]),
        "-" if caller["freed_bytes"] is None else "%.0f MiB" % (caller["freed_bytes"] / 2**20),
    ]


def place(frame):
    return "`%s` (%s:%s)" % (
        ".".join(frame["function"].split(".")[-2:]), frame["file"], frame["line"])


def tell_callers(out, trainings):
    """Who called System.gc() in @trainings, by name, and what happened."""
    found = [(name, c) for name, trained in trainings.items() for c in trained.callers()]
    for who in sorted({(place(c["caller"]), place(c["who"]), c["thread"]) for _, c in found}):
        out.write("\nCalled by %s, because of %s, in thread `%s`:\n" % who)
    table(out, CALLER_HEAD, [caller_row(name, c) for name, c in found])


def callers(runs, out):
    """Who asked for the collections of the manager that calls, and how long it waited for them."""
    tell_callers(out, {
        "%s, workspaces %s, %s" % (model.upper(), workspaces, name):
            runs.train(model, workspaces, name)
        for model in MODELS
        for workspaces in WORKSPACES
        for name in SETTINGS
    })


def promises(runs, out):
    """What the advice on the window predicted at 500 ms, and what was measured at 5000 ms."""
    rows = []
    for model in MODELS:
        for workspaces in WORKSPACES:
            before = runs.train(model, workspaces, "manager that calls, 500 ms")
            after = runs.train(model, workspaces, "manager that calls, 5000 ms")
            told = [a for a in before.records.of("advice") if a["advice"] == "gc-window"]
            whole, time_ns = before.track["overlap_ns"], before.track["time_ns"]
            predicted = "no such advice"
            if told:
                predicted = "%s (%.1f – %.1f)" % (
                    percent(whole - told[0]["saves_ns"], time_ns),
                    100 * (whole - told[0]["saves_high_ns"]) / time_ns,
                    100 * (whole - told[0]["saves_low_ns"]) / time_ns)
            rows.append([
                "%s, workspaces %s" % (model.upper(), workspaces),
                percent(whole, time_ns),
                "`%s`" % told[0]["line"].split(".")[-1].rstrip(";") if told else "-",
                predicted,
                percent(after.track["overlap_ns"], after.track["time_ns"]),
            ])
    table(out, ["", "In safepoints at 500 ms", "Advice", "Predicted (range)", "Measured at 5000 ms"], rows)


def boundaries(runs, out):
    rows = []
    for model in MODELS:
        for workspaces in WORKSPACES:
            trained = runs.train(model, workspaces, "as it comes")
            late = trained.late_ns()
            rows.append([
                "%s, workspaces %s" % (model.upper(), workspaces),
                "`%s`" % trained.track["signal"],
                "%.2f" % trained.track["confidence"],
                len(trained.truth.steps),
                len(trained.steps),
                percent(trained.boundaries()[0], len(trained.truth.steps)),
                ms(late[len(late) // 2]),
                ms(late[len(late) * 99 // 100]),
            ])
    table(out, ["", "Signal", "Confidence", "Listener's steps", "Found", "Exact",
                "Before the listener (median)", "(p99)"], rows)


class All:
    def __init__(self, given):
        self.folder = run_all.Folder(given.output)
        self.java = given.java
        self.flags = given.flag
        self.known = {}

    def train(self, model, workspaces, setting, collector=G1):
        """Trains once; a second call with the same names gets the same recording."""
        key = (model, workspaces, setting, collector)
        if key not in self.known:
            flags, args = SETTINGS[setting]
            name = "-".join((model, workspaces, str(list(SETTINGS).index(setting))))
            if collector != G1:
                name += collector.replace("-XX:+Use", "-")
            began = time.monotonic()
            self.known[key] = attach(
                self.folder, (collector, *self.flags, *flags), *MODELS[model],
                "--workspaces", workspaces, *args, name=name, java=self.java,
            )
            print("%s: %.0f s" % (name, time.monotonic() - began), flush=True)
        return self.known[key]


def machine(runs, out):
    run_all.machine(runs, out)
    environment, place = folder()
    version = subprocess.run([runs.java or environment.python, "-version"], stderr=subprocess.PIPE)
    out.write("%s; %s; `%s`, OMP_NUM_THREADS=1.\n" % (
        version.stderr.decode().splitlines()[1], environment.packages.replace("==", " "),
        " ".join(("-Xmx512m", G1, *runs.flags))))


PARTS = {
    "machine": machine,
    "boundaries": boundaries,
    "mlp": lambda runs, out: settings(runs, "mlp", out),
    "lstm": lambda runs, out: settings(runs, "lstm", out),
    "callers": callers,
    "promises": promises,
    "collectors": collectors,
}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--output", type=Path, default=Path("workloads-out/dl4j"), help="folder")
    options.add_argument("--only", nargs="*", choices=sorted(PARTS), default=list(PARTS))
    options.add_argument("--java", help="another java than the one scripts/workloads found")
    options.add_argument("--flag", action="append", default=[], help="for the JVM; repeats")
    options.add_argument("--docs", action="store_true", help="rewrite docs/workloads-jvm.md")
    given = options.parse_args()
    if not os.access(os.environ.get("GCTRACE", ""), os.X_OK):
        sys.exit("GCTRACE must name the gctrace binary")
    if not folder()[0]:
        sys.exit("scripts/workloads dl4j has installed nothing")
    runs = All(given)
    try:
        for name in given.only:
            out = io.StringIO()
            PARTS[name](runs, out)
            (given.output / (name + ".md")).write_text(out.getvalue())
            print(out.getvalue(), flush=True)
            if given.docs:
                run_all.insert(HERE.parent.parent / "docs/workloads-jvm.md", name, out.getvalue())
    finally:
        runs.folder.close()


if __name__ == "__main__":
    main()
