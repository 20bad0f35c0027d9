#!/usr/bin/env python3
"""Trains with each fault of julia/remedies.jl under gctrace, follows what it advises, and tabulates what came of it.

In: $GCTRACE, Julia 1.5.3 of scripts/runtimes, root. Out: the recordings and the table as Markdown in the folder named;
with --docs also in docs/workloads-julia.md, between its marks. Takes about three minutes.
"""

import argparse
import io
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "root"))

import harness
import julia_harness
import run_all
from run_all import ms, percent, table

RUN_S = 300
STEP = "libc:getppid"  # which the program calls once a step

# fault → steps, the advice that is followed, and by what: how often, or the remedy that the program has
FAULTS = {
    "old": (1499, "enable", None),
    "asked": (307, "incremental", None),
    "finalizers": (601, "finalizers", 1),
    "busy": (1499, "safepoint", 1),
    "memory": (601, "gpu-memory", 200),
}


class Run:
    """One training from the outside: its records, and what it says itself."""

    def __init__(self, julia, folder, fault, every=0):
        inside = "/tmp/gctrace-workload-%d" % os.getpid()
        place = Path(julia.root + inside)
        place.mkdir()
        try:
            shutil.copy(HERE / "julia/remedies.jl", place)
            threads = 2 if fault == "busy" else 1
            args = ["-t", threads, inside + "/remedies.jl", fault, FAULTS[fault][0]]
            self.trace(julia, folder / ("%s-%d.gct" % (fault, every)), args + ([every] if every else []))
        finally:
            shutil.rmtree(str(place))

    def trace(self, julia, file, args):
        target = harness.Oracle(julia.argv(args))
        try:
            options = ["record", "-p", str(target.pid), "-o", str(file), "--step", STEP]
            tracer = harness.Tracer(options)
            self.told = target.ask("go", RUN_S)
            assert tracer.interrupt() == 0
        finally:
            target.kill()
        self.records = harness.report(file)
        assert not self.records.drops
        assert len(self.records.pauses) == self.told["pauses"]
        (self.track,) = self.records.summary["tracks"]

    def advice(self, kind):
        (found,) = [a for a in self.records.of("advice") if a["advice"] == kind]
        return found


def cells(run):
    track = run.track
    return [
        run.told["pauses"],
        "%s (%s)" % (ms(track["overlap_ns"]), percent(track["overlap_ns"], track["time_ns"])),
    ]


def settings(julia, folder, out):
    rows = []
    for fault, (_, kind, remedy) in FAULTS.items():
        before = Run(julia, folder, fault)
        advice = before.advice(kind)
        after = Run(julia, folder, fault, remedy or advice["every"])
        paused = before.track["overlap_ns"]
        promised = [ms(paused - advice[key]) for key in ("saves_ns", "saves_high_ns", "saves_low_ns")]
        grown = after.told["rss_bytes"] - before.told["rss_bytes"]
        rows.append(["`%s`" % fault, *cells(before), "`%s`" % advice["line"].split("  #")[0],
                     "%s (%s to %s)" % tuple(promised), *cells(after),
                     "%+d MB" % round(advice["grows_bytes"] / 1e6) if advice["grows_bytes"] else "-",
                     "%+d MB" % round(grown / 1e6)])
        print(rows[-1], flush=True)
    table(out, ["Fault", "Collections", "Pauses in steps", "Advice", "Promised", "Collections then",
                "Pauses then", "Memory, promised", "Most memory"], rows)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--output", type=Path, default=Path("workloads-out/julia"), help="folder")
    options.add_argument("--docs", action="store_true", help="rewrite docs/workloads-julia.md")
    given = options.parse_args()
    if not os.access(os.environ.get("GCTRACE", ""), os.X_OK):
        sys.exit("GCTRACE must name the gctrace binary")
    julias = [j for j in julia_harness.load_julias() if not j.embedded]
    if not julias:
        sys.exit("scripts/runtimes has no Julia with a compiler")
    given.output.mkdir(parents=True, exist_ok=True)
    parts = {
        "machine": lambda out: run_all.machine(None, out),
        "remedies": lambda out: settings(julias[0], given.output, out),
    }
    for name, part in parts.items():
        out = io.StringIO()
        part(out)
        print(out.getvalue(), flush=True)
        if given.docs:
            run_all.insert(HERE.parent.parent / "docs/workloads-julia.md", name, out.getvalue())


if __name__ == "__main__":
    main()
