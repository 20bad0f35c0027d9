"""The real CUPTI shim in a real Python on the mock of CUDA: through uprobes, ring and file comes what the mock's book has."""

import json
import sqlite3
import sys

import pytest

import conftest
import harness
from harness import gctrace

sys.path.insert(0, str(harness.SOURCE / "tests" / "cupti"))
import mock  # noqa: E402

WAYS = {"best": None, "multi": "session", "perf": "session,multi"}

# Kernels apart, before and after: what is joined lies all within what was recorded.
TRAINING = """
def apart(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        launch(20000)
        sync()
        time.sleep(0.001)

print("ready", flush=True)
sys.stdin.readline()
apart(1.0)
%s
apart(0.7)
"""


def environment(bench, runtime, variant):
    if not mock.have_mock():
        conftest.need("cupti", False, "CUPTI's headers were not here when this was built")
    libraries = mock.folder(bench.scratch / "lib", variant)
    env = mock.environment(libraries, mock.SHIM, SUBJECT_BOOK=bench.scratch / "book") | runtime.environment
    env["LD_LIBRARY_PATH"] = ":".join(
        filter(None, [str(libraries), runtime.environment.get("LD_LIBRARY_PATH")])
    )
    return env


def run_training(bench, runtime, code, variant="13", **more):
    """Returns the base of the recording, and the book. @more: of the environment."""
    env = environment(bench, runtime, variant) | more
    target = bench.process([runtime.exe, mock.HERE / "subject.py", TRAINING % code], env=env)
    assert target.out.next() == "ready", target.err.text()
    tracer = bench.record(target, "--gpu", "measure")
    target.send("go")
    assert target.wait(60) == 0, target.err.text()
    tracer.finish()
    base = sqlite3.connect(bench.file)
    base.row_factory = sqlite3.Row
    return base, mock.read_book(bench.scratch / "book")


def read_busy(base):
    """As records of the shim, for mock.runs_said()."""
    return [
        mock.Record(
            mock.BUSY,
            row["device"],
            row["start_ns"],
            row["start_ns"] + row["duration_ns"],
            row["launch_ns"] or 0,
            row["previous_ns"] or 0,
            row["tid"] or 0,
            row["unsure_ns"] or 0,
            row["gaps_ns"],
            row["starved_ns"],
        )
        for row in base.execute("select * from gpu_busy")
    ]


def check_runs(base, book, one_stream=True):
    """Every run of the book that lies in what is known is in the file, to the nanosecond, and no other one. Of several streams, for
    how long one may have starved is exact where one record says all of a run: the shim hands over ten times a second."""
    assert base.execute("select * from drops").fetchall() == []
    said, wanted = mock.runs_said(read_busy(base)), mock.runs_of(book)
    devices = base.execute("select * from gpu_device where until_ns is not null").fetchall()
    compared = 0
    for device in devices:
        seen, until = device["seen_ns"], device["until_ns"]
        found = [run for run in said[device["device"]] if run["end"] <= until]
        known = [run for run in wanted[device["device"]] if seen <= run["start"] and run["end"] <= until]
        # What came before the first is not known.
        for run in found[:1] + known[:1]:
            run["previous"] = 0
        assert len(found) == len(known)
        for one, other in zip(found, known):
            if not one.pop("whole"):
                assert not one_stream, "streams beside each other"
                one["unsure"] = other["unsure"]
        assert found == known
        compared += len(known)
    assert compared > 0


@pytest.mark.parametrize("way", WAYS)
def test_training(bench, some_runtime, way, monkeypatch):
    """Steps with collections by hand between: busy times, the thread, the waits; and all of the pauses."""
    if WAYS[way]:
        monkeypatch.setenv("GCTRACE_REFUSE", WAYS[way])
    base, book = run_training(bench, some_runtime, "train(61, 23, 100000, 2, None, 1000, 20000)")
    check_runs(base, book)
    (launcher,) = base.execute("select * from gpu_launcher").fetchall()
    (pid,) = base.execute("select pid from process where id = ?", [launcher["process"]]).fetchone()
    assert launcher["tid"] == pid
    assert {row["tid"] for row in base.execute("select tid from gpu_busy")} == {pid}
    (waits,) = base.execute("select count(*) from gpu_call where kind = 1").fetchone()
    assert waits > 61
    assert len([p for p in bench.report().pauses if p["cause"] == "manual"]) == 8


@pytest.mark.parametrize("variant", ["12", "old"])
def test_other_versions(bench, some_runtime, variant):
    base, book = run_training(bench, some_runtime, "train(23, 23, 100000, 2)", variant)
    check_runs(base, book)


def test_without_cupti(bench, some_runtime):
    """Nothing is recorded, the program does not notice, and the recording says why."""
    base, book = run_training(bench, some_runtime, "train(5, 5, 10000, 1)", None)
    assert book
    (unknown,) = base.execute("select * from gpu_unknown").fetchall()
    assert unknown["why"] == 5
    assert base.execute("select * from gpu_busy").fetchall() == []


def test_run(bench, some_runtime):
    """gctrace run lets CUDA load the shim that was built beside it."""
    env = environment(bench, some_runtime, "13")
    del env["CUDA_INJECTION64_PATH"]
    command = [some_runtime.exe, mock.HERE / "subject.py", "train(101, 23, 100000, 2)"]
    done = gctrace("run", "-o", bench.file, "--", *command, env=env)
    assert done.returncode == 0, done.stderr.decode()
    base = sqlite3.connect(bench.file)
    assert base.execute("select count(*) from gpu_device").fetchone() == (1,)


HELD = """
cache = Cache()

class Tensor:
    def __init__(self, size):
        self.block, self.other = cache.allocate(size), None
    def __del__(self):
        cuda.mock_free(self.block[1], self.block[0])  # past the cache: at once

for i in range(28):  # so that nothing is left to free after the book was written
    launch(300000)
    sync()
    one, other = Tensor((1 + i % 5) << 20), Tensor(3 << 20)
    one.other, other.other = other, one
    del one, other
    kept = cache.allocate((1 + i // 5) << 20)
    cache.release(kept)
    if i % 7 == 6:
        gc.collect()
        time.sleep(0.02)  # what comes next is not the pause's
"""


def test_memory_and_retries(bench, some_runtime):
    """Garbage that holds memory of a GPU: what each collection returns, and each call of an allocator that runs out."""
    base, book = run_training(bench, some_runtime, HELD, MOCK_MEMORY=str(67 << 20))
    assert base.execute("select * from drops").fetchall() == []
    calls = [e for e in book if e.kind in (mock.ALLOCATED, mock.FREED)]
    said = [tuple(row) for row in base.execute("select start_ns, start_ns + duration_ns, tid, coalesce(flags, 0) from gpu_call"
                                               " where kind = 2 order by start_ns, id")]
    assert said == sorted((e.call, e.returned, e.tid, mock.FREES * (e.kind == mock.FREED) | mock.FAILED * (e.stream != 0))
                          for e in calls)
    level, levels = 0, []
    for e in sorted((e for e in calls if not e.stream), key=lambda e: e.call):
        level += e.start if e.kind == mock.ALLOCATED else -e.start
        levels.append(level)
    assert [row["bytes"] for row in base.execute("select bytes from gpu_memory order by time_ns, id")] == levels
    records = [json.loads(line) for line in gctrace("report", bench.file, "-f", "json").stdout.splitlines()]
    pauses = [r for r in records if r["type"] == "pause" and r["cause"] == "manual"]
    freed = [-sum(e.start for e in calls if e.kind == mock.FREED and p["start_ns"] <= e.call < p["end_ns"]) for p in pauses]
    assert len(pauses) == 4 and all(freed)
    assert [p["gpu_memory_change_bytes"] for p in pauses] == freed
