"""Who was late for a safepoint, and who waited for the collector outside of any."""

import os
import sys
import time
from pathlib import Path

import pytest

import harness
import jvm_check
import jvm_harness
from jvm_check import check_clean

ROUNDS = 23
LATE_NS = 1_000_000
# What the VM Thread sleeps between two looks for a thread that is late, and a bit (hotspot_late.bpf.c).
NOTICE_NS = 1_500_000
STAT_NS = 10**9 // os.sysconf("SC_CLK_TCK")  # in which /proc/stat counts
# The shortest wait that cannot have been without sleep, seen on this and other machines.
SLEPT_NS = 100_000


def lines(function, *marks):
    return {("Loop." + function, "Loop.java", jvm_harness.line_of("Loop.java", m)) for m in marks}


# It meets the poll as it returns, for which compiled code keeps no line; its caller has one.
LOOPS = lines("count", "counted-loop", "loop-body") | {("Loop.count", "Loop.java", None)}
LOOPS |= lines("loops", "loop-call")
# Names of the last moments before an exit cannot be read any more: the JVM lives a little longer.
LINGER_S = 0.3


def finish(bench, jvm, tracer, watched):
    """Ends the JVM, and has its report."""
    time.sleep(LINGER_S)
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    check_clean(watched.records)


def kept_back(pid):
    """For how long the VM Thread has waited for a processor, and a hypervisor has had one of them."""
    vm_thread = Path("/proc/%d/task/%d/schedstat" % (pid, jvm_harness.tid_of(pid, "VM Thread")))
    stolen = int(Path("/proc/stat").read_text().split()[8])
    return int(vm_thread.read_text().split()[1]) + stolen * STAT_NS


def loop(bench, jdk, collector, *args):
    """Traces counted loops; returns what was seen, the tid of the thread that ran them, and for how long it and the VM Thread
    were kept from running, at most."""
    jvm = jvm_check.start(
        bench, jdk, "Loop", collector=collector, heap="64m", args=["--rounds", ROUNDS, "--hold", 1]
    )
    tracer, (watched,) = jvm_check.trace(bench, [jvm], *args)
    tid = jvm_harness.hold_loop(jvm, jvm.pid)
    before = kept_back(jvm.pid)
    jvm.go()
    kept = kept_back(jvm.pid) - before + os.cpu_count() * STAT_NS
    finish(bench, jvm, tracer, watched)
    if jdk.feature >= 17:
        jvm_check.check_exact(watched.pairs())
    else:
        jvm_check.check_near(watched.pairs())
    (waited,) = watched.jvm.truth("waited")
    return watched, tid, kept + waited["waited_ns"]


def own_frame(stack):
    return [f for f in jvm_check.frames(stack) if f[1] == "Loop.java"][0]


@pytest.mark.realtime
@pytest.mark.parametrize("collector", ["serial", "parallel"])
@jvm_check.each("jdk", jvm_check.newest() if jvm_check.QUICK else jvm_check.spread((11, 17, 25)))
def test_counted_loop(bench, jdk, collector):
    """A loop without a poll keeps all other threads waiting; it is named, with its line."""
    watched, tid, kept_ns = loop(bench, jdk, collector)
    asked = [p for p in watched.pauses if p["cause"] == "System.gc()"]
    assert len(asked) == ROUNDS
    assert [p for p in asked if p["ttsp_ns"] < LATE_NS] == []
    late = [p for p in asked if p["late_tid"] == tid]
    # a thread that was safe may wake up in the ms in which the VM Thread naps, and come last
    assert {p["late_thread"] for p in asked if p not in late} <= {"Service Thread"}
    assert len(late) >= ROUNDS - 2
    for pause in late:
        assert pause["late_thread"] == "counted-loop"
        assert own_frame(pause["late_stack"]) in LOOPS
    # it ran all along: but for how long the VM Thread slept on, and what kept either of them from running
    rested = [max(0, p["ttsp_ns"] - p["late_ran_ns"] - NOTICE_NS) for p in late]
    assert sum(rested) <= kept_ns, [(p["ttsp_ns"] // 1000, p["late_ran_ns"] // 1000) for p in late]
    (advice,) = [a for a in watched.records.of("advice") if a["advice"] == "ttsp"]
    assert "Loop." in advice["estimate"] and "guess" not in advice["estimate"]
    for pause in watched.pauses:
        assert pause["ttsp_ns"] >= LATE_NS or pause["late_tid"] is None


HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(9))
while True:
    until = time.monotonic() + 0.019
    while time.monotonic() < until:
        pass
    time.sleep(0.004)
"""


@pytest.mark.realtime
@jvm_check.each("jdk", jvm_check.newest() if jvm_check.QUICK else jvm_check.spread((11, 17, 25)))
def test_descheduled(bench, jdk):
    """A thread in a loop with polls, whose processor another program takes most of the time: no loop's fault."""
    processor = max(os.sched_getaffinity(0))
    jvm = jvm_check.start(bench, jdk, "Polled", collector="serial", heap="64m", args=["--rounds", ROUNDS])
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.go()
    harness.wait_until(lambda: "polled-loop" in jvm.threads().values(), what="the thread")
    tid = jvm.tid_of("polled-loop")
    jvm_harness.prefer(jvm.pid, "VM Thread", "polled-loop")
    os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))
    os.sched_setaffinity(tid, {processor})
    hog = bench.process([sys.executable, "-c", HOG, str(processor)])
    jvm.go()
    hog.kill()
    finish(bench, jvm, tracer, watched)
    late = [p for p in watched.pauses if p["late_tid"] == tid]
    assert len(late) >= ROUNDS // 2
    # it comes once it runs: what it runs before is a few instructions and the kernel's return to them
    assert [p for p in late if p["late_ran_ns"] > LATE_NS // 2] == []
    advice = {a["advice"]: a for a in watched.records.of("advice")}
    assert "ttsp" not in advice


@pytest.mark.realtime
@jvm_check.each("jdk", jvm_check.newest())
def test_who_rests_is_regular(bench, jdk):
    """Calls that block for as long as a loop has left, short and long in turn: regular is what lies between them."""
    jvm = jvm_check.start(
        bench, jdk, "Loop", collector="serial", heap="64m",
        args=["--rounds", ROUNDS, "--hold", 1, "--rest-ms", 20, "--iterations", 60_000_000],
    )
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm_harness.hold_loop(jvm, jvm.pid)
    jvm.go()
    finish(bench, jvm, tracer, watched)
    calls = watched.of_kind("System.gc")
    (caller,) = watched.records.summary["explicit_gc"]
    assert jvm_check.check_rhythm(caller, calls) == (False, True)
    done = harness.gctrace("report", bench.file)
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    assert ", %.2f ms after it returned" % (caller["rest_ns"] / 1e6) in text
    # all of them are pauses, which are in the figures
    assert "Not in these figures" not in text
    assert "No setting of the collector would save much" not in text


@pytest.mark.realtime
@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.spread((17, 25)))
def test_polled_loop(bench, jdk):
    """G1 has polls in such loops: their thread is late for no longer than it and the VM Thread are kept from running, as the
    kernel's throttling of SCHED_FIFO does and a hypervisor, and what counts as late."""
    watched, tid, kept_ns = loop(bench, jdk, "g1")
    asked = [p for p in watched.pauses if p["cause"] == "System.gc()"]
    assert len(asked) == ROUNDS
    late = [p for p in watched.pauses if p["late_tid"] == tid]
    assert sum(p["ttsp_ns"] - LATE_NS for p in late) <= kept_ns


@pytest.mark.realtime
@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.newest())
def test_late_threshold(bench, jdk):
    watched, *_ = loop(bench, jdk, "serial", "--late-min", "10s")
    assert sum(p["ttsp_ns"] >= LATE_NS for p in watched.pauses) >= ROUNDS
    assert {p["late_tid"] for p in watched.pauses} == {None}


def allocate(bench, jdk, collector, program, *args, heap="96m", until=None):
    """Rounds of @program, traced to its end: until until(its log's stalls) holds, if there is one."""
    jvm = jvm_check.start(bench, jdk, program, collector=collector, heap=heap, args=args)
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.go()
    while until and not until(jvm.log().stalls):
        jvm.go()
    finish(bench, jvm, tracer, watched)
    jvm_check.check_apart(watched)
    watched.pairs()
    return watched


NAME_BYTES = 15  # of a thread's name that the kernel keeps: TASK_COMM_LEN - 1, sched.h


def kernel_name(thread):
    """To the kernel, the thread that Java calls main has its program's name."""
    return "java" if thread == "main" else thread[:NAME_BYTES]


def of_allocators(stalls):
    return [s for s in stalls if (s["thread"] or "").startswith("allocator-")]


def check_line(stalls, source, function, mark):
    """The innermost frame of the program's own, where a stack was taken."""
    wanted = jvm_check.expected_frame(source, function, mark)
    found = [jvm_check.frames(s["stack"]) for s in stalls if s["stack"]]
    assert len(found) >= len(stalls) // 2
    for stack in found:
        assert [f for f in stack if f[1] == source][0] == wanted, stack


def zgcs():
    cases = [(r, "zgc") for r in jvm_check.spread((11, 17, 21, 25, 27))]
    cases += [(r, "zgc-generational") for r in jvm_check.spread((21,))]
    return cases


def long_ones(stalls):
    return [s for s in stalls if s.kind == "allocation" and s.duration_ns >= SLEPT_NS]


def enough_stalls(stalls):
    return len(long_ones(stalls)) >= 23


def enclosed(stalls, logged):
    """Each stall with the one line that its thread logged meanwhile; none has two, no line is in two."""
    pairs = []
    for stall in stalls:
        within = [
            s for s in logged
            if s.tid == stall["tid"] and stall["start_ns"] <= s.logged_ns <= stall["end_ns"]
        ]
        assert len(within) <= 1, (stall, within)
        assert {kernel_name(s.thread) for s in within} <= {stall["thread"]}
        pairs += [(stall, point) for point in within]
    assert len({id(point) for _, point in pairs}) == len(pairs)
    return pairs


@jvm_check.full_only
@pytest.mark.parametrize("case", zgcs(), ids=lambda case: "%s-%s" % case)
def test_allocation_stall(bench, case):
    """Each thread's stalls, as the log counts and times them; one without sleep is not a stall."""
    watched = allocate(bench, *case, "AllocStall", "--ms", 500, until=enough_stalls)
    stalls = watched.of_kind("allocation stall")
    logged = [s for s in watched.log.stalls if s.kind == "allocation"]
    found = {id(point): stall for stall, point in enclosed(stalls, logged)}
    # 11 stalls in a function that also waits for a lock
    assert len(found) == len(stalls) or case[0].feature == 11
    # What found its page at once did not sleep, and is long if it lost its processor just there. Nothing of
    # the JVM shows that; threads of one priority take turns of ms, so that it is seldom seen.
    missing = [s for s in long_ones(logged) if id(s) not in found]
    assert len(missing) <= 1 + len(logged) // 100, missing
    for point in logged:
        # the JVM's clock runs within the function, and its log says so before the end
        stall = found.get(id(point))
        least_ns = point.duration_ns - point.resolution_ns
        assert not stall or point.logged_ns - stall["start_ns"] >= least_ns, (stall, point)
    differences = [found[id(s)]["duration_ns"] - s.duration_ns for s in logged if id(s) in found]
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


# 25 rounds down to ms: one that took this long waited for more than 1 ms.
WHILE_NS = 2_000_000


def long_waits(stalls):
    return [s for s in stalls if s.duration_ns is None or s.duration_ns >= WHILE_NS]


def enough_locked(stalls):
    """25 also logs what did not wait; those before say no time, for they log before they wait."""
    waits = [s for s in stalls if s.kind == "gclocker-gc" and s.thread != "main"]
    return len(long_waits(waits)) >= 7


def critical():
    cases = [(r, "parallel") for r in jvm_check.spread((11, 17, 21, 25))]
    return cases + [(r, "g1") for r in jvm_check.spread((17, 21))]


@jvm_check.full_only
@pytest.mark.parametrize("case", critical(), ids=lambda case: "%s-%s" % case)
def test_critical(bench, case):
    """A JNI critical section keeps the collector away, or from 25 on, waits for it."""
    args = ["--rounds", 29, "--hold-kb", 1024]
    watched = allocate(bench, *case, "Critical", *args, heap="64m", until=enough_locked)
    stalls = watched.of_kind("GC locker")
    logged = [
        s
        for s in watched.log.stalls
        if s.kind.startswith("gclocker") and s.logged_ns - (s.duration_ns or 0) > watched.ready_ns
    ]
    found = {id(point): stall for stall, point in enclosed(stalls, logged)}
    if case[0].feature < 25:
        # each line is logged by a thread that goes to sleep
        assert len(found) == len(logged)
        # one that arrives when the wait is over logs nothing, but may sleep for the lock: it meets those
        # whose wait ends there, or the collection that ended it
        ends = [(s["start_ns"], s["end_ns"], s["tid"]) for s in found.values()]
        ends += [
            (p["start_ns"], p["end_ns"], None) for p in watched.pauses
            if p["cause"] == "GCLocker Initiated GC"
        ]
        said = {id(stall) for stall in found.values()}
        for stall in (s for s in stalls if id(s) not in said):
            assert any(
                start < stall["end_ns"] and end > stall["start_ns"] and tid != stall["tid"]
                for start, end, tid in ends
            ), stall
        check_line(of_allocators(stalls), "Allocators.java", "Allocators.allocate", "stalled")
        return
    # 25 logs every collection and every slow entry, mostly 0 ms. What took long is a stall, whether the
    # thread slept or yielded its processor to others meanwhile.
    assert len(stalls) == len(found)
    assert [s for s in long_waits(logged) if id(s) not in found] == []
    for point in logged:
        stall = found.get(id(point))
        assert not stall or stall["duration_ns"] >= point.duration_ns, (stall, point)
