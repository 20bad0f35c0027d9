"""Safepoints that collect nothing, as jcmd and JFR make them; who calls System.gc(), how often."""

import json
import re
from collections import Counter

import pytest

import conftest
import harness
import jvm_check
from jvm_check import check_clean

DUMPS = 3
SERVICE_CALLS = 7


def with_jcmd():
    return [r for r in jvm_check.spread((11, 17, 21, 25)) if r.feature >= 11]


@jvm_check.full_only
@jvm_check.each("jdk", with_jcmd())
def test_diagnostics(bench, jdk):
    """Thread dumps and flight recordings stop the world and collect nothing."""
    # without the flag the first jcmd asks for the listener by a signal that can dump the threads, too
    jvm = jvm_check.start(
        bench, jdk, "Train", collector="g1", flags=["-XX:+StartAttachListener"],
        args=["--gc-every", 31],
    )
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    for _ in range(DUMPS):
        jvm.jcmd("Thread.print")
    jvm.jcmd("JFR.start", "name=test")
    jvm.go()
    jvm.jcmd("JFR.stop", "name=test")
    assert jvm.quit() == 0
    tracer.finish()

    watched.take(bench.report())
    check_clean(watched.records)
    pairs = watched.pairs()
    if jdk.feature >= 17:
        jvm_check.check_exact(pairs)
    named = Counter(p["operation"] for p in watched.pauses)
    # a recording begins and ends with a dump of all threads and a search for old objects
    assert named["PrintThreads"] == named["FindDeadlocks"] == DUMPS + 2, named
    assert named["JFROldObject"] == 2, named
    watched.collector = "g1"
    jvm_check.check_operations(pairs)
    jvm_check.check_collections(watched, pairs)
    others = [p for p in watched.pauses if not p["gc"]]
    assert len(others) >= 7
    check_gc_only(bench, watched, others)


def check_gc_only(bench, watched, others):
    """--gc-only leaves out what collects nothing, in sums too, and says how many those were."""
    done = harness.gctrace("report", bench.file, "-f", "json", "--gc-only")
    assert done.returncode == 0, done.stderr.decode()
    filtered = harness.Records(done.stdout.decode())
    assert [p["id"] for p in filtered.pauses] == [p["id"] for p in watched.pauses if p["gc"]]
    assert filtered.summary["left_out"] == len(others)
    assert filtered.summary["pause_ns"] == sum(p["duration_ns"] for p in filtered.pauses)
    sums = watched.records.summary["safepoints"]
    assert sums["pauses"] - sums["gc_pauses"] == len(others)
    (kind,) = [k for k in sums["kinds"] if k["kind"] == "not GC"]
    assert kind["pauses"] == len(others)
    assert kind["pause_ns"] == sum(p["duration_ns"] for p in others)


@jvm_check.each("jdk", jvm_check.newest())
def test_live(bench, jdk):
    """Live, a line for each pause, or for each that collects."""
    jvm = jvm_check.start(bench, jdk, "Dump", collector="serial", args=["--count", 97])
    everything = bench.tracer("-p", jvm.pid, "--json")
    filtered = bench.tracer("-p", jvm.pid, "--json", "--gc-only")
    jvm.go()
    assert jvm.quit() == 0
    everything.finish()
    filtered.finish()
    ours = [json.loads(line) for line in everything.out.text().splitlines()]
    dumps = [r for r in ours if r["type"] == "pause" and r["operation"] == "ThreadDump"]
    assert len(dumps) == 97
    assert {p["gc"] for p in dumps} == {False}
    ours = [json.loads(line) for line in filtered.out.text().splitlines()]
    assert [r for r in ours if r["type"] == "pause" and not r["gc"]] == []


def services():
    collectors = {11: "parallel", 17: "g1", 21: "shenandoah", 25: "zgc"}
    found = [(r, collectors[r.feature]) for r in jvm_check.spread(collectors)]
    return [(r, c) for r, c in found if r.has(c)]


@jvm_check.full_only
@conftest.each("case", services(), "JVM of those asked for is here")
def test_service_thread(bench, case):
    """System.gc() every 500 ms: the caller's line and thread, how long it waited, the period."""
    jdk, collector = case
    args = ["--gc-ms", 500, "--gc-calls", SERVICE_CALLS, "--alloc-mb", 1, "--passes", 9000]
    jvm = jvm_check.start(bench, jdk, "Train", collector=collector, args=args)
    watched = jvm_check.run(bench, jvm)
    check_clean(watched.records)
    calls = jvm_check.check_calls(watched, SERVICE_CALLS)
    wanted = jvm_check.expected_frame("Train.java", "Train.collectFromService", "service-gc")
    for call in calls:
        assert call["thread"] == "DeallocatorThre"
        assert call["collections"] >= 1
        own = [f for f in jvm_check.frames(call["stack"]) if f[1] == "Train.java"]
        assert own[0] == wanted

    (caller,) = watched.records.summary["explicit_gc"]
    assert caller["thread"] == "DeallocatorThre"
    assert caller["calls"] == caller["collected"] == SERVICE_CALLS
    assert caller["blocked_ns"] == sum(c["duration_ns"] for c in calls)
    assert jvm_check.frames([caller["caller"]]) == [wanted]
    check_text(bench, caller, wanted, *jvm_check.check_rhythm(caller, calls))


def check_text(bench, caller, wanted, by_period, by_rest):
    done = harness.gctrace("report", bench.file)
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    section = text[text.index("Who called System.gc()") :].split("\n\n")[0]
    period = re.escape("%.1f ms" % (caller["period_ns"] / 1e6))
    said = "%s %s" % ("every" if by_period else "irregularly, median distance", period)
    if by_rest and not by_period:
        said = re.escape("%.1f ms" % (caller["rest_ns"] / 1e6)) + " after it returned"
    row = r"^ +%d .* DeallocatorThre .*, %s" % (caller["calls"], said)
    assert re.search(row, section, re.M), section
    assert re.search(r"%s +%s:%d$" % wanted, section, re.M), section
