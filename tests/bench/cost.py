#!/usr/bin/env python3
"""What tracing adds to an empty gc.collect(0), beside the least that two probes can cost.

usage: cost.py GCTRACE [-r ROUNDS] [--beside GCTRACE] [--only NAME]... [--python NAME]

Thread CPU time around a batch of collections, less the untraced time of the same round; every
round runs each tracer once, in turn. The floor is an empty BPF program on the collector's entry
and return. Exit status 1: gctrace missed a target (1.15 × the floor; with 20 frames 2 ×).
"""
import argparse
import functools
import sys

import bench

MOST, MOST_20_FRAMES = 1.15, 2.0
FLOOR = "floor: empty uprobe + uretprobe"
SESSION = "empty uprobe session"
DEFAULT = "**gctrace**"
STACKS = "**gctrace, 20 frames a pause**"


def gctrace(binary, options, environment, interpreter, pid):
    return bench.Tracer([binary, "-p", pid, *options], environment=environment)


def variants(binary, folder, beside):
    """Name → (how to start it, Python frames at the call). None: nothing is started."""
    def floor(mode):
        return lambda interpreter, pid: bench.floor(folder, mode, interpreter)

    def ours(*options, **environment):
        return functools.partial(gctrace, binary, options, environment)

    result = {
        FLOOR: (floor("pair"), 0),
        SESSION: (floor("session"), 0),
        "session + one record of 104 bytes": (floor("record"), 0),
        DEFAULT: (ours(), 0),
        "gctrace by uprobe_multi (Linux 6.6 to 6.12)": (ours(GCTRACE_REFUSE="session"), 0),
        "gctrace by perf uprobes (before 6.6)": (ours(GCTRACE_REFUSE="session,multi"), 0),
        STACKS: (ours("--stack-min", "0"), 20),
        "bpftrace, histogram": (bench.bpftrace, 0),
        "bcc ugc": (lambda interpreter, pid: bench.ugc(interpreter, pid), 0),
        "bcc ugc, only pauses over 1 s": (
            lambda interpreter, pid: bench.ugc(interpreter, pid, "-M", "1000"), 0),
        "in-process gc.callbacks timer": (None, 0),
    }
    if beside:  # another build, to see what a change is worth
        result["beside: gctrace"] = functools.partial(gctrace, beside, (), {}), 0
        result["beside: gctrace, 20 frames a pause"] = functools.partial(
            gctrace, beside, ("--stack-min", "0"), {}), 20
    return result


def traced(subject, start, depth, interpreter, untraced):
    """The cost while this tracer is attached; Skip if it never is."""
    if not start:
        subject.ask("timer", "on")
        cost = subject.cost(depth)
        subject.ask("timer", "off")
        return cost
    tracer = start(interpreter, subject.pid)
    try:
        tracer.wait_attached(subject, untraced)
        return subject.cost(depth)
    finally:
        tracer.stop()


def one_round(interpreter, chosen, refused, results):
    """Adds each variant's added cost to @results; what cannot run moves to @refused."""
    subject = interpreter.subject()
    try:
        untraced = subject.cost()
        results.setdefault("untraced", []).append(untraced)
        deep = subject.cost(20)
        for name, (start, depth) in chosen.items():
            if name in refused:
                continue
            try:
                cost = traced(subject, start, depth, interpreter, untraced)
                results.setdefault(name, []).append(cost - (deep if depth else untraced))
            except bench.Skip as reason:
                refused[name] = str(reason)
    finally:
        subject.end()


def report(interpreter, results, refused):
    """Prints the table; returns the ratios by name."""
    for name, reason in refused.items():
        print("%s: not measured: %s" % (name, reason))
    if FLOOR not in results:
        return {}
    base, ratios, rows = results[FLOOR], {}, []
    for name, added in results.items():
        middle, low, high = bench.spread(added)
        if name == "untraced":
            rows.append((name, "%.0f" % middle, "%.0f … %.0f" % (low, high), ""))
            continue
        ratio = bench.spread([a / b for a, b in zip(added, base)])
        ratios[name] = ratio[0]
        rows.append((name, "+%.0f" % middle, "%.0f … %.0f" % (low, high),
                     "%.2f (%.2f … %.2f)" % ratio))
    print("\nCPython %s, %d rounds" % (interpreter.name, len(base)))
    bench.table(("ns of one gc.collect(0)", "added", "quartiles", "× floor"), rows)
    return ratios


def main():
    parser = argparse.ArgumentParser(description="cost of tracing one collection")
    parser.add_argument("gctrace")
    parser.add_argument("-r", type=int, default=15, help="rounds")
    parser.add_argument("--beside", help="another build of gctrace")
    parser.add_argument("--only", action="append", help="variants whose name holds this")
    parser.add_argument("--python", help="only the interpreter whose name holds this")
    args = parser.parse_args()
    print(bench.versions(args.gctrace))
    folder, missed = bench.build_floor(), False
    for interpreter in bench.interpreters():
        if args.python and args.python not in interpreter.name:
            continue
        chosen = {name: how for name, how in variants(args.gctrace, folder, args.beside).items()
                  if name == FLOOR or not args.only or any(word in name for word in args.only)}
        results, refused = {}, {}
        for _ in range(args.r):
            one_round(interpreter, chosen, refused, results)
        ratios = report(interpreter, results, refused)
        interpreter.remove()
        missed |= ratios.get(DEFAULT, 0) > MOST or ratios.get(STACKS, 0) > MOST_20_FRAMES
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
