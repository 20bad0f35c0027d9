"""Safepoints whose begin or end is not in the recording: they are reported, never left out."""

import os
import signal
import time
from pathlib import Path

import pytest

import building
import harness
import jvm_check
from jvm_stuck import CALLS, Stuck

HERE = Path(__file__).resolve().parent
PLAIN = jvm_check.spread((8, 11, 17, 21, 25, 27))
BARE = [
    r
    for r in jvm_check.variants("stripped", (17, 25)) + jvm_check.variants("nousdt", (11, 21))
    if r.base.startswith("debian") or jvm_check.NAMED
]
BUDGET = "pause.max<1ms"


def check(bench):
    return harness.gctrace("check", bench.file, "--budget", BUDGET).returncode


def sentence(bench):
    done = harness.gctrace("report", bench.file)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def knows_begin(jdk):
    """Whether variables of the JVM show when the safepoint under way began: 8 has no symbols."""
    return jdk.variant == "asis" and jdk.feature > 8


def one(watched):
    (pause,) = watched.pauses
    assert pause["duration_ns"] == pause["end_ns"] - pause["start_ns"]
    return pause


@jvm_check.each("jdk", PLAIN + BARE)
def test_at_the_attach(bench, jdk):
    """It is there with its true length or, without symbols, with a lower bound."""
    stuck = Stuck(bench, jdk)
    tracer, (watched,) = jvm_check.trace(bench, [stuck.jvm])
    released_ns = stuck.go_on()
    assert stuck.jvm.quit() == 0
    tracer.finish()

    watched.take(bench.report())
    jvm_check.check_clean(watched.records)
    told = watched.truth("system-gc")
    assert len(told) == CALLS
    pauses = [p for p in watched.pauses if p["start_ns"] <= told[-1]["end_ns"]]
    first = pauses[0]
    assert released_ns < first["end_ns"] < told[0]["end_ns"]
    if knows_begin(jdk):
        assert told[0]["start_ns"] < first["start_ns"] < stuck.stuck_ns
        assert not first.get("begun_before")
        assert first["exact"] is (jdk.feature >= 17)
        # 11 forgets the operation before the end
        assert first["cause"] == ("System.gc()" if jdk.feature >= 17 else None)
    else:
        assert first["begun_before"] is True and first["exact"] is False
        assert first["start_ns"] < watched.ready_ns
    assert not first.get("unfinished")
    # its time is traced from where its first pause began
    assert watched.records.summary["pause_ns"] < watched.records.summary["traced_ns"]
    # the others: each within its call
    for truth in told[1:]:
        assert any(
            truth["start_ns"] <= p["start_ns"] and p["end_ns"] <= truth["end_ns"] and p["gc"]
            for p in pauses
        )
    assert check(bench) == 99


@jvm_check.each("jdk", PLAIN + BARE)
def test_from_before_to_after(bench, jdk):
    """It is in one safepoint throughout the recording: that is not a quiet JVM."""
    stuck = Stuck(bench, jdk)
    tracer, (watched,) = jvm_check.trace(bench, [stuck.jvm])
    # as long again as the attach took, in which it need not have been seen
    attach_s = (watched.ready_ns - watched.asked_ns) / 1e9
    time.sleep(attach_s)
    assert tracer.interrupt() == 0
    watched.take(bench.report())
    stuck.go_on()

    pause = one(watched)
    assert pause["unfinished"] is True
    assert pause["start_ns"] < watched.ready_ns < pause["end_ns"]
    assert pause["end_ns"] <= watched.records.recording["end_ns"]
    if knows_begin(jdk):
        assert pause["start_ns"] < stuck.stuck_ns and not pause["begun_before"]
        assert pause["operation"] == stuck.operation
    else:
        assert pause["begun_before"] is True
        assert pause["operation"] is None
    # nothing is counted yet, so that the operation's name alone tells
    assert pause["gc"] is (True if knows_begin(jdk) else None)
    jvm_check.check_clean(watched.records)
    # all of its time
    assert pause["duration_ns"] <= watched.records.summary["traced_ns"]
    assert pause["duration_ns"] > 0.5 * watched.records.summary["traced_ns"]
    assert check(bench) == 99
    assert "look elsewhere" not in sentence(bench)


@jvm_check.each("jdk", PLAIN + BARE)
def test_at_the_end(bench, jdk):
    """Seen to begin, and not over: at least that long."""
    stuck = Stuck(bench, jdk, wait=False)
    tracer, (watched,) = jvm_check.trace(bench, [stuck.jvm])
    stuck.begin()
    assert tracer.interrupt() == 0
    watched.take(bench.report())
    stuck.go_on()

    pause = watched.pauses[-1]
    assert pause["unfinished"] is True and not pause["begun_before"]
    assert watched.ready_ns < pause["start_ns"] < stuck.stuck_ns < pause["end_ns"]
    assert not [p for p in watched.pauses[:-1] if p.get("unfinished")]
    jvm_check.check_clean(watched.records)
    assert "look elsewhere" not in sentence(bench)


@pytest.mark.parametrize("before", (False, True), ids=("begun-inside", "begun-before"))
@jvm_check.each("jdk", PLAIN + BARE)
def test_killed(bench, jdk, before):
    """Killed inside: it lasted until then, and the recording is not complete."""
    stuck = Stuck(bench, jdk, wait=before)
    tracer, (watched,) = jvm_check.trace(bench, [stuck.jvm])
    if not before:
        stuck.begin()
    stuck.jvm.popen.send_signal(signal.SIGKILL)
    stuck.jvm.wait()
    tracer.finish()
    watched.take(bench.report())

    pause = watched.pauses[-1]
    assert pause["unfinished"] is True
    assert pause["start_ns"] < stuck.stuck_ns or before
    assert max(stuck.stuck_ns, watched.ready_ns) < pause["end_ns"]
    assert [d["cause"] for d in watched.records.drops] == ["killed-in-safepoint"]
    assert watched.records.recording["complete"] is False
    assert check(bench) in (4, 99)
    assert "look elsewhere" not in sentence(bench)


STEPS = ["--steps", 3, "--gc-every", 1]
LOCAL = jvm_check.newest([r for r in jvm_check.PLAIN if not r.in_root and r.feature == 17])


@pytest.mark.parametrize("before", (False, True), ids=("begun-inside", "begun-before"))
@jvm_check.each("jdk", LOCAL)
def test_exec(bench, jdk, before):
    """Native code runs another program meanwhile: that ends the safepoint as a kill does."""
    agent = building.library(bench.scratch / "exec_agent.so", HERE / "exec_agent.c", "-lpthread")
    fifo = bench.scratch / "exec"
    os.mkfifo(fifo)
    stuck = Stuck(bench, jdk, wait=before, flags=["-agentpath:%s=%s" % (agent, fifo)])
    tracer, (watched,) = jvm_check.trace(bench, [stuck.jvm])
    if not before:
        stuck.begin()
    fifo.write_bytes(b"x")
    assert stuck.jvm.wait() == 0  # true's
    tracer.finish()
    watched.take(bench.report())

    pause = watched.pauses[-1]
    assert pause["unfinished"] is True
    assert pause["start_ns"] < stuck.stuck_ns
    assert max(stuck.stuck_ns, watched.ready_ns) < pause["end_ns"]
    assert [d["cause"] for d in watched.records.drops] == ["killed-in-safepoint"]
    assert watched.records.recording["complete"] is False
    assert check(bench) in (4, 99)


@jvm_check.each("jdk", LOCAL)
def test_exec_outside_of_a_safepoint(bench, jdk):
    """Nothing was under way: nothing is lost."""
    agent = building.library(bench.scratch / "exec_agent.so", HERE / "exec_agent.c", "-lpthread")
    fifo = bench.scratch / "exec"
    os.mkfifo(fifo)
    flags = ["-agentpath:%s=%s" % (agent, fifo)]
    jvm = jvm_check.start(bench, jdk, "Train", collector="serial", flags=flags, args=STEPS)
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.go()
    fifo.write_bytes(b"x")
    assert jvm.wait() == 0
    tracer.finish()
    watched.take(bench.report())
    jvm_check.check_clean(watched.records)
    assert watched.pauses and not [p for p in watched.pauses if p.get("unfinished")]


@jvm_check.each("jdk", jvm_check.spread((8, 11, 17, 25)))
def test_exit_is_no_pause(bench, jdk):
    """A JVM exits in a safepoint that nothing follows, which is not one that it was killed in."""
    jvm = jvm_check.start(bench, jdk, "Train", collector="serial", args=["--steps", 3])
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.go()
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    jvm_check.check_clean(watched.records)
    assert not [p for p in watched.pauses if p.get("unfinished")]


@jvm_check.each("jdk", jvm_check.spread((8, 11, 17, 25)) + BARE)
def test_quiet(bench, jdk):
    """Nothing stops it: it has no compiled code to throw away, and up to 17 no biased locks to take back. Without symbols, 25
    gives no way to distinguish that from one endless safepoint."""
    flags = ["-Xint"] + ["-XX:-UseBiasedLocking"] * (jdk.feature < 18)
    jvm = jvm_check.start(bench, jdk, "Train", collector="serial", flags=flags)
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    assert tracer.interrupt() == 0
    watched.take(bench.report())
    assert watched.pauses == []
    told = jdk.variant == "asis" or jdk.feature <= 21
    causes = [d["cause"] for d in watched.records.drops]
    assert causes == ([] if told else ["unknown-safepoint"])
    assert watched.records.recording["complete"] is told
    assert ("look elsewhere" in sentence(bench)) is told
    assert check(bench) == (0 if told else 4)


@pytest.mark.parametrize("killed", (False, True), ids=("runs-on", "killed"))
@jvm_check.each("jdk", jvm_check.spread((11, 17, 25)))
def test_lost_ends(bench, jdk, monkeypatch, killed):
    """No end finds what is kept of its thread: the safepoints are over all the same, and none is said to go on."""
    monkeypatch.setenv("GCTRACE_REFUSE", "task-storage-at-ends")
    jvm = jvm_check.start(bench, jdk, "Train", collector="serial", args=["--steps", 7, "--gc-every", 1])
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.go()
    if killed:
        jvm.popen.kill()
        jvm.wait()
        tracer.finish()
    else:
        assert tracer.interrupt() == 0
    watched.take(bench.report())
    assert watched.pauses == []
    (drop,) = watched.records.drops
    assert drop["cause"] == "thread-state" and drop["count"] >= 7
    assert killed or watched.process["missed"] == drop["count"]
    assert watched.records.recording["complete"] is False
