"""A collection whose begin or end no probe sees is reported with what is known about it."""

import os
import time

import conftest
import snippets
from harness import gctrace
from test_counts import FUNCTION_TIERS


def kept(bench, budget):
    return gctrace("check", bench.file, "--budget", budget).returncode == 0


def only(records, **facts):
    assert len(records.pauses) == 1, records.pauses
    pause = records.pauses[0]
    found = {key: pause[key] for key in facts}
    assert found == facts
    assert pause["duration_ns"] == pause["end_ns"] - pause["start_ns"]
    return pause


def test_at_the_end(bench, runtime):
    """It had not ended when the recording did: at least that long."""
    target = snippets.start(bench, runtime)
    tracer = bench.record(target)
    before_ns = time.monotonic_ns()
    target.enter()
    inside_ns = time.monotonic_ns()
    assert tracer.interrupt() == 0
    target.leave()

    records = bench.report()
    pause = only(records, pid=target.pid, tid=target.pid, unfinished=True, begun_before=False)
    assert before_ns < pause["start_ns"] < inside_ns < pause["end_ns"]
    assert pause["end_ns"] <= records.recording["end_ns"]
    assert pause["cause"] == "manual"
    told = runtime.minor >= (3, 9) and records.process(target.pid)["tier"] in FUNCTION_TIERS
    assert pause["generation"] == (2 if told else None)
    assert records.recording["complete"] and not records.drops
    assert not kept(bench, "pause.max<1us")
    text = gctrace("report", bench.file).stdout.decode()
    assert "longest at least " in text and "it had not ended" in text


def test_from_before_to_after(bench, some_runtime):
    """It went on throughout the recording: that is not a quiet process."""
    target = snippets.start(bench, some_runtime)
    target.enter()
    live = bench.tracer("-p", target.pid)
    tracer = bench.record(target)
    tracing_ns = time.monotonic_ns()
    live.out.find(lambda line: "in progress" in line)
    until_ns = time.monotonic_ns()
    assert tracer.interrupt() == 0 and live.interrupt() == 0
    target.leave()

    records = bench.report()
    pause = only(records, pid=target.pid, tid=None, unfinished=True, begun_before=True)
    assert pause["start_ns"] < tracing_ns and until_ns < pause["end_ns"]
    assert pause["generation"] is None and pause["cause"] is None
    assert records.recording["complete"] and not records.drops
    assert not kept(bench, "pause.share<50%")
    text = gctrace("report", bench.file).stdout.decode()
    assert "look elsewhere" not in text and "it had begun before; it had not ended" in text


def test_from_before(bench, some_runtime):
    """It ended while it was watched; the collections after it are seen as usual."""
    target = snippets.start(bench, some_runtime)
    target.enter()
    live = bench.tracer("-p", target.pid)
    tracer = bench.record(target)
    tracing_ns = time.monotonic_ns()
    live.out.find(lambda line: "in progress" in line)
    until_ns = time.monotonic_ns()
    target.leave()
    left_ns = time.monotonic_ns()
    target.run("for i in range(3): gc.collect(1)")
    assert tracer.interrupt() == 0 and live.interrupt() == 0

    records = bench.report()
    first, *others = records.pauses
    assert first["begun_before"] and not first["unfinished"]
    # It is checked ten times a second.
    assert first["start_ns"] < tracing_ns and until_ns - 10**9 < first["end_ns"] < left_ns
    assert [p["generation"] for p in others] == [1, 1, 1]
    assert not any("begun_before" in p or "unfinished" in p for p in others)
    assert records.recording["complete"] and not records.drops


def test_killed(bench, some_runtime):
    """SIGKILL ends the pause with the process."""
    target = snippets.start(bench, some_runtime)
    tracer = bench.record(target)
    target.run("gc.collect(0)")
    target.enter(1)
    inside_ns = time.monotonic_ns()
    target.popen.kill()
    target.wait()
    tracer.finish()

    records = bench.report()
    assert [p.get("unfinished") for p in records.pauses] == [None, True]
    pause = records.pauses[1]
    assert pause["start_ns"] < inside_ns < pause["end_ns"]
    assert pause["end_ns"] <= records.process(target.pid)["exit_ns"]
    assert pause["cause"] == "manual"
    assert records.recording["complete"] and not records.drops
    assert not kept(bench, "pause.max<1us")


def test_lost_end(bench, some_runtime, monkeypatch):
    """Where the kernel does not find a thread's state at an end, the pause is over all the same: it is not
    said to go on until the recording or the thread ends."""
    kernel = tuple(int(n) for n in os.uname().release.split("-")[0].split(".")[:2])
    conftest.need("exit", kernel >= (6, 16), "a thread that exits has no memory left in this kernel")
    monkeypatch.setenv("GCTRACE_REFUSE", "task-storage")
    target = snippets.start(bench, some_runtime)
    tracer = bench.record(target)
    target.run("made = [threading.Thread(target=gc.collect, args=(0,)) for _ in range(997)]")
    target.run("for t in made: t.start(); t.join()")
    assert tracer.interrupt() == 0
    target.quit()

    records = bench.report()
    assert not any(p.get("unfinished") for p in records.pauses)
    assert not records.recording["complete"]
    missed = records.process(target.pid)["missed"]
    assert len(records.pauses) + missed == 997
    # One lookup of 97 fails, at a begin, or at an end with nothing after it. From 3.13 on a collection passes
    # several ends, and a later one may make up for an earlier one.
    causes = {d["cause"] for d in records.drops}
    assert causes >= {"thread-state"} and causes <= {"thread-state", "unfinished-pause"}
    assert "unfinished-pause" in causes or some_runtime.minor >= (3, 13)


def test_no_end_is_found(bench, some_runtime, monkeypatch):
    """The same at every end: all are missed, and the last pause is not said to go on."""
    monkeypatch.setenv("GCTRACE_REFUSE", "task-storage-at-ends")
    target = snippets.start(bench, some_runtime)
    tracer = bench.record(target)
    target.run("for i in range(7): gc.collect(1)")
    assert tracer.interrupt() == 0

    records = bench.report()
    assert records.pauses == []
    assert records.process(target.pid)["missed"] == 7
    assert {d["cause"]: d["count"] for d in records.drops} == {"unfinished-pause": 1}
    assert not records.recording["complete"]
