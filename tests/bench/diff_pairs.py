#!/usr/bin/env python3
"""How often `gctrace diff` tells equal runs apart: records demo/train.py several times, then compares each pair.

    sudo GCTRACE=build/gctrace tests/bench/diff_pairs.py FOLDER [RUNS [SECONDS]]

Recordings that FOLDER has already are kept: so another build can judge the same ones.
"""

import collections
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys

DEMO = pathlib.Path(__file__).resolve().parents[2] / "demo/train.py"


def record(path, seconds):
    subprocess.run(
        [os.environ["GCTRACE"], "run", "-o", str(path), "--", sys.executable, str(DEMO), "--seconds", str(seconds)],
        stdout=subprocess.DEVNULL, check=True, timeout=60 + 4 * seconds,
    )


def compare(before, after):
    done = subprocess.run(
        [os.environ["GCTRACE"], "diff", str(before), str(after), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=120,
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    mean = next(r for r in records if r.get("name") == "step.mean")
    return records[-1]["answer"], done.returncode, mean


def main():
    folder = pathlib.Path(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 14
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / ("%02d.gct" % i) for i in range(runs)]
    for path in paths:
        if not path.exists():
            record(path, seconds)
    answers, means = collections.Counter(), {}
    for before, after in itertools.combinations(paths, 2):
        answer, status, mean = compare(before, after)
        answers[answer, status] += 1
        means[before], means[after] = mean["before"], mean["after"]
    print("%d runs, mean step %.2f to %.2f ms, standard deviation %.0f %%" % (
        runs, min(means.values()) / 1e6, max(means.values()) / 1e6,
        100 * statistics.stdev(means.values()) / statistics.mean(means.values())))
    for (answer, status), count in answers.most_common():
        print("%4d pairs: %s, status %d" % (count, answer, status))


if __name__ == "__main__":
    main()
