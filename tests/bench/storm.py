#!/usr/bin/env python3
"""Four processes that collect back to back: how much a tracer slows them, and what it loses.

usage: storm.py GCTRACE [-s SECONDS] [-r ROUNDS] [--buffer SIZE]

Exact: what the tracer reports, process by process, against what the processes' own gc.get_stats()
says of the same time. Exit status 1: gctrace dropped or miscounted a collection.
"""
import argparse
import collections
import json
import re
import sqlite3
import sys

import bench

PROCESSES = 4


def run_storm(subjects, seconds):
    """Collections by pid, and the seconds that they took."""
    for subject in subjects:
        subject.send("storm", seconds)
    told = {subject.pid: subject.read() for subject in subjects}
    return ({pid: sum(row["collections"]) for pid, row in told.items()},
            max(row["seconds"] for row in told.values()))


def targets_of(subjects):
    return [word for subject in subjects for word in ("-p", str(subject.pid))]


class Ours:
    """gctrace, live or recording; counts by process, and drops."""

    def __init__(self, binary, record, buffer):
        self.binary, self.record, self.buffer = binary, record, buffer

    def start(self, interpreter, subjects):
        self.path = interpreter.folder + ("/storm.gct" if self.record else "/storm.json")
        options = ["--buffer", self.buffer] if self.buffer else []
        if self.record:
            argv = [self.binary, "record", "-o", self.path, *options, *targets_of(subjects)]
            tracer = bench.Tracer(argv)
        else:
            with open(self.path, "wb") as out:
                tracer = bench.Tracer([self.binary, "--json", *options, *targets_of(subjects)], out)
        tracer.wait_says("Ctrl-C ends it")
        return tracer

    def counts(self):
        """(pauses by pid, drops)"""
        if self.record:
            database = sqlite3.connect(self.path)
            found = dict(database.execute(
                "SELECT process.pid, count(*) FROM pause "
                "JOIN runtime ON runtime.id = pause.runtime "
                "JOIN process ON process.id = runtime.process GROUP BY 1"))
            drops, = database.execute("SELECT coalesce(sum(count), 0) FROM drops").fetchone()
            database.close()
            return found, drops
        found, last, pid = collections.Counter(), b"", re.compile(rb'"pid":(\d+)')
        with open(self.path, "rb") as lines:
            for last in lines:
                if b'"type":"pause"' in last[:40]:
                    found[int(pid.search(last).group(1))] += 1
        return found, json.loads(last)["drops"]


class Bpftrace:
    """Counts in the kernel, and prints the sums at its end."""

    def start(self, interpreter, subjects):
        self.path = interpreter.folder + "/bpftrace"
        with open(self.path, "wb") as out:
            tracer = bench.bpftrace(interpreter, None,
                                    "@count[pid] = count(); delete(@start[tid]);", out)
        tracer.wait_attached(subjects[0], subjects[0].untraced)
        return tracer

    def counts(self):
        with open(self.path, errors="replace") as text:
            found = dict((int(pid), int(count))
                         for pid, count in re.findall(r"@count\[(\d+)\]: (\d+)", text.read()))
        return found, None


def one(interpreter, seconds, tool):
    """(collections a second, missed, drops, tracer's CPU seconds, MB); @tool None: untraced."""
    subjects, tracer, cpu, peak = [interpreter.subject() for _ in range(PROCESSES)], None, 0, 0
    try:
        subjects[0].untraced = subjects[0].quick()
        if tool:
            tracer = tool.start(interpreter, subjects)
        told, took = run_storm(subjects, seconds)
        if tracer:
            cpu, peak = tracer.stop(patience=120)
            tracer = None
    finally:
        if tracer:
            tracer.stop()
        for subject in subjects:
            subject.end()
    missed, drops = 0, None
    if tool:
        found, drops = tool.counts()
        # bpftrace was waited for with collections of its first subject: those are extra.
        missed = sum(max(count - found.get(pid, 0), 0) if drops is None else
                     abs(count - found.get(pid, 0)) for pid, count in told.items())
    return sum(told.values()) / took, missed, drops, cpu / took, peak


def main():
    parser = argparse.ArgumentParser(description="a storm of collections")
    parser.add_argument("gctrace")
    parser.add_argument("-s", type=float, default=30, help="seconds")
    parser.add_argument("-r", type=int, default=3, help="rounds")
    parser.add_argument("--buffer", help="gctrace's ring buffer, else its default")
    args = parser.parse_args()
    print(bench.versions(args.gctrace))
    interpreter = bench.interpreters()[0]
    tools = {
        "untraced": None,
        "**gctrace record**": Ours(args.gctrace, True, args.buffer),
        "gctrace -p --json > file": Ours(args.gctrace, False, args.buffer),
        "bpftrace, counting": Bpftrace(),
    }
    results, refused = {}, {}
    for _ in range(args.r):
        for name, tool in tools.items():
            if name in refused:
                continue
            try:
                results.setdefault(name, []).append(one(interpreter, args.s, tool))
            except bench.Skip as reason:
                refused[name] = str(reason)
    base, rows, wrong = [row[0] for row in results["untraced"]], [], 0
    for name, rounds in results.items():
        rate, missed, drops, cpu, peak = (list(column) for column in zip(*rounds))
        ours = "gctrace" in name
        if ours:
            wrong += sum(missed) + sum(drops)
        rows.append((name, "%.2f (%.2f … %.2f)" % tuple(v / 1e6 for v in bench.spread(rate)),
                     "%.3f" % bench.spread([a / b for a, b in zip(rate, base)])[0],
                     str(max(missed)) if tools[name] else "", str(max(drops)) if ours else "",
                     "%.0f %%" % (bench.spread(cpu)[0] * 100) if tools[name] else "",
                     "%.0f" % max(peak) if tools[name] else ""))
    print("\nCPython %s, %d processes, %g s, %d rounds" % (
        interpreter.name, PROCESSES, args.s, args.r))
    bench.table(("", "M collections/s", "× untraced", "missed or extra", "drops", "CPU of a core",
                 "peak MB"), rows)
    for name, reason in refused.items():
        print("%s: not measured: %s" % (name, reason))
    interpreter.remove()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
