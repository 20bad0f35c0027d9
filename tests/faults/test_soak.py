"""Random workloads, traced and not: the same output, the same end, books equal or the lack counted.

$GCTRACE_SOAK_S says for how many seconds in all (two minutes). One tracer of many workloads, one after
the other, must not grow. What a workload does follows from its
seed, which a failure names; GCTRACE_SOAK_SEED=N begins there.
"""

import collections
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

import building
import conftest
import harness

LOAD = Path(__file__).resolve().parent / "soak" / "soak_load.py"
SECONDS = float(os.environ.get("GCTRACE_SOAK_S") or 120)
FIRST_SEED = int(os.environ.get("GCTRACE_SOAK_SEED") or 1)
ACTIONS = 23
GROWTH_BYTES = 40 << 20  # the names of 32,768 functions at most, of these processes and those before
LEAST_ROUNDS = 2  # on a machine too slow for its share of the time


@pytest.fixture(autouse=True)
def patience(timeout):
    """The requested time, on top of a test's own."""
    signal.alarm(int(SECONDS) + conftest.TIMEOUT_S)


class Load:
    """One run of the workload: its output, its status, and the location of its processes' books."""

    def __init__(self, bench, runtime, seed, name):
        self.shares_books = runtime.minor == (3, 8)  # one collector for all interpreters
        script = Path(bench.script(runtime)).parent / "soak_load.py"
        folder = Path(runtime.root + str(script)).parent if runtime.in_root else script.parent
        shutil.copy(LOAD, folder / script.name)
        self.truth = folder / name
        argv = runtime.start_line(str(script), isolate=True)
        argv += [str(seed), str(ACTIONS), str(script.parent / name)]
        self.process = bench.process(argv, env=runtime.environment)
        assert self.process.out.next() == "ready", self.process.err.text()

    def finish(self):
        self.process.send("go")
        self.status = self.process.wait(60)
        self.process.out.find(lambda line: False, 20)  # to its end
        return self.process.out.text(), self.status

    def windows(self):
        """(pid, from, until, collections per generation) of each process, or part of its life; and
        (pid, tid, from, until) of what was another interpreter's, which has its own books."""
        begun, lives, others = {}, [], []
        for line in self.truth.read_text().splitlines():
            note = json.loads(line)
            pid, event = note["pid"], note["event"]
            if event in ("begin", "away"):
                begun[pid, event] = note
            elif event == "back":
                away = begun.pop((pid, "away"))
                others.append((pid, note["tid"], away["ns"], note["ns"]))
            else:
                before = begun.pop((pid, "begin"))
                gained = [a - b for a, b in zip(note["collections"], before["collections"])]
                lives.append((pid, before["ns"], note["ns"], gained))
        return lives, [] if self.shares_books else others


def within(pause, start_ns, end_ns):
    return start_ns <= pause["start_ns"] and pause["end_ns"] <= end_ns


def lacking(records, lives, others):
    """How many collections in the books have no pause; no generation may have more pauses than collections."""
    lack = collections.Counter()
    for pid, start_ns, end_ns, gained in lives:
        mine = [p for p in records.of_pid(pid) if within(p, start_ns, end_ns)]
        for of, tid, away_ns, back_ns in others:
            if of == pid:
                mine = [p for p in mine if p["tid"] != tid or not within(p, away_ns, back_ns)]
        seen = harness.per_generation(mine)
        assert all(s <= g for s, g in zip(seen, gained)), (pid, seen, gained)
        lack[pid] += sum(gained) - sum(seen)
    return lack


def check_books(records, lives, others):
    """What has no pause is reported, as missed by its process or as a drop. Returns how much that is."""
    lack = lacking(records, lives, others)
    missed = {pid: records.process(pid).get("missed") or 0 for pid in lack}
    untold = sum(max(n - missed[pid], 0) for pid, n in lack.items())
    assert untold <= sum(d["count"] for d in records.drops), (lack, missed, records.drops)
    # nothing that was seen is called missed
    assert sum(p.get("missed") or 0 for p in records.processes) <= sum(lack.values())
    if sum(lack.values()):
        assert records.recording["complete"] is False
    return sum(lack.values())


def round_of(bench, runtime, seed):
    plain = Load(bench, runtime, seed, "plain-%d" % seed)
    expected = plain.finish()
    traced = Load(bench, runtime, seed, "traced-%d" % seed)
    tracer = bench.record(traced.process)
    assert traced.finish() == expected, "seed %d" % seed
    tracer.finish(30)
    return traced.windows()


def test_soak(bench, runtime):
    end = time.monotonic() + SECONDS * 2 / 3 / len(conftest.PLAIN)
    seed, totals = FIRST_SEED, collections.Counter()
    while time.monotonic() < end or seed < FIRST_SEED + LEAST_ROUNDS:
        lives, others = round_of(bench, runtime, seed)
        assert len(lives) > 1, "seed %d forked nothing" % seed
        totals["lacking"] += check_books(bench.report(), lives, others)
        totals["processes"] += len(lives)
        totals["collections"] += sum(sum(gained) for _, _, _, gained in lives)
        totals["rounds"] += 1
        seed += 1
    print(runtime, dict(totals))  # pytest -rP shows it


FOREVER = """
while read seed; do
    echo go | "$0" "$@" $seed %d "$TRUTH" >/dev/null 2>&1
    echo done
done
""" % ACTIONS


def test_memory_is_flat(bench, some_runtime):
    script = Path(bench.script(some_runtime)).parent / "soak_load.py"
    folder = Path(some_runtime.root + str(script)).parent if some_runtime.in_root else script.parent
    shutil.copy(LOAD, folder / script.name)
    argv = some_runtime.start_line(str(script), isolate=True)
    env = dict(some_runtime.environment, TRUTH=str(script.parent / "truth"))
    loop = bench.process(["sh", "-c", FOREVER] + argv, env=env)
    tracer = bench.record(loop, "--wait")
    begin, sizes = time.monotonic(), []
    while time.monotonic() < begin + SECONDS / 3 / 2 or len(sizes) < 7:
        loop.send(str(len(sizes)))
        assert loop.out.next(60) == "done"
        sizes.append(building.memory_kib(tracer.pid, "VmRSS") << 10)
    loop.popen.stdin.close()
    assert loop.wait() == 0
    tracer.finish(30)
    assert max(sizes) <= sizes[0] + GROWTH_BYTES, sizes
    count = len(bench.report().processes)
    assert count > 7 * len(sizes) / 2
    print(some_runtime, "%d processes, MiB:" % count, [round(s / 2**20, 1) for s in (sizes[0], sizes[len(sizes) // 2], sizes[-1])])
