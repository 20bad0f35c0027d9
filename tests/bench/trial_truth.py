#!/usr/bin/env python3
"""What gctrace trial says of a setting, against runs of the same program with and without that setting from the start.

usage: trial_truth.py [-n PAIRS] [-d TIME] [--blocks N] [--keep FILE] GCTRACE [NAME...]

NAME: a part of a program's name. Half of the pairs of runs come before the trial and half after it; in each pair the order
alternates. Both effects are shares of a step's mean length, with 95 % intervals; "apart" is how far they are from each other,
in standard errors of that difference. The effect of each pair of runs also has a median and quartiles, and the effect on CPU time
stands beside that on the clock: what else the machine does changes the clock's more. With --keep runs and trials are added to a file, and
the figures are of all that is in it: -n 0 adds a trial only, -d 0 runs only. The programs run under SCHED_FIFO, so that what else
runs does not keep them waiting, or as TRIAL_POLICY says ("nice -n -5"); on the processor TRIAL_CPU, if that is set. Needs root, and
scripts/workloads.
"""

import argparse
import datetime
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
CACHE = Path(os.environ.get("GCTRACE_CACHE") or Path.home() / ".cache/gctrace")
SYSTEM = "/usr/bin/python3"
JAX = CACHE / "workloads/jax-3.11/bin/python"
WORKLOADS = SOURCE / "tests/workloads"
FOR_EVER = 10**9
WARM_S = 5  # of a program before its trial
RUN_S = 600  # no run is that long
CPU = os.environ.get("TRIAL_CPU")
POLICY = os.environ.get("TRIAL_POLICY", "chrt -f 1").split()


class Program:
    def __init__(self, python, argv, setting, skipped, counted, options=()):
        self.python, self.argv = python, argv
        self.setting = setting
        self.options = options  # of the trial
        self.skipped, self.counted = skipped, counted  # steps of a run

    def command(self, setting, steps):
        loop = [self.python, HERE / "trial_loop.py", setting, steps, *self.argv]
        pinned = ["taskset", "-c", CPU] if CPU else []
        return [*pinned, *POLICY, *(str(word) for word in loop)]

    def means(self, setting, more):
        """Of a run's steps, after its first, by the clock and by CPU time; @more of them are skipped, so that not every run has
        its collections at the same steps."""
        steps = "%d:%d" % (self.skipped + more, self.counted)
        done = subprocess.run(
            self.command(setting, steps), stdout=subprocess.PIPE, timeout=RUN_S, check=True)
        return [float(ns) for ns in done.stdout.decode().split("MEAN ")[1].split()[:2]]


# The setting is the one that a trial would try by itself: the youngest generation's threshold times 100.
PROGRAMS = {
    "demo": Program(SYSTEM, [SOURCE / "demo/train.py", "--seconds", FOR_EVER], "threshold=70000", 200, 2500),
    "checkpointing": Program(
        SYSTEM, [WORKLOADS / "torch_checkpoint.py", "--steps", FOR_EVER], "threshold=70000", 50, 400),
    "Equinox": Program(
        JAX, [WORKLOADS / "equinox_train.py", "--steps", FOR_EVER], "threshold=70000", 100, 1500),
    "Q-learning": Program(
        SYSTEM, [WORKLOADS / "plain.py", "--steps", FOR_EVER], "threshold=70000", 5000, 20000,
        ["--step", "libc:clock_gettime", "--max-rss", "8G"]),  # nothing marks its steps, and what it keeps grows
    "CNN": Program(SYSTEM, [WORKLOADS / "torch_cnn.py", "--steps", FOR_EVER, "--gc", "threshold10"],
                   "threshold=1000", 200, 3000, ["--max-rss", "8G"]),  # its history of losses grows
}


class Effect:
    """An estimate with its interval, and the standard error that made it."""

    def __init__(self, estimate, low, high, error, pairs):
        self.estimate, self.low, self.high = estimate, low, high
        self.error, self.pairs = error, pairs

    def __str__(self):
        return "%+.2f %% (%+.2f to %+.2f), %d pairs" % (
            100 * self.estimate, 100 * self.low, 100 * self.high, self.pairs)


def quantile(freedom):
    """97.5 % of Student's t, to 1 % from four degrees of freedom on."""
    return 1.96 + 2.37 / freedom + 2.8 / freedom**2


def effect_of_runs(pairs):
    base = statistics.fmean(was for was, _ in pairs)
    estimate = statistics.fmean(now for _, now in pairs) / base - 1
    rest = [now - was * (1 + estimate) for was, now in pairs]
    error = (sum(r * r for r in rest) / (len(rest) - 1) / len(rest)) ** 0.5 / base
    reach = quantile(len(pairs) - 1) * error
    return Effect(estimate, estimate - reach, estimate + reach, error, len(pairs))


def trial_of(given, program):
    """The record of its outcome."""
    process = subprocess.Popen(program.command("same", "0"), stdout=subprocess.DEVNULL)
    try:
        wait_for_steps(process)
        done = subprocess.run(
            [os.path.abspath(given.gctrace), "trial", "-p", str(process.pid), "--set", program.setting, "-d", given.duration,
             *(["--blocks", given.blocks] if given.blocks else []), *program.options, "--json"],
            stdout=subprocess.PIPE, check=True)
    finally:
        process.kill()
        process.wait()
    return json.loads(done.stdout.decode().splitlines()[-1])


def effect_of_trial(said):
    low, high, pairs = said["step_effect_low"], said["step_effect_high"], said["pairs"]
    return Effect(said["step_effect"], low, high, (high - low) / 2 / quantile(pairs - 1), pairs)


def wait_for_steps(process):
    """Until it has trained for a while: it then computes all the time."""
    ticks, busy = os.sysconf("SC_CLK_TCK"), 0
    while busy < WARM_S:
        before = cpu_ticks(process.pid)
        time.sleep(1)
        busy = busy + 1 if cpu_ticks(process.pid) - before > ticks / 2 else 0


def cpu_ticks(pid):
    return int(Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()[11])


class Kept:
    """What was measured of each program, in a file if there is one."""

    def __init__(self, path):
        self.path = path and Path(path)
        self.all = json.loads(self.path.read_text()) if self.path and self.path.exists() else {}

    def add(self, name, what, value):
        self.all.setdefault(name, {"runs": [], "trials": []})[what].append(value)
        if self.path:
            self.path.write_text(json.dumps(self.all))

    def runs(self, name, clock):
        return [(was[clock], now[clock]) for was, now in self.all[name]["runs"]]

    def trials(self, name):
        return self.all[name]["trials"]


def measure(given, name, program, kept):
    chance = random.Random()
    say = lambda text: given.verbose and print(text, file=sys.stderr, flush=True)
    for number in range(given.pairs + 1):
        if number == given.pairs // 2 and given.duration != "0":
            kept.add(name, "trials", trial_of(given, program))
            say("trial: %s" % effect_of_trial(kept.trials(name)[-1]))
        if number == given.pairs:
            return
        means = {}
        for setting in ("same", program.setting)[:: 1 if number % 2 else -1]:
            means[setting] = program.means(setting, chance.randrange(program.skipped))
        kept.add(name, "runs", (means["same"], means[program.setting]))
        say("runs: %.3f ms, %.3f ms; CPU %.3f, %.3f" % tuple(
            means[setting][clock] / 1e6 for clock in (0, 1) for setting in ("same", program.setting)))


def row(name, program, kept):
    by_clock, by_cpu = (effect_of_runs(kept.runs(name, clock)) for clock in (0, 1))
    quartiles = statistics.quantiles([now / was - 1 for was, now in kept.runs(name, 0)], n=4)
    for said in kept.trials(name):
        trial = effect_of_trial(said)
        apart = (trial.estimate - by_clock.estimate) / (trial.error**2 + by_clock.error**2) ** 0.5
        print("| %s | `%s` | %s | %s | %s | %s | %+.1f |" % (
            name, program.setting, trial, by_clock, " / ".join("%+.2f" % (100 * q) for q in quartiles), by_cpu, apart),
            flush=True)


def machine(gctrace):
    model = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")][0]
    version = subprocess.run([gctrace, "version"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    return "%s, %s: %d cores, %s, Linux %s" % (
        version, datetime.date.today(), os.cpu_count(), model, platform.release())


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("gctrace")
    options.add_argument("-n", "--pairs", type=int, default=10)
    options.add_argument("-d", "--duration", default="2m", help="of the trial (2m); 0: none")
    options.add_argument("--blocks", help="of the trial")
    options.add_argument("--keep", metavar="FILE", help="add to what is in it")
    options.add_argument("-v", "--verbose", action="store_true", help="print each run, too")
    options.add_argument("names", nargs="*", metavar="NAME")
    given = options.parse_args()
    kept = Kept(given.keep)
    print(machine(given.gctrace))
    for name, program in PROGRAMS.items():
        if not given.names or any(part in name for part in given.names):
            measure(given, name, program, kept)
    print("\n| Program | Tried | Trial | Runs | Quartiles | By CPU time | Apart |\n|" + "---|" * 7)
    for name in kept.all:
        if len(kept.runs(name, 0)) > 1:
            row(name, PROGRAMS[name], kept)


if __name__ == "__main__":
    main()
