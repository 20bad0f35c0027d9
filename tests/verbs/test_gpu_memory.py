"""Memory of GPUs and stalls of its allocator in every report: recordings of a loop that allocates and frees by plan."""
import json
import sqlite3

import pytest

from recording import BEGIN, MS, Recording, gctrace

STEPS, EVERY, STEP, PAUSE = 211, 53, 20 * MS, 50 * MS
RETRIES = (31, 97, 151)  # steps in which the allocator had to free
RETRY = 30 * MS  # 7 ms to fail, 2 × 8 ms to free, 7 ms to allocate
GROWTH = 11  # in this one it only grew, for as long
GIB = 1 << 30
WAIT, ALLOCATE, FREES, FAILED = 1, 2, 4, 8


class Loop:
    """Each step allocates 64 MiB, which one full collection in every 53rd step returns."""

    def __init__(self, path):
        made = Recording(path)
        series = made.signal("torch:record", "Optimizer.step#Adam.step")
        self.levels, self.changes, self.memory, self.calls, self.busy = [], [], [], [], []
        now, level, before = 0, 0, None
        for i in range(STEPS):
            made.mark(series, now, rss=10**8)
            self.busy.append((BEGIN + now, before))
            before = BEGIN + now
            level += 64 << 20
            self.memory.append((BEGIN + now + MS, level))
            length = STEP
            if i in RETRIES or i == GROWTH:
                self.retry(now + 3 * MS, free=i in RETRIES)
                length += RETRY
            if i % EVERY == EVERY - 1:
                made.pause(now + length // 2, PAUSE, generation=2, collected=97)
                # Most within it, some by a finalizer after it, and what the step itself frees later is not its.
                self.changes.append(-level + (1 << 20))
                self.memory.append((BEGIN + now + length // 2 + 7 * MS, 32 << 20))
                self.memory.append((BEGIN + now + length // 2 + PAUSE + 2 * MS, 1 << 20))
                self.memory.append((BEGIN + now + length // 2 + PAUSE + 3 * MS, 2 << 20))
                self.memory.append((BEGIN + now + length // 2 + PAUSE + 4 * MS, 0))
                level = 0
                length += PAUSE
            now += length
            self.levels.append(level)
        made.close(now)
        self.write(path, now)

    def retry(self, at, free):
        for kind, flags, ns in (("fails", FAILED, 7), ("frees", FREES, 8), ("frees", FREES, 8), ("allocates", 0, 7)):
            self.calls.append((BEGIN + at, ns * MS, flags if free else None))
            at += ns * MS

    def write(self, path, end):
        with sqlite3.connect(str(path)) as db:
            db.execute("INSERT INTO gpu_device VALUES (1, 0, 'NVIDIA H100', ?, ?, ?, 0)", (80 * GIB, BEGIN, BEGIN + end + 1))
            db.execute("INSERT INTO gpu_launcher VALUES (1, 4711, ?, ?)", (STEPS, STEP))
            db.executemany("INSERT INTO gpu_busy (process, device, start_ns, duration_ns, launch_ns, previous_ns, tid, gaps_ns,"
                           " starved_ns) VALUES (1, 0, ?, ?, ?, ?, 4711, 0, 0)",
                           [(start, 15 * MS, start, before) for start, before in self.busy])
            db.executemany("INSERT INTO gpu_memory (process, device, time_ns, bytes) VALUES (1, 0, ?, ?)", self.memory)
            db.executemany("INSERT INTO gpu_call (process, tid, kind, start_ns, duration_ns, flags) VALUES (1, 4711, 2, ?, ?, ?)",
                           self.calls)


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run.gct"
    return path, Loop(path)


def said(*words):
    done = gctrace(*words)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def records(*words):
    return [json.loads(line) for line in said("report", *words, "-f", "json").splitlines()]


def test_steps_and_pauses(run):
    path, loop = run
    found = records(path)
    steps = [r for r in found if r["type"] == "step"]
    assert [s["gpu_memory_bytes"] for s in steps] == loop.levels
    assert [r["gpu_memory_change_bytes"] for r in found if r["type"] == "pause"] == loop.changes


def test_allocator_stalls(run):
    """Steps that freed to allocate, for that long; growth is none. They are named beside the pauses, and in no cost."""
    path, _ = run
    found = records(path)
    steps = [r for r in found if r["type"] == "step"]
    assert {s["index"]: s["gpu_allocator_ns"] for s in steps if s["gpu_allocator_ns"]} == dict.fromkeys(RETRIES, RETRY)
    (track,) = found[-1]["tracks"]
    assert (track["slow_allocator"], track["gpu_allocator_ns"]) == (len(RETRIES), len(RETRIES) * RETRY)
    assert track["slow_other"] == len(RETRIES) + 1
    assert track["overlap_ns"] == STEPS // EVERY * PAUSE
    text = said("report", path)
    assert " 4 steps were 1.5 × the median or slower for another reason than GC." in text
    assert " 3 of them were allocator stalls: memory of a GPU was freed to get more, for 90.00 ms." in text
    assert "not GC: allocator of GPU memory" in text


def test_what_collections_return(run):
    path, loop = run
    text = said("report", path)
    assert "; generation-2 collections returned a median of 3.3G of GPU memory." in text.split("\n\n")[0]
    assert text.count("of its memory returned") == STEPS // EVERY
    assert "MEMORY" in text


def test_missing_records(run):
    """From when records are missing, sums are not known; pauses before that are."""
    path, loop = run
    with sqlite3.connect(str(path)) as db:
        (middle,) = db.execute("SELECT start_ns + 1 FROM pause ORDER BY id LIMIT 1 OFFSET 1").fetchone()
        db.execute("INSERT INTO gpu_unknown (process, device, start_ns, end_ns, records, why) VALUES (1, 0, ?, ?, 23, 1)",
                   (middle, middle + MS))
    found = records(path)
    assert [r["gpu_memory_change_bytes"] for r in found if r["type"] == "pause"] == [loop.changes[0], None, None]
    steps = [r for r in found if r["type"] == "step"]
    known = [s for s in steps if s["gpu_memory_bytes"] is not None]
    assert known == [s for s in steps if s["end_ns"] <= middle]
    assert [s["gpu_memory_bytes"] for s in known] == loop.levels[:len(known)]


def test_without_records_of_memory(run):
    """Nothing is said of it."""
    path, _ = run
    with sqlite3.connect(str(path)) as db:
        db.execute("DELETE FROM gpu_memory")
        db.execute("DELETE FROM gpu_call")
    found = records(path)
    for record in found:
        assert not [key for key in record if "memory" in key or "allocator" in key]
    text = said("report", path)
    assert "MEMORY" not in text and "allocator" not in text
