#!/usr/bin/env python3
"""From the tracer's exec to its first line about a pause, of a process that collects all the time.

usage: attach.py GCTRACE [-r ROUNDS] [--steps]

Wall time by the clock of this process, CPU time of the tracer's threads until then.
--steps: where gctrace's time goes, by strace.
Exit status 1: gctrace took 60 ms or more.
"""
import argparse
import os
import re
import select
import subprocess
import sys
import time

import bench

MOST_MS = 60
OURS = "**gctrace -p**"


def variants(binary):
    """Name → (how to start it writing to this descriptor, what only a pause's line contains)."""
    def ours(interpreter, pid, out, *options):
        return bench.Tracer([binary, "-p", pid, "--json", *options], out)

    return {
        OURS: (ours, b'"type":"pause"'),
        "gctrace -p, recording too": (lambda interpreter, pid, out: ours(
            interpreter, pid, out, "-o", interpreter.folder + "/run.gct"), b'"type":"pause"'),
        "bpftrace, a line a pause": (lambda interpreter, pid, out: bench.bpftrace(
            interpreter, pid, 'printf("pause %d\\n", nsecs - @start[tid]); delete(@start[tid]);',
            out), b"pause "),
        "bcc ugc": (lambda interpreter, pid, out: bench.ugc(interpreter, pid, output=out), b"None"),
    }


def first_line(start, mark, interpreter, pid):
    """(wall ms, CPU ms) until @mark is written."""
    reader, writer = os.pipe()
    tracer = start(interpreter, pid, writer)
    os.close(writer)
    seen, end = b"", time.monotonic() + bench.WAIT_S
    try:
        while mark not in seen:
            if not select.select([reader], [], [], max(end - time.monotonic(), 0))[0]:
                raise bench.Skip("no line about a pause in %d s" % bench.WAIT_S)
            piece = os.read(reader, 1 << 16)
            if not piece:
                time.sleep(0.1)
                tracer.check()
                raise bench.Skip("it ended without a line: " + bench.last_line(tracer.words()))
            seen = seen[-64:] + piece
        return (time.monotonic_ns() - tracer.start_ns) / 1e6, tracer.cpu_ms()
    finally:
        os.close(reader)
        tracer.stop(patience=3)


def one_round(interpreter, chosen, refused, results):
    subject = interpreter.subject()
    subject.ask("loop")
    try:
        for name, (start, mark) in chosen.items():
            if name in refused:
                continue
            try:
                taken = first_line(start, mark, interpreter, subject.pid)
                results.setdefault(name, []).append(taken)
            except bench.Skip as reason:
                refused[name] = str(reason)
    finally:
        subject.end()


CALLS = "execve,bpf,perf_event_open,epoll_wait,write"  # few, so that strace disturbs little


def steps(binary, interpreter):
    """gctrace's way to the first pause, by the system calls that take long; strace slows it a little."""
    subject = interpreter.subject()
    subject.ask("loop")
    log = interpreter.folder + "/strace"
    try:
        subprocess.run(["timeout", "-s", "INT", "2", "strace", "-f", "--seccomp-bpf", "-ttt", "-T",
                        "-s", "400", "-o", log, "-e", "trace=" + CALLS, binary, "-p",
                        str(subject.pid), "--json"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        subject.end()
    spent, start, now = {}, None, 0.0
    with open(log) as lines:
        for line in lines:
            found = re.match(r"\d+\s+([\d.]+) (\w+)\((\w*).*<([\d.]+)>$", line.rstrip())
            if not found:
                continue
            now, name = float(found.group(1)), found.group(2)
            start = start or now
            if r'\"type\":\"pause\"' in line:
                break
            name += " " + found.group(3) if name == "bpf" else ""
            count, total = spent.get(name, (0, 0.0))
            spent[name] = count + 1, total + float(found.group(4)) * 1000
    rest = (now - (start or 0)) * 1000 - sum(total for _, total in spent.values())
    spent["the rest: its own code, reading files"] = 1, rest
    print("Under strace, until the first pause")
    bench.table(("call", "times", "ms"),
                [(name, str(count), "%.1f" % total) for name, (count, total) in
                 sorted(spent.items(), key=lambda item: -item[1][1]) if total >= 0.1])


def main():
    parser = argparse.ArgumentParser(description="attach to first event")
    parser.add_argument("gctrace")
    parser.add_argument("-r", type=int, default=15, help="rounds")
    parser.add_argument("--steps", action="store_true", help="break gctrace's time down")
    args = parser.parse_args()
    print(bench.versions(args.gctrace))
    missed = False
    for interpreter in bench.interpreters():
        results, refused = {}, {}
        for _ in range(args.r):
            one_round(interpreter, variants(args.gctrace), refused, results)
        for name, reason in refused.items():
            print("%s: not measured: %s" % (name, reason))
        if OURS in refused:
            return 1
        base, rows = [wall for wall, _ in results[OURS]], []
        for name, pairs in results.items():
            if name in refused:
                continue
            wall = bench.spread([pair[0] for pair in pairs])
            rows.append((name, "%.0f (%.0f … %.0f)" % wall,
                         "%.0f (%.0f … %.0f)" % bench.spread([pair[1] for pair in pairs]),
                         "%.2f" % bench.spread([p[0] / b for p, b in zip(pairs, base)])[0]))
        print("\nCPython %s, %d rounds" % (interpreter.name, len(base)))
        bench.table(("ms from start to first pause", "wall", "CPU", "× gctrace"), rows)
        if args.steps:
            steps(args.gctrace, interpreter)
        interpreter.remove()
        missed |= bench.spread(base)[0] >= MOST_MS
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
