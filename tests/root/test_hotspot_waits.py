"""Who was late for a safepoint, and who waited for the collector outside of any."""

import time
from collections import Counter

import pytest

import jvm_check
import jvm_harness
from harness import wait_until
from jvm_check import check_clean

ROUNDS = 23
LATE_NS = 1_000_000
# The shortest wait that cannot have been without sleep, seen on this and other machines.
SLEPT_NS = 100_000
LOOPS = {
    ("Loop." + function, "Loop.java", jvm_harness.line_of("Loop.java", mark))
    for function, mark in (
        ("count", "counted-loop"),
        ("count", "loop-body"),
        ("loops", "loop-call"),
        ("loops", "loops"),
    )
}
# It sees the poll as it returns, for which compiled code keeps no line; its caller has one.
LOOPS.add(("Loop.count", "Loop.java", None))
# Names of the last moments before an exit cannot be read any more: the JVM lives a little longer.
LINGER_S = 0.3


def loop(bench, jdk, collector, *args):
    """Traces counted loops; returns what was seen and the tid of the thread that ran them."""
    jvm = jvm_check.start(
        bench, jdk, "Loop", collector=collector, heap="64m", args=["--rounds", ROUNDS]
    )
    tracer, (watched,) = jvm_check.trace(bench, [jvm], *args)
    jvm.start()
    wait_until(lambda: "counted-loop" in jvm.threads().values(), what="the thread")
    tid = jvm.tid_of("counted-loop")
    jvm.done()
    time.sleep(LINGER_S)
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    check_clean(watched.records)
    if jdk.feature >= 17:
        jvm_check.check_exact(watched.pairs())
    else:
        jvm_check.check_near(watched.pairs())
    return watched, tid


def own_frame(stack):
    return [f for f in jvm_check.frames(stack) if f[1] == "Loop.java"][0]


@pytest.mark.parametrize("collector", ["serial", "parallel"])
@jvm_check.each("jdk", jvm_check.newest() if jvm_check.QUICK else jvm_check.spread((11, 17, 25)))
def test_counted_loop(bench, jdk, collector):
    """A loop without a poll in it keeps all others waiting; it is named, with its line."""
    watched, tid = loop(bench, jdk, collector)
    late = [p for p in watched.pauses if p["ttsp_ns"] >= LATE_NS]
    blamed = [p for p in late if p["late_tid"] == tid]
    assert len(blamed) >= 5
    # a thread that lost its processor may be the last now and then
    assert len(late) - len(blamed) <= len(late) // 4
    median = sorted(p["ttsp_ns"] for p in blamed)[len(blamed) // 2]
    assert median >= 2 * LATE_NS, median
    # now and then it comes from reading the clock between two loops
    own = [own_frame(p["late_stack"]) for p in blamed]
    assert {function for function, _, _ in own} <= {"Loop.count", "Loop.loops"}
    assert sum(frame in LOOPS for frame in own) >= len(own) * 3 // 4, own
    for pause in blamed:
        assert pause["late_thread"] == "counted-loop"
    for pause in watched.pauses:
        assert pause["ttsp_ns"] >= LATE_NS or pause["late_tid"] is None


@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.spread((17, 25)))
def test_polled_loop(bench, jdk):
    """G1 has polls in such loops."""
    watched, _ = loop(bench, jdk, "g1")
    times = sorted(p["ttsp_ns"] for p in watched.pauses)
    assert times[len(times) // 2] < LATE_NS, times


@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.newest())
def test_late_threshold(bench, jdk):
    watched, _ = loop(bench, jdk, "serial", "--late-min", "10s")
    assert max(p["ttsp_ns"] for p in watched.pauses) >= LATE_NS
    assert {p["late_tid"] for p in watched.pauses} == {None}


def allocate(bench, jdk, collector, program, *args, heap="96m", until=None):
    """Rounds of @program, traced to its end: until its log holds such a stall, if one is named."""
    jvm = jvm_check.start(bench, jdk, program, collector=collector, heap=heap, args=args)
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    for _ in range(5):
        jvm.go()
        if not until or [s for s in jvm.log().stalls if s.kind == until]:
            break
    time.sleep(LINGER_S)
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    check_clean(watched.records)
    jvm_check.check_apart(watched)
    watched.pairs()
    return watched


NAME_BYTES = 15  # of a thread's name that the kernel keeps: TASK_COMM_LEN - 1, sched.h


def per_thread(stalls):
    return Counter(s["thread"] for s in stalls)


def of_allocators(stalls):
    return [s for s in stalls if (s["thread"] or "").startswith("allocator-")]


def check_line(stalls, source, function, mark):
    """The innermost frame that is of the program, where a stack was taken."""
    wanted = jvm_check.expected_frame(source, function, mark)
    found = [jvm_check.frames(s["stack"]) for s in stalls if s["stack"]]
    assert len(found) >= len(stalls) // 2
    for stack in found:
        assert [f for f in stack if f[1] == source][0] == wanted, stack


def zgcs():
    cases = [(r, "zgc") for r in jvm_check.spread((11, 17, 21, 25, 27))]
    cases += [(r, "zgc-generational") for r in jvm_check.spread((21,))]
    return cases


@jvm_check.full_only
@pytest.mark.parametrize("case", zgcs(), ids=lambda case: "%s-%s" % case)
def test_allocation_stall(bench, case):
    """Each thread's stalls, as the log counts and times them; one without sleep is none."""
    watched = allocate(bench, *case, "AllocStall", "--ms", 500, until="allocation")
    stalls = watched.of_kind("allocation stall")
    logged = [s for s in watched.log.stalls if s.kind == "allocation" and s.thread != "main"]
    long = [s for s in logged if s.duration_ns >= SLEPT_NS]
    assert len(long) >= 23
    ours = per_thread(s for s in stalls if s["thread"] != "java")
    missing = Counter(s.thread[:NAME_BYTES] for s in long) - ours
    # one that found its page at once may have lost its processor
    assert sum(missing.values()) <= 1 + len(long) // 100, missing
    if case[0].feature > 11:
        # 11 stalls in a function that also waits for a lock
        assert not ours - Counter(s.thread[:NAME_BYTES] for s in logged)
    differences = []
    for stall in long:
        start_ns = stall.logged_ns - stall.duration_ns
        within = [
            s
            for s in stalls
            if s["thread"] == stall.thread
            and start_ns < s["end_ns"]
            and s["start_ns"] < stall.logged_ns
        ]
        differences.append(
            min(abs(s["duration_ns"] - stall.duration_ns) for s in within) if within else 1e9
        )
    jvm_check.check_usual(differences, "stalls", 200_000)
    check_line(of_allocators(stalls), "Allocators.java", "Allocators.allocate", "stalled")
    for stall in stalls:
        assert stall["collections"] is None


@jvm_check.full_only
@jvm_check.each("jdk", [r for r in jvm_check.spread((11, 17, 21, 25)) if r.has("shenandoah")])
def test_pacing(bench, jdk):
    """Threads that are slowed down; what the log sums up for a cycle, it does not always say."""
    watched = allocate(bench, jdk, "shenandoah", "AllocStall", "--ms", 500)
    stalls = watched.of_kind("pacing")
    assert {s["thread"] for s in stalls} >= {"allocator-0", "allocator-1", "allocator-2"}
    check_line(of_allocators(stalls), "Allocators.java", "Allocators.allocate", "stalled")
    told = {t["thread"]: 0 for t in watched.truth("slow")}
    for stall in stalls:
        if stall["thread"] in told and stall["duration_ns"] >= 2_000_000:
            within = [
                t
                for t in watched.truth("slow")
                if t["thread"] == stall["thread"]
                and t["start_ns"] <= stall["start_ns"]
                and stall["end_ns"] <= t["end_ns"]
            ]
            assert len(within) == 1, stall


def critical():
    cases = [(r, "parallel") for r in jvm_check.spread((11, 17, 21, 25))]
    return cases + [(r, "g1") for r in jvm_check.spread((17, 21))]


@jvm_check.full_only
@pytest.mark.parametrize("case", critical(), ids=lambda case: "%s-%s" % case)
def test_critical(bench, case):
    """A JNI critical section keeps the collector away, or from 25 on, waits for it."""
    args = ["--rounds", 29, "--hold-kb", 1024]
    watched = allocate(bench, *case, "Critical", *args, heap="64m", until="gclocker-gc")
    stalls = watched.of_kind("GC locker")
    waits = [s for s in watched.log.stalls if s.kind == "gclocker-gc" and s.thread != "main"]
    assert waits
    if case[0].feature < 25:
        # one that comes when the wait is over may still sleep for the lock, and logs nothing
        logged, ours = Counter(s.thread for s in waits), per_thread(stalls)
        assert not logged - ours
        assert sum((ours - logged).values()) <= 1 + len(waits) // 20, (ours, logged)
        check_line(of_allocators(stalls), "Allocators.java", "Allocators.allocate", "stalled")
        return
    # 25 logs every collection and every slow entry, mostly 0 ms: what took a while is a stall
    entered = [s for s in watched.log.stalls if s.kind == "gclocker-enter"]
    long = Counter(s.thread for s in waits + entered if s.duration_ns > 1_000_000)
    assert long and not long - per_thread(stalls)
    # to the kernel, the thread that Java calls main has its program's name
    assert not per_thread(stalls) - Counter(
        "java" if s.thread == "main" else s.thread
        for s in watched.log.stalls if s.kind.startswith("gclocker")
    )
