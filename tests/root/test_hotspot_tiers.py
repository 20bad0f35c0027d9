"""What each tier knows of a JVM without symbols, without USDT probes, or started with other flags;
what it cannot know is left blank."""

import pytest

import jvm_check
from jvm_check import check_clean
from test_hotspot_matrix import CALLS, watch_all

TIERED = (11, 17, 21, 25)
SETUPS = ["parallel", "g1-marking", "zgc"]


def tier_of(runtime):
    """The tiers that may be used: Debian's 11 has no USDT probes to begin with."""
    if runtime.variant == "asis":
        return "symbol"
    return "usdt" if runtime.variant == "stripped" and runtime.feature >= 17 else "watchpoint"


BARE = [
    r
    for variant in ("stripped", "nousdt")
    for r in jvm_check.variants(variant, TIERED)
    # the system's 17 and the distribution's are built alike
    if jvm_check.NAMED or not r.base.startswith("system-17")
]


def check_tier(watched, tier):
    runtime = watched.jvm.runtime
    pairs = watched.pairs()
    assert watched.process["tier"] == tier
    jvm_check.check_calls(watched, CALLS)
    jvm_check.check_apart(watched)
    if runtime.feature >= 17:
        jvm_check.check_durations(pairs)
    else:
        jvm_check.check_near(pairs)
    if watched.collector in jvm_check.STOPPING:
        jvm_check.check_collections(watched, pairs)
    elif runtime.feature >= 17:
        jvm_check.check_cycles(watched, pairs)
    else:
        # 11 counts ZGC's pauses nowhere: without their names they may be anything
        assert {p["gc"] for p in watched.pauses} == {None}
    for pause, point in pairs:
        # a symbol shows the operation, and so does the requester: for cleanup there is hardly ever one
        told = runtime.variant == "asis" or tier == "usdt"
        wanted = {point.operation} if told else {None}
        if point.operation in jvm_check.NO_OPERATION:
            wanted.add(None)
        assert pause["operation"] in wanted
        assert pause["heap_before_bytes"] is None and pause["live_bytes"] is None
        assert pause["late_tid"] is None and pause["late_stack"] is None


@jvm_check.full_only
@jvm_check.each("bare", BARE)
def test_bare(bench, bare):
    made = watch_all(bench, bare, SETUPS)
    check_clean(made.records)
    for watched in made.watched.values():
        check_tier(watched, tier_of(bare))


@pytest.mark.parametrize("tier", ["usdt", "watchpoint"])
@jvm_check.each("jdk", jvm_check.newest())
def test_asked_for(bench, jdk, tier):
    made = watch_all(bench, jdk, ["serial"], tier=tier)
    check_clean(made.records)
    check_tier(made.watched["serial"], tier)


def train(bench, jdk, *flags, collector="g1", args=("--steps", 67, "--gc-every", 13), **options):
    jvm = jvm_check.start(
        bench, jdk, "Train", collector=collector, flags=flags, args=args, heap="128m"
    )
    watched = jvm_check.run(bench, jvm, **options)
    watched.collector = collector
    check_clean(watched.records)
    return watched


@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.spread((11, 17, 21, 25)))
def test_without_counters(bench, jdk):
    """-XX:-UsePerfData: the times are 17's own as usual; causes and counts are not known."""
    watched = train(bench, jdk, "-XX:-UsePerfData", collector="parallel")
    pairs = watched.pairs()
    assert watched.process["tier"] == "symbol"
    if jdk.feature >= 17:
        jvm_check.check_exact(pairs)
    else:
        # the probes' own times, which enclose the JVM's
        for pause, point in pairs:
            assert pause["exact"] is False
            assert pause["start_ns"] <= point.entering_ns
            assert pause["duration_ns"] >= point.total_ns - point.resolution_ns
    jvm_check.check_operations(pairs)
    for call in jvm_check.check_calls(watched, CALLS):
        assert call["collections"] is None
    for pause, point in pairs:
        # the heap's summaries show it: Parallel makes them around each collection, and only then
        assert pause["gc"] is bool(point.collections), (jvm_check.brief(pause), point)
        assert pause["cause"] is None and pause["young_collections"] is None
        if point.collections:
            jvm_check.check_heap(pause, point)


@jvm_check.full_only
@pytest.mark.parametrize("flag", ["-XX:+PerfDisableSharedMem", "-Xint"])
@jvm_check.each("jdk", jvm_check.spread((11, 25)))
def test_other_flags(bench, jdk, flag):
    """Counters that are in no file, and a JVM that compiles nothing."""
    watched = train(bench, jdk, flag, collector="parallel")
    pairs = watched.pairs()
    if jdk.feature >= 17:
        jvm_check.check_exact(pairs)
    else:
        jvm_check.check_near(pairs)
    jvm_check.check_operations(pairs)
    jvm_check.check_collections(watched, pairs)
    jvm_check.check_calls(watched, CALLS)


@jvm_check.each("jdk", jvm_check.newest())
def test_explicit_disabled(bench, jdk):
    """A call is not a collection."""
    args = ("--steps", 50, "--gc-every", 2, "--alloc-mb", 0)
    watched = train(bench, jdk, "-XX:+DisableExplicitGC", args=args)
    calls = jvm_check.check_calls(watched, 25)
    assert [c["collections"] for c in calls] == [0] * 25
    assert [p for p in watched.pauses if p["gc"]] == []
    (caller,) = watched.records.summary["explicit_gc"]
    assert (caller["calls"], caller["collected"], caller["idle"]) == (25, 0, 25)
    line = jvm_check.expected_frame("Train.java", "Train.collectFromTraining", "training-gc")
    assert jvm_check.frames([caller["caller"]]) == [line]
