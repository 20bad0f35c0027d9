#!/usr/bin/env python3
"""What step signals add to a loop of 1 ms steps that calls what PyTorch calls, four times a step.

usage: step_probe.py GCTRACE [-r PAIRS]

One traced process runs a few steps with a library whose functions are signals, then as many with a
copy of it whose functions are none, and so on: the ratio of thread CPU time, as the median of pairs.
Beside it the same with empty BPF programs, which is what the kernel takes for the probes alone. Then
the price of one mark, and of a call that waits, in a loop of nothing else. Exit status 1: the loop became more than 1 % slower.
"""
import argparse
import atexit
import os
import re
import shutil
import statistics
import sys
import tempfile
import time

import bench

MOST = 1.01
STEPS = 10  # in a row
CALLS, BATCHES = 1000, 5  # of one function in a burst: below the limit at which it is let go
KINDS = {"record": "record_function_enter_new", "backward": "Engine7execute",
         "loss": "cross_entropy_loss"}


def build():
    """The library under its two names, and the program."""
    folder = tempfile.mkdtemp(prefix="gctrace-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source = bench.HERE / "step_loop.cc"
    common = ["g++", "-O2", "-std=c++17"]
    for command in (common + ["-fPIC", "-shared", "-o", folder + "/libtorch_cpu.so", source],
                    common + ["-DMAIN", "-o", folder + "/loop", source, "-ldl"]):
        done = bench.run(*command)
        if done.returncode:
            raise bench.Skip("step_loop.cc cannot be built: " + bench.last_line(done.stderr))
    for name in ("/libother.so", "/libcuda.so.1"):
        shutil.copy(folder + "/libtorch_cpu.so", folder + name)
    return folder


def start(folder, library="/libtorch_cpu.so"):
    return bench.Subject([folder + "/loop", folder + "/libother.so", folder + library],
                         dict(os.environ))


def trace(gctrace, folder, pid):
    tracer = bench.Tracer([gctrace, "record", "-p", pid, "--wait", "-o", folder + "/run.gct"])
    tracer.wait_says("tracing")
    time.sleep(0.2)
    return tracer


class Place:
    """A function's file and offset, as floor wants them."""

    def __init__(self, folder, pattern, library="/libtorch_cpu.so"):
        self.file = folder + library
        symbols = bench.run("readelf", "-sW", self.file).stdout
        self.offset = int(re.search(r": (\w+) +\w+ +FUNC .*" + pattern, symbols).group(1), 16)
        for line in bench.run("readelf", "-lW", self.file).stdout.splitlines():
            words = line.split()
            if words[:1] == ["LOAD"] and "E" in words[6:8]:
                self.offset += int(words[1], 16) - int(words[2], 16)


def added(subject, kind):
    """What a probe adds to a call, ns."""
    both = [subject.ask("calls", kind, CALLS) for _ in range(BATCHES)]
    return statistics.median(torch - other for other, torch in both)


def empty_probes(floor, folder, subject, kinds):
    tracers = [bench.floor(floor, "entry", Place(folder, KINDS[kind]), subject.pid) for kind in kinds]
    time.sleep(0.5)
    for tracer in tracers:
        tracer.check()
    return tracers


def price_of_nothing(floor, folder, kind):
    subject = start(folder)
    tracers = empty_probes(floor, folder, subject, [kind])
    price = added(subject, kind)
    tracers[0].stop()
    subject.end()
    return price


def ratio(folder, pairs, attach):
    """(median untraced step, (median, quartiles) of with / without the probes)."""
    subject = start(folder)
    tracers = attach(subject)
    both = subject.ask("pairs", pairs, STEPS)
    for tracer in tracers:
        tracer.stop()
    subject.end()
    return (statistics.median(without for without, _ in both),
            bench.spread([traced / without for without, traced in both]))


def prices(gctrace, floor, folder):
    """(name, what an empty probe adds, what a mark adds) of each function, ns."""
    for kind, name in KINDS.items():
        empty, marked = [], []
        for _ in range(5):
            empty.append(price_of_nothing(floor, folder, kind))
            subject = start(folder)
            tracer = trace(gctrace, folder, subject.pid)
            marked.append(added(subject, kind))
            tracer.stop()
            subject.end()
        yield name, statistics.median(empty), statistics.median(marked)


def price_of_wait(gctrace, floor, folder):
    """The same of a call that waits, with empty probes at its entry and return."""
    place, both = Place(folder, "cuEventSynchronize", "/libcuda.so.1"), ([], [])
    attached = (lambda s: bench.floor(floor, "pair", place, s.pid), lambda s: trace(gctrace, folder, s.pid))
    for _ in range(5):
        for attach, found in zip(attached, both):
            subject = start(folder, "/libcuda.so.1")
            tracer = attach(subject)
            time.sleep(0.5)
            found.append(added(subject, "wait"))
            tracer.stop()
            subject.end()
    return ("cuEventSynchronize",) + tuple(statistics.median(found) for found in both)


def main():
    parser = argparse.ArgumentParser(description="cost of step signals")
    parser.add_argument("gctrace")
    parser.add_argument("-r", type=int, default=500, help="pairs")
    args = parser.parse_args()
    print(bench.versions(args.gctrace))
    try:
        folder, floor = build(), bench.build_floor()
    except bench.Skip as reason:
        print("skipped: %s" % reason)
        return 77
    print()
    for name, attach in (
            ("empty uprobes", lambda s: empty_probes(floor, folder, s, ["record", "backward"])),
            ("**gctrace**", lambda s: [trace(args.gctrace, folder, s.pid)])):
        step, found = ratio(folder, args.r, attach)
        print("step of %.3f ms, %s: with / without, %d pairs: %.4f (quartiles %.4f … %.4f)" % (
            step / 1e6, name, args.r, *found))
    print()
    bench.table(("ns added to one call", "empty probes", "gctrace", "×"), [
        (name, "%.0f" % empty, "%.0f" % mark, "%.2f" % (mark / empty))
        for name, empty, mark in (*prices(args.gctrace, floor, folder),
                                  price_of_wait(args.gctrace, floor, folder))])
    return int(found[0] > MOST)


if __name__ == "__main__":
    sys.exit(main())
