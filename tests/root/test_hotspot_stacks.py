"""The Java stack of who asked for a collection, against the one the program itself took there."""

import re
import time

import pytest

import jvm_check
import jvm_harness
from jvm_check import Watched, check_clean

# What the JVM generates for lambdas and reflection, and leaves out of the traces that it shows.
HIDDEN = re.compile(
    r"java\.lang\.invoke\.|.*\$\$Lambda[$/]|java\.lang\.Thread\.runWith$|"
    r"jdk\.internal\.reflect\.DirectMethodHandleAccessor\.invokeImpl$"
)
CALLED = ("java.lang.System.gc", "java.lang.Runtime.gc")
KEPT_S = 0.3  # names of the last moments before an exit cannot be read any more
ALL = [(mode, end) for mode in jvm_harness.FRAMES_MODES for end in ("gc", "allocation")]
FEW = [("tiered", "gc"), ("tiered", "allocation")]


def cases():
    if jvm_check.QUICK:
        return [(r, FEW) for r in jvm_check.newest()]
    found = [(r, ALL) for r in jvm_check.spread((11, 17, 21, 25))]
    return found + [(r, FEW) for r in jvm_check.spread((26, 27))]


def shown(stack):
    """The frame as the JVM would show it."""
    return [f for f in jvm_check.frames(stack) if not HIDDEN.match(f[0])]


def expected(jvm, end):
    """The stack that the program printed, with the frames above the place where it printed it."""
    told = [
        ("%s.%s" % (t["class"], t["method"]), t["file"], t["line"] if t["line"] > 0 else None)
        for t in jvm.truth("frame")
    ]
    # generated code has no file: its trace has the word null
    return [(f, None if source == "null" else source, line) for f, source, line in told]


def check_explicit(watched, wanted):
    """The call of System.gc() and the safepoint that came of it have the same stack."""
    (call,) = watched.of_kind("System.gc")
    (pause,) = [p for p in watched.pauses if p["cause"] == "System.gc()"]
    assert pause["tid"] == call["tid"]
    for stack in (shown(call["stack"]), shown(pause["stack"])):
        assert tuple(f[0] for f in stack[:2]) == CALLED[::-1]
        assert stack[2:] == wanted
    assert call["stack"] == pause["stack"]


def check_allocations(watched, wanted):
    """All at the same line, some before the loop is compiled and some after."""
    ours = [p for p in watched.pauses if p["gc"] and p["stack"]]
    ours = [shown(p["stack"]) for p in ours]
    ours = [stack for stack in ours if ("Frames.run", "Frames.java", wanted[-3][2]) in stack]
    assert len(ours) >= 7
    for stack in ours:
        assert stack == wanted


@jvm_check.each("case", cases())
def test_trigger_stack(bench, case):
    jdk, setups = case
    jvms = [
        jvm_check.start(
            bench,
            jdk,
            "Frames",
            collector="serial",
            flags=jvm_harness.FRAMES_FLAGS + jvm_harness.FRAMES_MODES[mode],
            args=["--end", end],
            heap="64m",
            ready=False,
        )
        for mode, end in setups
    ]
    for jvm in jvms:
        jvm.wait_ready()
    tracer, watched = jvm_check.trace(bench, [Watched(jvm) for jvm in jvms], "--stack-min", "0")
    for jvm in jvms:
        jvm.start()
    for jvm in jvms:
        jvm.done()
    time.sleep(KEPT_S)
    for jvm in jvms:
        assert jvm.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    for one, (mode, end) in zip(watched, setups):
        one.take(records)
        one.pairs()
        wanted = expected(one.jvm, end)
        assert wanted[-1][0] == "java.lang.Thread.run"
        (check_explicit if end == "gc" else check_allocations)(one, wanted)
