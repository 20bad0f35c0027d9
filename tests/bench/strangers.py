#!/usr/bin/env python3
"""What tracing one process costs another that runs the same file.

usage: strangers.py GCTRACE [-r ROUNDS] [--beside GCTRACE] [--python NAME]

gctrace puts one probe on a runtime's file and tells its targets by a filter, so that a forked child
is traced from its first instruction. The alternative, a probe for each process, costs strangers
nothing and misses what a child does before its probe is in place. Thread CPU time of an empty
gc.collect(0) in the stranger, less the untraced time of the same round.
"""
import argparse
import sys

import bench

TARGET = "a target of gctrace, for comparison"


def variants(binary, folder, beside):
    """Name → how to start it on the process with this pid."""
    def ours(binary=binary, **environment):
        return lambda interpreter, pid: bench.Tracer([binary, "-p", pid], environment=environment)

    def floor(mode):
        return lambda interpreter, pid: bench.floor(folder, mode, interpreter, pid)

    result = {
        "**gctrace**": ours(),
        "gctrace by uprobe_multi": ours(GCTRACE_REFUSE="session"),
        "gctrace by perf uprobes": ours(GCTRACE_REFUSE="session,multi"),
        "least: a session with nothing but a filter": floor("filter"),
        "alternative: a probe per process": floor("private"),
        "bpftrace -p": bench.bpftrace,
    }
    if beside:  # another build, to see what a change is worth
        result["beside: gctrace"] = ours(beside)
    return result


def one_round(interpreter, chosen, refused, results):
    target, stranger = interpreter.subject(), interpreter.subject()
    try:
        known, untraced = target.cost(), stranger.cost()
        results.setdefault("untraced", []).append(untraced)
        for name, start in chosen.items():
            if name in refused:
                continue
            try:
                tracer = start(interpreter, target.pid)
                try:
                    tracer.wait_attached(target, known)
                    results.setdefault(name, []).append(stranger.cost() - untraced)
                    if name.startswith("**"):
                        results.setdefault(TARGET, []).append(target.cost() - known)
                finally:
                    tracer.stop()
            except bench.Skip as reason:
                refused[name] = str(reason)
    finally:
        target.end()
        stranger.end()


def report(interpreter, results, refused):
    base, rows = results.get(TARGET), []
    for name, added in results.items():
        middle, low, high = bench.spread(added)
        ratio = "%.2f" % bench.spread([a / b for a, b in zip(added, base)])[0] if base else ""
        plain = name == "untraced"
        rows.append((name, ("%.0f" if plain else "%+.0f") % middle, "%.0f … %.0f" % (low, high),
                     "" if plain else ratio))
    print("\nCPython %s, %d rounds" % (interpreter.name, len(results["untraced"])))
    bench.table(("ns of a stranger's gc.collect(0)", "added", "quartiles", "× a target's"), rows)
    for name, reason in refused.items():
        print("%s: not measured: %s" % (name, reason))


def main():
    parser = argparse.ArgumentParser(description="what tracing one process costs another")
    parser.add_argument("gctrace")
    parser.add_argument("-r", type=int, default=15, help="rounds")
    parser.add_argument("--beside", help="another build of gctrace")
    parser.add_argument("--python", help="only the interpreter whose name holds this")
    args = parser.parse_args()
    print(bench.versions(args.gctrace))
    folder = bench.build_floor()
    for interpreter in bench.interpreters():
        if args.python and args.python not in interpreter.name:
            continue
        chosen = variants(args.gctrace, folder, args.beside)
        results, refused = {}, {}
        for _ in range(args.r):
            one_round(interpreter, chosen, refused, results)
        report(interpreter, results, refused)
        interpreter.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main())
