"""What a pause has besides its time: objects of the heap, resident memory, a parent that waited."""

import contextlib
import os
import pathlib
import shutil
import sqlite3

import pytest

import harness

FACTS = harness.HERE / "facts.py"
# Each of the three counters that make up resident memory is kept per CPU, in batches, and BPF reads
# what was handed in so far.
CPUS = os.cpu_count()
RSS_SLACK = 3 * CPUS * max(32, 2 * CPUS) * os.sysconf("SC_PAGE_SIZE")


def start(bench, runtime):
    """facts.py beside its oracle.py, with a /proc of its own where there is a chroot."""
    folder = os.path.dirname(bench.script(runtime))
    shutil.copy(FACTS, pathlib.Path(runtime.root + folder if runtime.in_root else folder))
    argv = runtime.start_line(folder + "/" + FACTS.name, isolate=True)
    return bench.keep(harness.Oracle(argv, env=runtime.environment))


def record(bench, runtime, command, tier=None):
    """Runs one command under the tracer. Returns the process, its answer and the records."""
    target = start(bench, runtime)
    tracer = bench.record(target, tier=tier)
    answer = target.ask(command)
    assert target.quit() == 0
    tracer.finish()
    records = bench.report()
    assert records.recording["complete"] is True
    return target, answer, records


def near(value, wanted, slack):
    return value is not None and abs(value - wanted) <= slack


@pytest.mark.parametrize("tier", [None, "watchpoint"], ids=["best", "watchpoint"])
def test_heap(bench, runtime, tier):
    """Objects that survived the last full collection, and those that grew old since: exactly."""
    target, answer, records = record(bench, runtime, "heap 5 1009", tier)
    pauses = records.of_pid(target.pid)
    assert [p["generation"] for p in pauses] == [2, 2] + [0, 1, 2] * 5
    assert min(answer["aged"]) > 1009
    young, middle, full = pauses[2::3], pauses[3::3], pauses[4::3]
    assert [p["heap_objects"] for p in full] == answer["before"]
    assert [p["heap_pending"] for p in full] == answer["aged"]
    # what survived a full collection counts until the next one, whatever happens to the young
    for some in (young, middle):
        assert [p["heap_objects"] for p in some] == answer["before"]
        assert [p["heap_pending"] for p in some] == [0] * 5
    assert answer["after"] == full[-1]["heap_objects"] + full[-1]["heap_pending"]


@pytest.mark.parametrize("tier", [None, "watchpoint"], ids=["best", "watchpoint"])
def test_thresholds(bench, runtime, tier):
    """What the collector goes by: of the first pause, and of each before which it changed; of no other."""
    set_to = [(70001, 11, 13), (70001, 11, 17), (23003, 0, 17), (23003, 0, 17)]
    target, answer, records = record(
        bench, runtime, "thresholds " + " ".join(",".join(map(str, one)) for one in set_to), tier)
    pauses = records.of_pid(target.pid)
    assert [p["generation"] for p in pauses] == [0] + [0, 1] * len(set_to)
    with contextlib.closing(sqlite3.connect(bench.file)) as base:
        rows = base.execute("SELECT pause, key, value FROM fact ORDER BY pause, key").fetchall()
    assert [(pause, key) for pause, key, _ in rows] == [
        (pauses[i]["id"], "threshold%d" % generation) for i in (0, 1, 3, 5) for generation in range(3)]
    assert [value for _, _, value in rows] == [*answer["before"], *set_to[0], *set_to[1], *set_to[2]]


def test_resident(bench, runtime):
    """Resident memory at the begin and at the end, as the target's own /proc has it."""
    size = 64 << 20
    if RSS_SLACK > size / 4:
        pytest.skip("with %d processors resident memory is too coarse" % CPUS)
    target, answer, records = record(bench, runtime, "resident 3 %d" % size)
    pauses = records.of_pid(target.pid)[1:]
    assert len(pauses) == 3
    for pause, before, after in zip(pauses, answer["before"], answer["after"]):
        assert near(pause["rss_start"], before, RSS_SLACK)
        assert near(pause["rss_end"], after, RSS_SLACK)
        assert near(pause["rss_start"] - pause["rss_end"], size, 2 * RSS_SLACK)


def child_pause(records, answer):
    (pause,) = records.of_pid(answer["child"])
    return pause


def test_parent_waits(bench, runtime):
    target, answer, records = record(bench, runtime, "waiting 30")
    pause = child_pause(records, answer)
    assert pause["duration_ns"] >= 60_000_000
    assert 0.95 * pause["duration_ns"] <= pause["waited_ns"] <= pause["duration_ns"]
    # the parent's own parent is this test, which is not traced
    assert all(p.get("waited_ns") is None for p in records.of_pid(target.pid))


def test_parent_computes(bench, runtime):
    target, answer, records = record(bench, runtime, "computing 30")
    pause = child_pause(records, answer)
    assert pause["duration_ns"] >= 60_000_000
    assert 0 <= pause["waited_ns"] <= 0.1 * pause["duration_ns"]


def test_parent_computes_then_waits(bench, some_runtime):
    """In between: all but what the parent ran or was runnable, to the ns, as it slept at both ends."""
    _, answer, records = record(bench, some_runtime, "half 100")
    pause = child_pause(records, answer)
    assert answer["awake_ns"] >= 100_000_000
    assert pause["waited_ns"] >= 100_000_000
    assert pause["waited_ns"] + answer["awake_ns"] == pause["duration_ns"]


def test_parent_not_traced(bench, some_runtime):
    """Only the child is traced: whether anyone waited for it is not known, and not reported."""
    target = start(bench, some_runtime)
    child = target.ask("worker 30")["child"]
    tracer = bench.record(child)
    target.ask("go")
    tracer.finish()
    pause = child_pause(bench.report(), {"child": child})
    assert pause["duration_ns"] >= 60_000_000
    assert pause.get("waited_ns") is None
    assert target.quit() == 0
