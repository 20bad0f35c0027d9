#!/usr/bin/env python3
"""Flame graph of N different stacks: gctrace beside the Rust inferno, on the same stacks, in one run.

usage: flame.py BENCH_FLAME [--gctrace GCTRACE] [-n STACKS] [-r RUNS]

Medians of whole processes, runs interleaved: CPU seconds (user + system) and peak resident memory.
"in memory" makes the stacks, interns them and draws; "report" is `GCTRACE report FILE.gct -f
flamegraph` on the recording of the same pauses; inferno reads them as folded text. inferno is installed with cargo into ~/.cache/gctrace/cargo, once; without it, it is skipped
with the reason. Exit status 1: gctrace missed a target of the project (2.5 s of CPU, 600 MB).
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gctrace/cargo"
MOST_CPU_S, MOST_MB = 2.5, 600


def find_inferno():
    """The program's path, or None after printing why there is none."""
    program = CACHE / "bin/inferno-flamegraph"
    if program.exists():
        return str(program)
    if not shutil.which("cargo"):
        print("inferno: skipped, there is no cargo to install it with")
        return None
    build = subprocess.run(["cargo", "install", "inferno", "--locked", "--root", CACHE, "-j2"],
                           capture_output=True, text=True)
    if build.returncode:
        print("inferno: skipped, cargo install failed:", build.stderr.strip().splitlines()[-1])
        return None
    return str(program)


def measure(command, output):
    """Runs @command with its output in a file; CPU seconds, peak MB, size of the output in MB."""
    with open(output, "wb") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} failed with status {child.returncode}")
    return (usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6,
            os.path.getsize(output) / 1e6)


def main():
    parser = argparse.ArgumentParser(description="flame graph: gctrace beside inferno")
    parser.add_argument("bench_flame")
    parser.add_argument("--gctrace", help="the program, to measure it from a .gct file too")
    parser.add_argument("-n", type=int, default=1000000, help="different stacks")
    parser.add_argument("-r", type=int, default=5, help="runs of each")
    args = parser.parse_args()
    inferno = find_inferno()
    with tempfile.TemporaryDirectory(prefix="gctrace-flame-") as scratch:
        folded, svg = f"{scratch}/stacks.folded", f"{scratch}/out.svg"
        commands = {"in memory": [args.bench_flame, "flamegraph", str(args.n), "/dev/stdout"]}
        if args.gctrace:
            recording = f"{scratch}/stacks.gct"
            subprocess.run([args.bench_flame, "gct", str(args.n), recording], check=True)
            commands["report"] = [args.gctrace, "report", recording, "-f", "flamegraph", "-o", "-"]
        if inferno:
            subprocess.run([args.bench_flame, "folded", str(args.n), folded], check=True,
                           stderr=subprocess.DEVNULL)
            commands["inferno"] = [inferno, "-q", "--minwidth", "0.02", folded]
        runs = {name: [] for name in commands}
        for _ in range(args.r):
            for name, command in commands.items():
                runs[name].append(measure(command, svg))
    medians = {name: [statistics.median(column) for column in zip(*rows)]
               for name, rows in runs.items()}
    print(f"{args.n} different stacks, medians of {args.r} runs\n"
          f"{'':10}{'CPU s':>9}{'peak MB':>9}{'SVG MB':>9}{'CPU':>9}{'memory':>9}")
    ours = "report" if args.gctrace else "in memory"
    for name, (cpu, peak, size) in medians.items():
        base = medians[ours]
        print(f"{name:10}{cpu:9.2f}{peak:9.0f}{size:9.2f}{cpu / base[0]:8.2f}×{peak / base[1]:8.2f}×")
    cpu, peak, _ = medians[ours]
    return int(args.n <= 1000000 and (cpu > MOST_CPU_S or peak > MOST_MB))


if __name__ == "__main__":
    sys.exit(main())
