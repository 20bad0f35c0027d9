#!/usr/bin/env python3
"""What tracing adds to Julia's collections, and to a loop that asks the time.

usage: julia.py GCTRACE [-r ROUNDS] [--before GCTRACE]

On the embedded 1.13.1 of scripts/runtimes, CPU times of one thread, variants in turn: a small incremental collection; a
call that finds the collector disabled; jl_hrtime(), which a design that probes the clock would slow down as much as its
last row says. Beside empty programs at gctrace's own places (read from bpftool), an empty uprobe and uretprobe on the
collector, and another build of gctrace. Exit status 1: gctrace costs more than 1.3 x the empty programs.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys

import bench
import safepoint

MOST = 1.3
CALLS, BATCHES, CLOCKS = 500, 3, 300_000
EMBED = bench.HERE.parent / "root/julia/embed.c"


def image():
    """The wheel's libraries in a folder of their own, so that nobody else's probes are on them: (image, collector's)."""
    rows = bench.run(bench.HERE.parent.parent / "scripts/runtimes", "--list", "julia").stdout
    for row in rows.splitlines()[1:]:
        name, _, _, _, variant, _, root, exe, _, elf, _ = row.split("\t")
        if exe.endswith(".so") and variant == "asis":
            folder = bench.tempfile.mkdtemp(prefix="gctrace-bench-julia-")
            bench.atexit.register(shutil.rmtree, folder, ignore_errors=True)
            here = os.path.dirname(os.path.dirname(root + exe))  # they find each other in ../lib
            shutil.copytree(here, folder, dirs_exist_ok=True)
            return [folder + (root + file)[len(here):] for file in (exe, elf)]
    raise bench.Skip("no wheel: scripts/runtimes wheel-julia1.13")


def offset_of(library, name):
    """Of a function in the file. In this one addresses of code and offsets differ by a segment's."""
    found = re.search(r": (\w+) +\w+ +FUNC +GLOBAL +\w+ +\w+ %s\b" % name,
                      bench.run("readelf", "-sW", library).stdout)
    address = int(found.group(1), 16)
    for line in bench.run("readelf", "-lW", library).stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and 0 <= address - int(words[2], 16) < int(words[4], 16):
            return address - int(words[2], 16) + int(words[1], 16)
    raise bench.Skip("no function " + name)


def measure(subject):
    """CPU ns of (a collection, an idle call, a look at the clock), each of the batch that others disturbed least."""
    def cost():
        return min(subject.ask("cost", 2, CALLS)["ns"] for _ in range(BATCHES))

    collection = cost()
    subject.ask("enable", 0)
    idle = cost()
    subject.ask("enable", 1)
    return collection, idle, subject.ask("clock", CLOCKS)["ns"]


def start_gctrace(binary, pid, *options):
    tracer = bench.Tracer([binary, "-p", pid, "--json", *options], environment={"GCTRACE_REFUSE": "session,multi"})
    tracer.wait_says("Ctrl-C ends it")
    return tracer


class Embedded(bench.Subject):
    def read(self):
        answer = super().read()
        return answer["event"] if answer and answer["event"] == "ready" else answer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gctrace")
    parser.add_argument("-r", "--rounds", type=int, default=11)
    parser.add_argument("--before", help="another gctrace, to compare with")
    options = parser.parse_args()
    folder = safepoint.build()
    subprocess.run(["cc", "-O1", "-o", folder + "/embed", EMBED, "-ldl", "-lpthread"], check=True)
    path, library = image()
    subject = Embedded([folder + "/embed", path], dict(os.environ))
    measure(subject)
    tracer = start_gctrace(options.gctrace, subject.pid)
    file, offsets = safepoint.sites(tracer)
    tracer.stop()
    empty = [folder + "/safepoint_floor", folder + "/floor.bpf.o", file, *sorted(offsets)]
    floor = [folder + "/floor", folder + "/floor.bpf.o"]
    variants = {
        "untraced": None,
        "empty uprobe + uretprobe on the collector": lambda: bench.Tracer(
            [*floor, "pair", library, offset_of(library, "ijl_gc_collect")]),
        "empty programs at the same %d places" % len(offsets): lambda: bench.Tracer(empty),
        "**gctrace**": lambda: start_gctrace(options.gctrace, subject.pid),
        "gctrace, a stack of each (--stack-min 0)": lambda: start_gctrace(
            options.gctrace, subject.pid, "--stack-min", "0"),
        "an empty uprobe on the clock": lambda: bench.Tracer(
            [*floor, "entry", library, offset_of(library, "ijl_hrtime")]),
    }
    if options.before:
        variants["gctrace, the other one"] = lambda: start_gctrace(options.before, subject.pid)
    times = collections.defaultdict(list)
    for _ in range(options.rounds):
        for name, start in variants.items():
            tracer = start() if start else None
            if tracer:
                tracer.wait_says("Ctrl-C ends it") if "gctrace" in name else bench.time.sleep(0.5)
                tracer.check()
            times[name].append(measure(subject))
            if tracer:
                tracer.stop()
    subject.end()
    print(bench.versions(options.gctrace))
    print("%d rounds; medians and quartiles, CPU ns of one thread\n" % options.rounds)
    spreads = {name: [bench.spread(column) for column in zip(*rows)] for name, rows in times.items()}
    middle = {name: [spread[0] for spread in row] for name, row in spreads.items()}
    base = middle["untraced"]
    rows = []
    for name, row in spreads.items():
        off = [0, 0, 0] if name == "untraced" else base
        texts = [("%.0f" if name == "untraced" else "%+.0f") % (spread[0] - b) for spread, b in zip(row, off)]
        texts[0] += " (%.0f … %.0f)" % (row[0][1] - off[0], row[0][2] - off[0])
        rows.append((name, *texts))
    bench.table(("", "a collection", "an idle call", "a look at the clock"), rows)
    added = [v - b for v, b in zip(middle["**gctrace**"], base)]
    least = [v - b for v, b in zip(middle["empty programs at the same %d places" % len(offsets)], base)]
    print("x empty programs: %.2f, an idle call %.2f" % (added[0] / least[0], added[1] / least[1]))
    return added[0] > MOST * least[0]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except bench.Skip as reason:
        sys.exit("skipped: %s" % reason)
