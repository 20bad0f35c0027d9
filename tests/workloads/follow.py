#!/usr/bin/env python3
"""What comes of advice: each program of advised.py is recorded, each piece of advice on it followed in a run of its own.

    sudo GCTRACE=$PWD/build/gctrace tests/workloads/follow.py DIR [--python PYTHON] [PROGRAM ...]

DIR keeps recordings and runs: what is there is not run again, so a new gctrace's advice is held against the same ones.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import advised

HERE = pathlib.Path(__file__).resolve().parent
GCTRACE = os.environ.get("GCTRACE", "gctrace")
FIRST = ["chrt", "-f", "1"]  # before all else: other programs on the machine lengthen no pause
CYCLES = "cycles"  # which line to change, it does not say


def truth_of(output):
    return json.loads(output.strip().splitlines()[-1])


def kept(path, make):
    if not path.exists():
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def run(given, program, line):
    command = [*FIRST, given.python, str(HERE / "advised.py"), program, "--follow", line]
    return truth_of(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def record(given, program):
    command = [GCTRACE, "run", "-o", str(given.dir / (program + ".gct")), "--step", "libc.so.6:srand48", "--",
               *FIRST, given.python, str(HERE / "advised.py"), program]
    return truth_of(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def advice_on(given, program):
    made = subprocess.run([GCTRACE, "report", "-f", "json", str(given.dir / (program + ".gct"))], check=True,
                          capture_output=True, text=True).stdout
    records = [json.loads(line) for line in made.splitlines()]
    return [r for r in records if r["type"] == "advice"]


def follow_all(given, program):
    before = kept(given.dir / (program + ".json"), lambda: record(given, program))
    whole = paused(given, program)
    each = (before["ns"] - whole) / before["collections"]
    before["ns"] = whole
    rows = []
    for advice in advice_on(given, program):
        if advice["advice"] in ("nothing", CYCLES):
            continue
        name = "%s-%s.json" % (program, hashlib.sha256(advice["line"].encode()).hexdigest()[:12])
        after = kept(given.dir / name, lambda: run(given, program, advice["line"]))
        after["ns"] = max(0, after["ns"] - each * after["collections"])
        rows.append((advice, before, after))
    return rows


def paused(given, program):
    """What the recording has, to which promises refer: a callback's own time counts in the program's books."""
    made = subprocess.run([GCTRACE, "report", "-f", "json", str(given.dir / (program + ".gct"))], check=True,
                          capture_output=True, text=True).stdout
    return next(r for r in map(json.loads, made.splitlines()) if r["type"] == "summary")["tracks"][0]["overlap_ns"]


def ms(ns):
    return ns / 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("programs", nargs="*")
    given = parser.parse_args()
    given.dir.mkdir(parents=True, exist_ok=True)
    within = ordered = pieces = several = 0
    print("| Program | Advice | Before | Promised (range) | Came | Full before, after | p99 before, after | Worst |")
    print("|---|---|---|---|---|---|---|---|")
    for program in given.programs or advised.PROGRAMS:
        rows = follow_all(given, program)
        for advice, before, after in rows:
            saved = before["ns"] - after["ns"]
            slack = 0.02 * before["ns"]
            inside = advice["saves_low_ns"] - slack <= saved <= advice["saves_high_ns"] + slack
            within, pieces = within + inside, pieces + 1
            print("| %s | %s | %.0f ms | %.0f (%.0f – %.0f)%s | %.0f | %d, %d | %.1f, %.1f | %.0f, %.0f |" % (
                program, advice["advice"], ms(before["ns"]), ms(advice["saves_ns"]), ms(advice["saves_low_ns"]),
                ms(advice["saves_high_ns"]), "" if inside else " **no**", ms(saved), before["full"], after["full"],
                ms(before["p99"]), ms(after["p99"]), ms(before["worst"]), ms(after["worst"])), flush=True)
        if len(rows) > 1:
            came = [before["ns"] - after["ns"] for _, before, after in rows]
            several, ordered = several + 1, ordered + (came[0] >= 0.9 * max(came))
    print("\n%d of %d within their range; the first piece was best, or within a tenth of it, in %d of %d programs" % (
        within, pieces, ordered, several))


if __name__ == "__main__":
    main()
