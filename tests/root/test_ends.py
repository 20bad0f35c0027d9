"""How recordings end: by signal, by the clock, by the death of the target or of the tracer."""

import re
import shutil
import signal
import sqlite3
import time

import pytest

import conftest
import harness
from harness import gctrace, held_in_kernel, in_kernel, wait_until
from test_counts import check_clean, check_sums


def test_interrupt(bench, runtime):
    """Ctrl-C ends the recording whole and leaves the target as it was."""
    target = bench.oracle(runtime)
    tracer = bench.record(target)
    held = held_in_kernel(tracer.pid)
    books = target.ask("collect 23 11 7")
    assert tracer.interrupt() == 0, tracer.err.text()
    target.ask("collect 5 3 2")
    assert target.quit() == 0

    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(target.pid), books)
    wait_until(lambda: not held & in_kernel(), what="the removal of all programs and links")


def test_duration(bench, some_runtime):
    target = bench.oracle(some_runtime)
    began = time.monotonic()
    tracer = bench.record(target, "-d", "1500ms")
    books = target.ask("collect 5 3 2")
    tracer.finish()  # the target lives, so that nothing but the clock ends it
    assert 1.5 < time.monotonic() - began < 5
    assert target.quit() == 0

    records = bench.report()
    check_clean(records)
    check_sums(records.pauses, books)
    span = records.recording["end_ns"] - records.recording["start_ns"]
    assert 1.5e9 <= span < 4e9


LONG = "1s"  # no other collection comes near it, however busy the machine is


def test_min_duration(bench, runtime):
    """Short pauses are left out of the list, not of the recording or the totals."""
    target = bench.oracle(runtime)
    recorder = bench.record(target)
    live = bench.tracer("-p", target.pid, "--json", "--min-duration", LONG)
    target.ask("collect 5 3 2")
    books = target.ask("finalizer 700")  # twice so long
    assert target.quit() == 0
    recorder.finish()
    live.finish()

    done = gctrace("report", bench.file, "-f", "json", "--min-duration", LONG)
    for text in (done.stdout.decode(), live.out.text()):
        records = harness.Records(text)
        check_sums(records.pauses, books)
        assert records.summary["pauses"] == 11
    assert len(bench.report().pauses) == 11


def test_target_killed_in_a_pause(bench, runtime):
    """The pause that never ended is reported as such."""
    target = bench.oracle(runtime)
    marker = bench.marker(runtime)
    tracer = bench.record(target)
    books = target.ask("collect 5 3 2")
    target.send("stuck " + marker.inside)
    wait_until(marker.outside.exists, what="the pause without end")
    target.popen.kill()
    target.wait()
    tracer.finish()

    records = bench.report()
    check_sums(records.pauses[:-1], books)
    assert records.pauses[-1]["unfinished"] and not records.drops


def test_in_progress(bench, some_runtime):
    """Live, a pause that has gone on for a second is shown before it ends."""
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("-p", target.pid)
    target.ask("collect 5 3 2")
    target.send("stuck " + str(bench.scratch / "marker"))
    assert tracer.out.find(lambda line: "in progress" in line, 10)
    target.popen.kill()
    tracer.finish()


def rows(path):
    """How many pauses a recording under way would hold if its writer died now."""
    copy = path.with_suffix(".copy")
    for end in ("", "-wal"):
        try:
            shutil.copy(str(path) + end, str(copy) + end)
        except FileNotFoundError:
            pass
    try:
        db = sqlite3.connect(copy)
        try:
            return db.execute("SELECT count(*) FROM pause").fetchone()[0]
        finally:
            db.close()
    except sqlite3.DatabaseError:
        return 0


@pytest.mark.parametrize("tier", [None, "watchpoint"], ids=["best", "watchpoint"])
def test_tracer_killed(bench, runtime, tier):
    target = bench.oracle(runtime)
    tracer = bench.record(target, tier=tier)
    held = held_in_kernel(tracer.pid)
    assert {kind for kind, _ in held} == {"prog", "link"} and held <= in_kernel()
    books = target.ask("collect 23 11 7")
    wait_until(lambda: rows(bench.file) == 41, what="the pauses in the file")
    tracer.popen.send_signal(signal.SIGKILL)
    assert tracer.wait() == -signal.SIGKILL

    target.ask("collect 23 11 7")
    target.ask("auto 3001")
    assert target.quit() == 0
    wait_until(lambda: not held & in_kernel(), what="the removal of all programs and links")
    records = bench.report()
    assert records.recording["complete"] is False
    check_sums(records.of_pid(target.pid), books)
    text = gctrace("report", bench.file)
    assert text.returncode == 0
    assert b"incomplete" in text.stdout.lower()


@conftest.full_only
def test_tracer_killed_in_a_storm(bench, some_runtime):
    """Whatever was committed last, the file holds the names that its pauses refer to."""
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, "--stack-min", "0")
    target.send("new_names 1.5")
    wait_until(lambda: rows(bench.file) > 1000, what="the first pauses in the file")
    time.sleep(0.23)  # so as to die in the middle of a transaction, not right after one
    tracer.popen.send_signal(signal.SIGKILL)
    tracer.wait()
    assert target.answer()["names"] > 100
    assert target.quit() == 0

    records = bench.report()
    assert records.recording["complete"] is False
    assert len(records.pauses) > 1000
    named = [p for p in records.pauses if p["stack"][0]["function"].startswith("fresh")]
    assert len(named) == len(records.pauses)


@conftest.full_only
def test_disk_full(bench, some_runtime):
    """A recording that no longer fits says so, keeps what it has, and harms nobody."""
    disk = bench.small_disk("8m")
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("record", "-p", target.pid, "-o", disk / "run.gct")
    while not re.search("full|No space", tracer.err.text()):
        target.ask("sleepless 0.1")
    target.ask("collect 5 3 2")
    assert target.quit() == 0
    assert tracer.wait(30) == 1

    done = gctrace("report", disk / "run.gct", "-f", "json")
    assert done.returncode == 0, done.stderr.decode()
    records = harness.Records(done.stdout.decode())
    assert records.recording["complete"] is False
    assert len(records.pauses) > 0
