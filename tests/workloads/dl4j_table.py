#!/usr/bin/env python3
"""Trains DL4J's networks with each setting of its memory under gctrace, and tabulates what came of it.

In: $GCTRACE, what scripts/workloads installed as dl4j, root. Out: the recordings and the tables as Markdown
in the folder named; with --docs also in docs/workloads-jvm.md, between its marks. Takes about ten minutes; run
nothing beside it.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "root"))

import harness
import run_all
import training
from run_all import ms, percent, table

START_S = 60  # until ND4J has loaded its libraries
TRAIN_S = 150
MODELS = {"mlp": ("--steps", 4001), "lstm": ("--model", "lstm", "--steps", 401)}
WORKSPACES = ("on", "off")
MANAGER = "-Dmemorymanager=PeriodicManager"

# name → flags of the JVM, options of Train
SETTINGS = {
    "as it comes": ((), ()),
    "as it comes, again": ((), ()),
    "setAutoGcWindow(500)": ((), ("--window", 500)),
    "setAutoGcWindow(5000)": ((), ("--window", 5000)),
    "togglePeriodicGc(false)": ((), ("--periodic", "false")),
    "togglePeriodicGc(true), window 500": ((), ("--periodic", "true", "--window", 500)),
    "manager that calls, window 500": ((MANAGER,), ("--periodic", "true", "--window", 500)),
    "manager that calls, window 5000": ((MANAGER,), ("--periodic", "true", "--window", 5000)),
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
        self.stalls = [s for s in self.records.of("stall") if s["pid"] == self.pid]

    def explicit(self):
        """The calls of System.gc()."""
        return [s for s in self.stalls if s["kind"] == "System.gc()"]

    def true_calls(self):
        """The same by the memory manager's own clock."""
        return self.truth.phases.get("gc_call", [])

    def late_ns(self):
        """How long before the listener's call each step was marked, pauses between them apart."""
        ends = [end for _, end in self.truth.steps]
        starts = sorted(s["start_ns"] for s in self.steps)
        spans = training.united((p["start_ns"], p["end_ns"]) for p in self.pauses)
        found = []
        for start in starts:
            after = [end for end in ends[self.first_after(ends, start) :][:1]]
            for end in after:
                stopped = sum(training.shared((start, end), span) for span in spans)
                found.append(end - start - stopped)
        return found

    @staticmethod
    def first_after(times, when):
        low, high = 0, len(times)
        while low < high:
            middle = (low + high) // 2
            if times[middle] < when:
                low = middle + 1
            else:
                high = middle
        return low


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
    return Java(file, training.Truth(truth))


def difference(before, after):
    """What `gctrace diff` makes of the mean step: its change with the interval."""
    done = harness.gctrace("diff", before.file, after.file, "--json")
    for item in map(json.loads, done.stdout.decode().splitlines()):
        if item["type"] == "comparison" and item["name"] == "step.mean" and item["low"] is not None:
            told = "%+.0f %% (%+.0f … %+.0f)" % tuple(100 * item[k] for k in ("change", "low", "high"))
            return told + ("" if item["low"] > 0 or item["high"] < 0 else ": none")
    return "-"


HEAD = ["", "Steps", "Exact", "Median step", "p99", "Worst", "Pauses", "Of them full", "In pauses",
        "`System.gc()`", "Mean step against the first row (95 %)"]


def row(name, trained, first):
    exact, invented = trained.boundaries()
    track = trained.track
    assert invented == 0, invented
    return [
        name,
        len(trained.truth.steps),
        percent(exact, len(trained.truth.steps)),
        ms(track["p50_ns"]),
        ms(track["p99_ns"]),
        ms(track["max_ns"]),
        len(trained.in_training()),
        sum(bool(p["full"]) for p in trained.in_training()),
        percent(track["overlap_ns"], track["time_ns"]),
        "%d of %d" % (len(trained.explicit()), len(trained.true_calls())),
        "" if trained is first else difference(first, trained),
    ]


def settings(runs, model, out):
    for workspaces in WORKSPACES:
        rows, first = [], None
        for name, (flags, args) in SETTINGS.items():
            trained = runs.train(model, workspaces, name)
            first = first or trained
            rows.append(row(name, trained, first))
        out.write("\n%s, workspaces %s\n" % (model.upper(), workspaces))
        table(out, HEAD, rows)


def callers(runs, out):
    """Who asked for the collections of the manager that calls, and how long it waited for them."""
    rows = []
    for model in MODELS:
        for name in SETTINGS:
            calls = runs.train(model, "off", name).explicit()
            if not calls:
                continue
            starts = [c["start_ns"] for c in calls]
            gaps = [b - a for a, b in zip(starts, starts[1:])]
            frame = next(f for f in calls[0]["stack"] if "System.gc" not in f["function"]
                         and "Runtime.gc" not in f["function"])
            rows.append([
                "%s, %s" % (model.upper(), name),
                len(calls),
                ms(statistics.median(gaps)) if gaps else "-",
                "`%s` (%s:%s)" % (frame["function"], frame["file"], frame["line"]),
                "`%s`" % calls[0]["thread"],
                ms(statistics.median(c["duration_ns"] for c in calls)),
            ])
    table(out, ["", "Calls", "Every", "Called by", "In thread", "Blocked (median)"], rows)


def boundaries(runs, out):
    rows = []
    for model in MODELS:
        for workspaces in WORKSPACES:
            trained = runs.train(model, workspaces, "as it comes")
            late = sorted(trained.late_ns())
            rows.append([
                "%s, workspaces %s" % (model.upper(), workspaces),
                "`%s`" % trained.track["signal"],
                "%.2f" % trained.track["confidence"],
                len(trained.truth.steps),
                len(trained.steps),
                "%.1f %%" % (100 * trained.boundaries()[0] / len(trained.truth.steps)),
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

    def train(self, model, workspaces, setting):
        """Trains once; a second call with the same names gets the same recording."""
        key = (model, workspaces, setting)
        if key not in self.known:
            print(", ".join(key), flush=True)
            flags, args = SETTINGS[setting]
            name = "%s-%s-%d" % (model, workspaces, list(SETTINGS).index(setting))
            self.known[key] = attach(
                self.folder, (*self.flags, *flags), *MODELS[model], "--workspaces", workspaces, *args,
                name=name, java=self.java,
            )
        return self.known[key]


def machine(runs, out):
    run_all.machine(runs, out)
    environment, place = folder()
    version = subprocess.run([runs.java or environment.python, "-version"], stderr=subprocess.PIPE)
    out.write("%s; %s; `-Xmx512m %s`, OMP_NUM_THREADS=1.\n" % (
        version.stderr.decode().splitlines()[1], environment.packages.replace("==", " "),
        " ".join(runs.flags) or "and the default collector"))


PARTS = {
    "machine": machine,
    "boundaries": boundaries,
    "mlp": lambda runs, out: settings(runs, "mlp", out),
    "lstm": lambda runs, out: settings(runs, "lstm", out),
    "callers": callers,
}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--output", type=Path, default=Path("workloads-out/dl4j"), help="folder")
    options.add_argument("--only", nargs="*", choices=sorted(PARTS), default=list(PARTS))
    options.add_argument("--java", help="another java than the one scripts/workloads found")
    options.add_argument("--flag", action="append", default=[], help="for the JVM: -XX:+UseZGC; repeats")
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
