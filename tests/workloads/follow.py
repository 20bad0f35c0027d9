#!/usr/bin/env python3
"""What comes of advice: each program of advised.py is recorded, each piece of advice on it followed in a run of its own.

    sudo GCTRACE=$PWD/build/gctrace tests/workloads/follow.py DIR [--unseen ROUND] [--python PYTHON] [PROGRAM ...]

With --unseen, each program of that round of unseen.py (first … fourth) whose library PYTHON has. DIR keeps recordings and
runs: what is there is not run again, so a new gctrace's advice is held against the same ones.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

import advised

HERE = pathlib.Path(__file__).resolve().parent
GCTRACE = os.environ.get("GCTRACE", "gctrace")
FIRST = ["chrt", "-f", "1"]  # before all else: other programs on the machine lengthen no pause
CYCLES = "cycles"  # which line to change, it does not say
WHOLE = "of the traced time"  # on what came before the loop, too, where it cannot be followed any more
# A pause, a 99th percentile, garbage or memory is worse than was said where it is so many times as much and some more.
WORSE = 1.25
CHANCE_NS = 2000000
CHANCE_BYTES = 16 << 20
CHANCE_OBJECTS = 1000


def truth_of(output):
    return json.loads(output.strip().splitlines()[-1])


def kept(path, make):
    if not path.exists():
        path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def run(given, program, line):
    command = [*FIRST, given.python, str(HERE / given.script), program, "--follow", line]
    return truth_of(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def record(given, program):
    command = [GCTRACE, "run", "-o", str(given.dir / (program + ".gct")), "--step", "libc.so.6:srand48", "--",
               *FIRST, given.python, str(HERE / given.script), program]
    return truth_of(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def advice_on(given, program):
    made = subprocess.run([GCTRACE, "report", "-f", "json", str(given.dir / (program + ".gct"))], check=True,
                          capture_output=True, text=True).stdout
    records = [json.loads(line) for line in made.splitlines()]
    return [r for r in records if r["type"] == "advice"]


def follow_all(given, program):
    """(Advice, what the recording has, runs as it was right before and after, runs that follow it) of each piece."""
    recorded = kept(given.dir / (program + ".json"), lambda: record(given, program))
    whole = paused(given, program)
    each = max(0, recorded["ns"] - whole) / max(1, recorded["collections"])  # a callback's own time
    rows = []
    for advice in advice_on(given, program):
        if advice["advice"] in ("nothing", CYCLES) or WHOLE in advice["estimate"]:
            continue
        name = "%s-%s.json" % (program, hashlib.sha256(advice["line"].encode()).hexdigest()[:12])
        lines = ("", advice["line"], advice["line"], "")
        runs = kept(given.dir / name, lambda: [run(given, program, line) for line in lines])
        for one in runs:
            one["ns"] = max(0, one["ns"] - each * one["collections"])
        rows.append((advice, {**recorded, "ns": whole}, mean(runs[:1] + runs[3:]), mean(runs[1:3])))
    return rows


def mean(runs):
    return {key: sum(one[key] for one in runs) / len(runs) for key in runs[0] if key != "program"}


def paused(given, program):
    """What the recording has, to which promises refer: a callback's own time counts in the program's books."""
    made = subprocess.run([GCTRACE, "report", "-f", "json", str(given.dir / (program + ".gct"))], check=True,
                          capture_output=True, text=True).stdout
    return next(r for r in map(json.loads, made.splitlines()) if r["type"] == "summary")["tracks"][0]["overlap_ns"]


def said_ns(text, before, after=""):
    """The duration that @text has between two others, 0 where it says nothing of it."""
    found = re.search(before + r"(\d[\d,.]*) (ns|µs|ms|s)\b" + after, text)
    return float(found[1].replace(",", "")) * {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[found[2]] if found else 0


def harms(advice, recorded, before, after):
    """What got worse than the words of the advice say; runs beside each other are held against each other."""
    found, words = [], advice["estimate"] + "; " + advice["risk"]
    longest = max(1, said_ns(words, "of up to "), said_ns(words, "longest may take "),
                  said_ns(words, "one full collection of about "), said_ns(words, ", later up to "))
    longest /= max(1, recorded["longest"])
    p99 = max(said_ns(words, r"99th percentile from \S+ \S+ to about "), said_ns(words, ", to ", " at worst"))
    p99 /= recorded["p99"]
    longest, p99 = max(1, longest) * before["longest"], max(1, p99) * before["p99"]
    grows = advice["grows_objects"]
    if after["longest"] > WORSE * longest + CHANCE_NS:
        found.append("longest pause %.0f ms, said %.0f" % (ms(after["longest"]), ms(longest)))
    if after["p99"] > WORSE * p99 + CHANCE_NS:
        found.append("p99 %.0f ms, said %.0f" % (ms(after["p99"]), ms(p99)))
    if grows is not None and after["most"] > WORSE * (before["most"] + grows) + CHANCE_OBJECTS:
        found.append("garbage %d, said %d more than %d" % (after["most"], grows, before["most"]))
    if grows == 0 and after["rss"] > WORSE * before["rss"] + CHANCE_BYTES:
        found.append("memory %d MB, was %d" % (after["rss"] >> 20, before["rss"] >> 20))
    return found


def saved_ns(recorded, before, after):
    """Of what the recording has the share that it saved of runs beside each other: how busy the machine is changes."""
    return recorded["ns"] * (1 - after["ns"] / max(1, before["ns"]))


def ms(ns):
    return ns / 1e6


def programs_of(given):
    if given.programs:
        return given.programs
    if not given.unseen:
        return advised.PROGRAMS
    command = [given.python, str(HERE / given.script), "--list", given.unseen]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--unseen", choices=("first", "second", "third", "fourth"))
    parser.add_argument("programs", nargs="*")
    given = parser.parse_intermixed_args()
    given.script = "unseen.py" if given.unseen else "advised.py"
    given.dir.mkdir(parents=True, exist_ok=True)
    within = ordered = pieces = several = harmful = 0
    print("| Program | Advice | Before | Promised (range) | Came | Full before, after | p99 before, after | Worst | "
          "Worse than said |")
    print("|---|---|---|---|---|---|---|---|---|")
    for program in programs_of(given):
        rows = follow_all(given, program)
        for advice, recorded, before, after in rows:
            saved = saved_ns(recorded, before, after)
            slack = 0.02 * recorded["ns"]
            low = advice["saves_low_ns"] - advice.get("worse_ns", 0)  # an older gctrace has none
            inside = low - slack <= saved <= advice["saves_high_ns"] + slack
            within, pieces = within + inside, pieces + 1
            worse = harms(advice, recorded, before, after)
            harmful += bool(worse)
            print("| %s | %s | %.0f ms | %.0f (%.0f – %.0f)%s | %.0f | %d, %d | %.1f, %.1f | %.0f, %.0f | %s |" % (
                program, advice["advice"], ms(recorded["ns"]), ms(advice["saves_ns"]), ms(low),
                ms(advice["saves_high_ns"]), "" if inside else " **no**", ms(saved), before["full"], after["full"],
                ms(before["p99"]), ms(after["p99"]), ms(before["worst"]), ms(after["worst"]),
                "; ".join(worse)), flush=True)
        if len(rows) > 1:
            came = [saved_ns(*row[1:]) for row in rows]
            several, ordered = several + 1, ordered + (came[0] >= 0.9 * max(came))
    print("\n%d of %d within their range; the first piece was best, or within a tenth of it, in %d of %d programs; "
          "%d made worse what was not said to be" % (within, pieces, ordered, several, harmful))


if __name__ == "__main__":
    main()
