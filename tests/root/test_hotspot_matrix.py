"""Every safepoint of every collector of every JDK against the JVM's own log of it."""

import types

import pytest

import conftest
import jvm_check
import jvm_harness
from jvm_check import Watched, check_clean

CALLS = 5
ROUND = ["--steps", 67, "--gc-every", 13, "--threads", 2]
# Starts marking early, and also at a call of System.gc().
MARKING = ["-XX:InitiatingHeapOccupancyPercent=10", "-XX:+ExplicitGCInvokesConcurrent"]
SETUPS = {name: (name, []) for name in jvm_harness.COLLECTORS}
SETUPS["g1-marking"] = ("g1", MARKING)
TIER = {8: "watchpoint"}


def setups(runtime):
    return [n for n, (collector, _) in SETUPS.items() if collector in runtime.collectors()]


CASES = [(runtime, name) for runtime in jvm_check.PLAIN for name in setups(runtime)]
if jvm_check.QUICK:
    CASES = [c for c in CASES if c[1] in ("serial", "g1-marking", "zgc")]
sessions = {}


@pytest.mark.parametrize("name", jvm_harness.table_names())
def test_fetched(name):
    """The matrix is complete, or this says what is missing from it."""
    if conftest.CHOSEN and name not in conftest.CHOSEN:
        pytest.skip("only %s asked for" % ", ".join(conftest.CHOSEN))
    conftest.need(
        "matrix", name in {r.name for r in jvm_check.ALL}, "%s could not be fetched" % name
    )


def watch_all(bench, runtime, names, **options):
    """A JVM with each collector, all of one libjvm, under one tracer, training at once."""
    started = {}
    for name in names:
        collector, flags = SETUPS[name]
        if runtime.has(collector):
            started[name] = jvm_check.start(
                bench,
                runtime,
                "Train",
                collector=collector,
                flags=flags,
                args=ROUND,
                heap="128m",
                ready=False,
            )
    for jvm in started.values():
        jvm.wait_ready()
    tracer, watched = jvm_check.trace(
        bench, [Watched(jvm, SETUPS[name][0]) for name, jvm in started.items()], **options
    )
    for jvm in started.values():
        jvm.start()
    for jvm in started.values():
        jvm.done()
    for jvm in started.values():
        assert jvm.quit() == 0
    tracer.finish()
    records = bench.report()
    for one in watched:
        one.take(records)
    return types.SimpleNamespace(records=records, watched=dict(zip(started, watched)))


@pytest.fixture
def session(bench, case):
    """What one tracer saw of all collectors of a JDK, made for the first test that asks."""
    runtime, name = case
    if runtime.name not in sessions:
        sessions[runtime.name] = None
        names = [n for r, n in CASES if r is runtime]
        sessions[runtime.name] = watch_all(bench, runtime, names)
    made = sessions[runtime.name]
    if made is None:
        pytest.fail("the recording of %s failed before" % runtime.name, pytrace=False)
    if name not in made.watched:
        pytest.skip("%s has no such collector" % runtime.name)
    return made


@pytest.mark.parametrize("case", CASES, ids=["%s-%s" % c for c in CASES])
def test_every_safepoint(session, case):
    runtime, name = case
    watched = session.watched[name]
    pairs = watched.pairs()
    check_clean(session.records)
    assert len(pairs) >= CALLS
    assert watched.process["runtime"] == "hotspot"
    assert watched.process["tier"] == TIER.get(runtime.feature, "symbol")
    assert watched.process["runtime_version"].startswith(
        runtime.version if runtime.feature > 8 else "8u"
    )
    if runtime.feature >= 17:
        jvm_check.check_exact(pairs)
    else:
        pairs = jvm_check.counted(watched, pairs)
        jvm_check.check_near(pairs)
    if runtime.feature == 11:
        jvm_check.check_operations(pairs)
    check_meaning(watched, pairs, name)


def check_meaning(watched, pairs, name):
    """Causes, generations, heap; calls of System.gc(); concurrent phases."""
    calls = jvm_check.check_calls(watched, CALLS)
    if watched.collector in jvm_check.STOPPING:
        jvm_check.check_collections(watched, pairs)
        full = sum(p["full"] is True for p in watched.pauses)
        assert full >= CALLS or name == "g1-marking"
        if watched.process["tier"] == "symbol":
            check_requesters(watched, calls)
    else:
        assert jvm_check.check_cycles(watched, pairs) >= CALLS
    if watched.jvm.runtime.feature >= 11 and (
        watched.collector not in jvm_check.STOPPING or name == "g1-marking"
    ):
        jvm_check.check_phases(watched)


def check_requesters(watched, calls):
    """Who asked for the collection that a call of System.gc() is, and waited in it for its end."""
    for call in calls:
        (pause, *_) = [
            p
            for p in watched.pauses
            if call["start_ns"] <= p["start_ns"]
            and p["end_ns"] <= call["end_ns"]
            and p["cause"] == "System.gc()"
        ]
        assert pause["tid"] == call["tid"] and pause["thread"] == call["thread"] == "java"
        assert call["collections"] >= 1
