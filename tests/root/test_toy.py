"""A runtime that the tests bring along (tests/toy): what a session does for one that it has never met."""

import os
import subprocess
import time

import pytest

import harness

TOY = os.path.join(os.path.dirname(os.environ.get("GCTRACE", "")), "tests", "toy", "toy")
PAUSES = 23
SLEPT_NS = 1_000_000

pytestmark = pytest.mark.skipif(not os.path.exists(TOY), reason="built without -Dtoy=true")


def check_whole(records):
    """What the toy's own counter says is what its probes saw, in both directions."""
    assert records.recording["complete"], records.drops
    assert [(p["runtime"], p["missed"]) for p in records.processes] == [("toy", 0)]
    assert all(p["runtime"] == "toy" for p in records.pauses)
    assert all(p["duration_ns"] >= SLEPT_NS for p in finished(records))


def finished(records):
    return [p for p in records.pauses if not p.get("unfinished") and not p.get("begun_before")]


def test_from_its_first_pause_on(bench):
    done = subprocess.run(
        [os.environ["GCTRACE"], "run", "-o", bench.file, "--", TOY, str(PAUSES), "1000"],
        timeout=60 * harness.SLOWNESS,
    )
    assert done.returncode == 0
    records = bench.report()
    check_whole(records)
    assert len(records.pauses) == PAUSES


def test_joined_and_left_on_its_way(bench):
    """Attach and end fall into pauses, as nearly all of its time is one: neither counts as missed."""
    toy = subprocess.Popen([TOY, "1000000", "1000"])
    try:
        time.sleep(0.1)
        tracer = harness.Tracer(["record", "-p", str(toy.pid), "-o", bench.file])
        time.sleep(0.5)
        assert tracer.interrupt() == 0
    finally:
        toy.kill()
        toy.wait()
    records = bench.report()
    check_whole(records)
    assert len(records.pauses) >= PAUSES


def test_what_it_lives_on_is_named(bench):
    toy = subprocess.Popen([TOY, "1000000", "1000"])
    try:
        done = harness.gctrace("doctor", "-p", str(toy.pid))
    finally:
        toy.kill()
        toy.wait()
    text = done.stdout.decode()
    assert "toy 1: " in text and "toy_stop, toy_go   <- this one serves" in text
