#!/usr/bin/env python3
"""Reading a large trace of PyTorch's profiler: `gctrace report --gpu`, how long it takes and how much memory.

usage: kineto.py GCTRACE TRACE.json[.gz]... [-m MB] [-r RUNS]

The traces (those of /work/shared/data/kineto, or any others) are repeated, one after the other in time and with
correlations of their own, up to MB megabytes. Medians of RUNS, of the file plain and packed. Exit status 1: gctrace
missed a target of the project for the plain one (3 s and 500 MB, at 200 MB).
"""
import argparse
import gzip
import json
import multiprocessing
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "verbs"))
MOST_S, MOST_MB = 3, 500
WALL_US = 1_700_000_000_000_000
PID = 4711


def read(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def moved(event, first, begin, correlations):
    """As of process PID and a later time."""
    copy = dict(event, ts=round(event["ts"] - first + begin, 3)) if "ts" in event else dict(event)
    if isinstance(event.get("pid"), int) and event["pid"] > 1000:
        copy["pid"] = PID
    if "correlation" in event.get("args", {}):
        copy["args"] = dict(event["args"], correlation=event["args"]["correlation"] + correlations)
    if "id" in event:
        copy["id"] = event["id"] + correlations
    return copy


def grow(traces, path, size):
    """Writes them again and again; how many events that are work of a device."""
    begin, correlations, work, comma = WALL_US, 0, 0, ""
    with open(path, "w", encoding="utf-8") as out:
        out.write('{\n  "schemaVersion": 1,\n  "traceEvents": [\n')
        while out.tell() < size:
            for events in traces:
                first = min(e["ts"] for e in events if "ts" in e)
                for event in events:
                    work += event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
                    out.write(comma + "  " + json.dumps(moved(event, first, begin, correlations), indent=0).replace("\n", " "))
                    comma = ",\n"
                begin += max(e["ts"] + e.get("dur", 0) for e in events if "ts" in e) - first + 1000
                correlations += 1_000_000
        out.write("\n  ]\n}\n")
    return work


def make(traces, plain, packed, size):
    work = grow([read(path) for path in traces], plain, size)
    packed.write_bytes(gzip.compress(plain.read_bytes(), 6))
    return work


def measure(gctrace, recording, trace):
    """Seconds, of them on the CPU, and the most that it had resident, in MB."""
    begin = time.monotonic()
    child = subprocess.Popen([gctrace, "report", recording, "--gpu", trace, "-f", "json", "-o", "/dev/null"])
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, "gctrace failed"
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description="reading a large trace")
    parser.add_argument("gctrace")
    parser.add_argument("traces", nargs="+", type=pathlib.Path)
    parser.add_argument("-m", type=int, default=200, help="megabytes")
    parser.add_argument("-r", type=int, default=5, help="runs")
    args = parser.parse_args()
    os.environ["GCTRACE"] = args.gctrace
    import recording as recordings
    missed = False
    with tempfile.TemporaryDirectory(prefix="gctrace-kineto-") as scratch:
        folder = pathlib.Path(scratch)
        plain, packed = folder / "trace.json", folder / "trace.json.gz"
        # In a process of its own: what a child has resident at its exec counts as the child's.
        with multiprocessing.Pool(1) as pool:
            work = pool.apply(make, (args.traces, plain, packed, args.m * 1_000_000))
        recording = recordings.Recording(folder / "run.gct")
        path = recording.close(end=recordings.BEGIN + 3600 * 10**9)
        fix_clock(path)
        for trace in (plain, packed):
            found = [measure(args.gctrace, path, trace) for _ in range(args.r)]
            seconds, busy, megabytes = (statistics.median(f[i] for f in found) for i in range(3))
            print("%s, %.0f MB, %d kernels and copies: %.2f s (%.2f s on the CPU), %.0f MB resident" % (
                trace.name, trace.stat().st_size / 1e6, work, seconds, busy, megabytes))
            missed |= trace == plain and args.m >= 200 and (seconds >= MOST_S or megabytes >= MOST_MB)
    return missed


def fix_clock(path):
    """The recording begins when the trace does."""
    with sqlite3.connect(str(path)) as db:
        db.execute("UPDATE clock SET realtime_ns = ?", (WALL_US * 1000,))


if __name__ == "__main__":
    sys.exit(main())
