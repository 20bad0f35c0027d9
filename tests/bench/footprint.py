#!/usr/bin/env python3
"""Memory and CPU of a tracer, while nothing happens and in a storm of collections.

usage: footprint.py GCTRACE [-r ROUNDS] [--idle SECONDS] [--storm SECONDS]

Idle: the target sleeps. Storm: four targets collect back to back (one for bcc's ugc, which takes no
more). Exit status 1: gctrace missed a target (25 MB idle, 40 MB in a storm, 0.1 % of a core idle).
"""
import argparse
import sys
import time

import bench

MOST_IDLE_MB, MOST_STORM_MB, MOST_SHARE = 25, 40, 0.001
OURS = "**gctrace -p**"
PROCESSES = 4


def variants(binary):
    """Name → how to start it on these processes."""
    def ours(interpreter, pids, *options):
        targets = [word for pid in pids for word in ("-p", str(pid))]
        return bench.Tracer([binary, *targets, *options])

    def recording(interpreter, pids):
        targets = [word for pid in pids for word in ("-p", str(pid))]
        return bench.Tracer([binary, "record", *targets, "-o", interpreter.folder + "/run.gct"])

    return {
        OURS: ours,
        "gctrace -p, a stack with each pause": lambda interpreter, pids: ours(
            interpreter, pids, "--stack-min", "0"),
        "gctrace record": recording,
        "bpftrace, histogram": lambda interpreter, pids: bench.bpftrace(interpreter, None),
        "bcc ugc": lambda interpreter, pids: bench.ugc(interpreter, pids[0]),
    }


def idle(interpreter, start, seconds):
    """(resident MB, share of a core) beside a target that sleeps."""
    subject = interpreter.subject()
    tracer = None
    try:
        untraced = subject.quick()
        tracer = start(interpreter, [subject.pid])
        tracer.wait_attached(subject, untraced)
        time.sleep(1)
        before, start_ns = tracer.cpu_ms(), time.monotonic_ns()
        time.sleep(seconds)
        share = (tracer.cpu_ms() - before) * 1e6 / (time.monotonic_ns() - start_ns)
        return tracer.resident_mb()[0], share
    finally:
        if tracer:
            tracer.stop()
        subject.end()


def storm(interpreter, start, seconds):
    """(peak resident MB, share of a core) beside targets that collect all the time."""
    subjects = [interpreter.subject() for _ in range(PROCESSES)]
    tracer = None
    try:
        untraced = subjects[0].quick()
        tracer = start(interpreter, [subject.pid for subject in subjects])
        tracer.wait_attached(subjects[0], untraced)
        before, start_ns = tracer.cpu_ms(), time.monotonic_ns()
        for subject in subjects:
            subject.send("storm", seconds)
        for subject in subjects:
            subject.read()
        share = (tracer.cpu_ms() - before) * 1e6 / (time.monotonic_ns() - start_ns)
        return tracer.resident_mb()[1], share
    finally:
        if tracer:
            tracer.stop()
        for subject in subjects:
            subject.end()


def report(interpreter, results, refused):
    rows, medians = [], {}
    for name, rounds in results.items():
        columns = [bench.spread(column) for column in zip(*rounds)]
        medians[name] = [column[0] for column in columns]
        rows.append((name, *("%.1f (%.1f … %.1f)" % columns[0], "%.3f %%" % (columns[1][0] * 100),
                             "%.1f (%.1f … %.1f)" % columns[2], "%.0f %%" % (columns[3][0] * 100))))
    print("\nCPython %s, %d rounds" % (interpreter.name, len(next(iter(results.values())))))
    bench.table(("", "idle MB", "idle, of a core", "storm, peak MB", "storm, of a core"), rows)
    for name, reason in refused.items():
        print("%s: not measured: %s" % (name, reason))
    return medians.get(OURS)


def main():
    parser = argparse.ArgumentParser(description="memory and CPU of a tracer")
    parser.add_argument("gctrace")
    parser.add_argument("-r", type=int, default=3, help="rounds")
    parser.add_argument("--idle", type=float, default=20, help="seconds of nothing")
    parser.add_argument("--storm", type=float, default=5, help="seconds of storm")
    args = parser.parse_args()
    print(bench.versions(args.gctrace))
    interpreter = bench.interpreters()[0]
    results, refused = {}, {}
    for _ in range(args.r):
        for name, start in variants(args.gctrace).items():
            if name in refused:
                continue
            try:
                row = idle(interpreter, start, args.idle) + storm(interpreter, start, args.storm)
                results.setdefault(name, []).append(row)
            except bench.Skip as reason:
                refused[name] = str(reason)
    ours = report(interpreter, results, refused)
    interpreter.remove()
    return int(not ours or ours[0] > MOST_IDLE_MB or ours[1] > MOST_SHARE or
               ours[2] > MOST_STORM_MB)


if __name__ == "__main__":
    sys.exit(main())
