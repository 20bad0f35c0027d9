"""Traces JVMs and compares what was recorded with what they logged about themselves.

In: rows of kind hotspot, programs of jvm/. Out: Watched, one traced JVM with both sides; checks.
"""

import atexit
import functools
import math
import re
import shutil
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import conftest
import harness
import jvm_harness
import jvmlog

ALL = jvm_harness.load_runtimes()
NAMED = [r for r in ALL if r.name in conftest.CHOSEN or r.base in conftest.CHOSEN]
# Other runtimes were asked for by name: of the JVM tests only quick ones, on the system's own JDK.
QUICK = bool(conftest.CHOSEN) and not NAMED
OWN = [r for r in ALL if r.base.startswith("system")]
CHOSEN = NAMED or (OWN[:1] if QUICK else ALL)
PLAIN = [r for r in CHOSEN if r.variant == "asis"]

full_only = pytest.mark.skipif(QUICK, reason="for the full suite")

# Collectors whose counters and heap summaries show every stop that they make.
STOPPING = ("serial", "parallel", "g1")
# No operation has run there, only what each safepoint does anyway; 11 still names it.
NO_OPERATION = ("Cleanup", "Halt", "None", "no vm operation")


def brief(pause):
    """What is worth reading of a pause in a failure."""
    keys = (
        "id operation gc full cause concurrent young_collections full_collections "
        "heap_before_bytes live_bytes ttsp_ns core_ns duration_ns"
    ).split()
    return {key: pause[key] for key in keys}


def variants(variant, features):
    return [r for r in CHOSEN if r.variant == variant and r.feature in features]


def newest(runtimes=None):
    """One of the system's own, else the newest: for what is the same in every version."""
    runtimes = PLAIN if runtimes is None else runtimes
    local = [r for r in runtimes if not r.in_root]
    return sorted(local or runtimes, key=lambda r: r.version_tuple)[-1:]


def each(name, runtimes):
    return conftest.each(name, runtimes, "JVM of those asked for is here")


def spread(features):
    """One plain JVM of each of these versions, the distribution's if there are several."""
    found = {}
    for runtime in sorted(PLAIN, key=lambda r: r.in_root):
        if runtime.feature in features:
            found[runtime.feature] = runtime
    return [found[feature] for feature in sorted(found)]


@functools.lru_cache(maxsize=None)
def classes():
    """The programs, compiled once; skips if they cannot be."""
    folder = Path(tempfile.mkdtemp(prefix="gctrace-classes-"))
    atexit.register(shutil.rmtree, str(folder), True)
    return folder, jvm_harness.compile_programs(folder)


def start(bench, runtime, program, **options):
    """A JVM that ends with the test."""
    folder, reason = classes()
    conftest.need("javac", not reason, reason)
    jvm = jvm_harness.Jvm(runtime, program, bench.scratch, folder, **options)
    bench.placed.add(str(jvm.outside))
    return bench.keep(jvm)


class Watched:
    """A JVM and its part of a recording. attach() says what its log held around the attach."""

    def __init__(self, jvm, collector=None):
        self.jvm, self.collector = jvm, collector
        self.before, self.asked_ns = self.logged(), time.monotonic_ns()
        self.after = self.ready_ns = self.log = None

    def logged(self):
        return len(self.jvm.log().safepoints) if self.jvm.logged else None

    def attached(self):
        self.ready_ns = time.monotonic_ns()
        self.after = self.logged()

    def take(self, records):
        """Takes its records and, if it has ended or is stopped, its log."""
        pid = self.jvm.pid
        self.records = records
        self.process = records.process(pid)
        self.pauses = records.of_pid(pid)
        self.stalls = [s for s in records.of("stall") if s["pid"] == pid]
        self.phases = [p for p in records.of("phase") if p["pid"] == pid]
        self.log = self.jvm.log() if self.jvm.logged else None
        self.told = self.jvm.truth() if (self.jvm.outside / "truth").exists() else []
        return self

    def truth(self, event):
        return [t for t in self.told if t["event"] == event]

    def of_kind(self, kind):
        return [s for s in self.stalls if s["kind"] == kind]

    def pairs(self):
        """Each pause with the log's safepoint; none may be missing between attach and the end."""
        points = self.log.safepoints
        if self.jvm.runtime.feature == 8:
            return self.aligned(points)
        seen, least = len(self.pauses), len(points) - self.after
        assert least <= seen <= len(points) - self.before, (
            "%d pauses; safepoints: %d before the attach, %d after it, %d at the end; missed %s; %s"
            % (
                seen,
                self.before,
                self.after,
                len(points),
                self.process["missed"],
                self.records.drops,
            )
        )
        return list(zip(self.pauses, points[len(points) - seen :]))

    def aligned(self, points):
        """8 writes its log late, and not its last lines: takes the best alignment."""

        def distance(first):
            both = zip(self.pauses, points[first:])
            sizes = sorted(abs(p["duration_ns"] - s.total_ns) for p, s in both)
            return sizes[len(sizes) // 2]

        first = min(range(min(len(points) // 2, 11)), key=distance)
        pairs = list(zip(self.pauses, points[first:]))
        assert len(self.pauses) - 1 <= len(pairs)
        assert len(points) - first <= len(self.pauses)
        return pairs


def trace(bench, jvms, *args, verb="record", **options):
    """One tracer on all of them; returns it with a Watched each."""
    watched = [w if isinstance(w, Watched) else Watched(w) for w in jvms]
    pids = [word for w in watched for word in ("-p", w.jvm.pid)]
    tracer = bench.tracer(verb, *pids, "-o", bench.file, *args, **options)
    for w in watched:
        w.attached()
    return tracer, watched


def run(bench, jvm, *args, rounds=1, **options):
    """Traces @jvm for some rounds, to its end."""
    tracer, (watched,) = trace(bench, [jvm], *args, **options)
    for _ in range(rounds):
        jvm.go()
    assert jvm.quit() == 0
    tracer.finish()
    return watched.take(bench.report())


def check_clean(records):
    for process in records.processes:
        assert not process["missed"], process
    assert records.drops == []
    assert records.recording["drops"] == 0
    assert records.recording["complete"] is True


PARTS = (
    ("ttsp_ns", "reaching_ns"),
    ("cleanup_ns", "cleanup_ns"),
    ("core_ns", "at_ns"),
    ("leave_ns", "leaving_ns"),
    ("duration_ns", "total_ns"),
)


def check_exact(pairs):
    """17 and later: HotSpot's own ns, of every part and of what lies between two safepoints."""
    for pause, point in pairs:
        assert pause["exact"] is True
        assert pause["operation"] == point.operation
        for ours, logged in PARTS:
            assert pause[ours] == getattr(point, logged), (ours, brief(pause), point)
        assert pause["end_ns"] == pause["start_ns"] + pause["duration_ns"]
        assert pause["end_ns"] <= point.logged_ns
    for (before, _), (pause, point) in zip(pairs, pairs[1:]):
        assert pause["start_ns"] - before["end_ns"] == point.since_last_ns


def check_durations(pairs):
    """17 or later without symbols: reaching and the total are exact, the rest is one piece, and the
    start is the probe's, some µs late."""
    for pause, point in pairs:
        assert pause["exact"] is True
        assert (pause["operation"] or point.operation) == point.operation
        assert pause["ttsp_ns"] == point.reaching_ns
        assert pause["duration_ns"] == point.total_ns
        assert pause["core_ns"] == point.total_ns - point.reaching_ns
        assert pause["cleanup_ns"] is None and pause["leave_ns"] is None
        # the end is as late as the start
        assert pause["start_ns"] + pause["duration_ns"] == pause["end_ns"]
    check_starts(pairs)


def check_starts(pairs):
    """Where the start is the probe's: after the JVM read its clock, before all threads stood still."""
    pauses, points = map(list, zip(*pairs))
    after_first = jvmlog.starts(points, 0)
    first_ns = min(p["start_ns"] - after for p, after in zip(pauses, after_first))
    first_ns = min(first_ns, jvmlog.latest_first_start(points))
    lags = [p["start_ns"] - first_ns - after for p, after in zip(pauses, after_first)]
    for lag_ns, pause, point in zip(lags, pauses, points):
        assert 0 <= lag_ns <= point.reaching_ns, (lag_ns, brief(pause), point)
    check_usual(lags, "starts")


# By how much times that are not HotSpot's own usually differ from its log. A thread may lose its
# processor between two readings of the clock, for any length of time: no bound in ns holds
# for each. What does hold is the order of the readings, which the program determines; see the callers.
USUAL_NS = 50_000
FEW = 10  # of fewer, a tenth is none


def check_usual(differences, what, usual_ns=USUAL_NS):
    """Nine in ten, if there are enough, are within @usual_ns."""
    sizes = sorted(map(abs, differences))
    assert len(sizes) >= FEW, (what, sizes)
    assert sum(s <= usual_ns for s in sizes) >= 0.9 * len(sizes), (what, sizes)


def counted(watched, pairs):
    """8 and 11: without the first, if a safepoint was under way when the tracer attached.

    Then the counters that it would be the difference to are not known, and it says so.
    """
    if pairs[0][0]["exact"]:
        return pairs
    pause, point = pairs[0]
    assert pause["ttsp_ns"] is pause["core_ns"] is pause["full_collections"] is None
    assert pause["duration_ns"] >= point.total_ns - USUAL_NS, (brief(pause), point)
    # 8's log has no stamps of this clock
    if point.logged_ns:
        near = watched.log.safepoints[max(point.index - 1, 0) : point.index + 1]
        assert any(
            watched.asked_ns <= s.logged_ns and s.entering_ns <= watched.ready_ns for s in near
        ), (brief(pause), near)
    return pairs[1:]


def check_near(pairs):
    """8 and 11, whose counters are read beside the log's clock: bounds, and what comes first."""
    for pause, point in pairs:
        assert pause["exact"] is True, (brief(pause), point)
        assert pause["cleanup_ns"] is None and pause["leave_ns"] is None
        assert pause["core_ns"] == pause["duration_ns"] - pause["ttsp_ns"]
        # RuntimeService reads the time to safepoint before the log does, and the whole after it
        assert 0 <= pause["ttsp_ns"] <= point.reaching_ns + point.resolution_ns, (
            brief(pause), point)
        assert pause["duration_ns"] >= point.total_ns - point.resolution_ns, (brief(pause), point)
        if point.entering_ns:
            assert pause["start_ns"] <= point.entering_ns
        if point.logged_ns:
            assert pause["start_ns"] + pause["ttsp_ns"] <= point.logged_ns
    check_usual([p["duration_ns"] - s.total_ns for p, s in pairs], "durations")
    check_usual([p["ttsp_ns"] - s.reaching_ns for p, s in pairs], "reaching")
    # the line is written once all threads have stopped
    entering = [
        s.entering_ns - p["start_ns"] - p["ttsp_ns"] for p, s in pairs if s.entering_ns
    ]
    if entering:  # 8 has no such line
        check_usual(entering, "starts", 500_000)


def check_operations(pairs):
    """Compares operations by name, where there are names; 8 has none, and 11 none where there was no operation."""
    for pause, point in pairs:
        if pause["operation"] is None:
            assert point.operation in NO_OPERATION, point
        else:
            assert pause["operation"] == point.operation, (brief(pause), point)


def check_collections(watched, pairs):
    """Serial, Parallel, G1: what was collected, why, and the heap around it."""
    for pause, point in pairs:
        # 8 writes into the middle of its own lines: a line that is cut has lost its cause
        if watched.jvm.runtime.feature == 8 and any(
            c.generation and not c.cause for c in point.collections
        ):
            continue
        young = sum(c.generation == "young" for c in point.collections)
        full = sum(c.generation == "full" for c in point.collections)
        assert pause["full"] is (full > 0), (brief(pause), point)
        if young + full:
            # the young one that 8 attempts within a full one has no line of its own
            attempted = sum(jvmlog.ATTEMPTED in c.notes for c in point.collections)
            assert pause["gc"] is True and pause["concurrent"] is False, (brief(pause), point)
            assert pause["full_collections"] == full, (brief(pause), point)
            assert pause["young_collections"] == young + attempted, (brief(pause), point)
            assert pause["generation"] == (1 if full else 0)
            # The cause of the request: Parallel adds a full one to a young one, or does it instead,
            # for reasons of its own, but the request was a failed allocation.
            first = point.collections[0].cause
            asked = "Allocation Failure" if first == "Ergonomics" else first
            assert pause["cause"] == asked, (brief(pause), point)
        else:
            # 8 does not count G1's Remark and Cleanup
            in_cycle = bool(point.collections) and watched.jvm.runtime.feature > 8
            assert pause["gc"] is in_cycle and pause["concurrent"] is in_cycle
            assert pause["cause"] is None and pause["generation"] is None
            assert pause["heap_before_bytes"] is None or in_cycle
        if watched.process["tier"] == "symbol" and young + full:
            check_heap(pause, point)


def check_heap(pause, point):
    """Bytes, where the log has KB or MB rounded down, or MB rounded either way."""
    first, last = point.collections[0], point.collections[-1]
    for ours, logged, resolution in (
        (pause["heap_before_bytes"], first.before_bytes, first.heap_resolution),
        (pause["live_bytes"], last.after_bytes, last.heap_resolution),
    ):
        assert ours is not None, (brief(pause), point)
        if resolution <= 1 << 10:
            # 8 and G1 add up adjacent regions, each rounded
            assert 0 <= ours - logged < resolution * 2, (brief(pause), point)
        else:
            assert abs(ours - logged) < resolution, (brief(pause), point)
    freed = pause["heap_before_bytes"] - pause["live_bytes"]
    assert pause["freed_bytes"] == (freed if freed >= 0 else None)


def follows_another(watched, pause, point):
    """Up to 11, several operations may run in one safepoint, which has the name of the first."""
    return (
        watched.jvm.runtime.feature <= 11
        and bool(point.collections)
        and not (pause["operation"] or "Z").startswith(("Z", "Shenandoah"))
    )


def is_open(watched, pause, point):
    """Nobody knows whether it collected: without a name it may have been a step of a cycle that no
    counter tells of, and up to 11 a step may have followed what bears the name."""
    if point.collections:
        return follows_another(watched, pause, point)
    return pause["operation"] is None or watched.jvm.runtime.feature <= 11


def check_cycles(watched, pairs):
    """ZGC and Shenandoah: each stop is a step of a cycle, with the cycle's cause if there is one."""
    causes = {p.gc_id: p.cause for p in watched.log.phases if p.cycle}
    explicit = 0
    for pause, point in pairs:
        told = None if is_open(watched, pause, point) else bool(point.collections)
        assert pause["gc"] is told, (brief(pause), point)
        if follows_another(watched, pause, point):
            continue
        full = any(c.generation == "full" for c in point.collections)
        assert pause["full"] is full or (pause["full"] is None and not full), (brief(pause), point)
        if not point.collections:
            assert pause["cause"] is None and pause["concurrent"] is False
            continue
        (collection,) = point.collections
        cause = collection.cause or causes.get(collection.gc_id)
        if cause:
            assert pause["cause"] in (cause, None), (brief(pause), point)
        else:
            assert pause["cause"] not in ("", "No GC")
        assert pause["concurrent"] is (
            not full and "Degenerated" not in collection.what
        ), (brief(pause), point)
        explicit += pause["cause"] == "System.gc()"
    return explicit


def bare(name):
    """ "Concurrent marking (unload classes)" as the log's reader has it."""
    return " ".join(re.sub(r"\([^()]*\)", "", name).split())


# What G1 logs around phases of its own: the sum of some, of which it keeps no time.
SUMS = {"g1": {"Concurrent Mark"}}
PHASE_NS = 500_000  # between a phase's own clock and that of the log's line around it
PHASE_RESOLUTION_NS = 1000


def by_thread(watched):
    """Each phase paired with the log's, a list by thread: none missing since the attach, none too many."""
    ours, logged, pairs = defaultdict(list), defaultdict(list), defaultdict(list)
    for phase in watched.phases:
        ours[bare(phase["name"]), phase["tid"]].append(phase)
    for phase in watched.log.phases:
        if not phase.cycle and phase.name not in SUMS.get(watched.collector, ()):
            logged[phase.name, phase.tid].append(phase)
    assert not ours.keys() - logged.keys(), ours.keys() - logged.keys()
    for (name, tid), theirs in logged.items():
        mine = ours[name, tid]
        begun = [p.started_ns or p.logged_ns - p.duration_ns for p in theirs]
        least = sum(b >= watched.ready_ns for b in begun)
        assert least <= len(mine) <= len(theirs), (name, tid, len(mine), least, len(theirs))
        pairs[tid] += zip(mine, theirs[len(theirs) - len(mine) :])
    return [sorted(some, key=lambda pair: pair[1].logged_ns) for some in pairs.values()]


def check_phases(watched):
    """Every concurrent phase since the attach, by name, thread and order, within what the log leaves it."""
    differences = []
    for pairs in by_thread(watched):
        idle_ns = 0  # the thread has logged its last
        for phase, point in pairs:
            said = (phase, point)
            assert max(idle_ns, point.started_ns or 0) <= phase["start_ns"], said
            assert phase["end_ns"] <= point.logged_ns, said
            # G1 and Shenandoah log around what they time; ZGC times, reports, and logs at the end
            if point.started_ns:
                assert phase["duration_ns"] <= point.duration_ns + PHASE_RESOLUTION_NS, said
            else:
                most_ns = phase["end_ns"] - idle_ns
                assert point.duration_ns <= most_ns + PHASE_RESOLUTION_NS, said
            idle_ns = point.logged_ns
            differences.append(phase["duration_ns"] - point.duration_ns)
    check_usual(differences, "phases", PHASE_NS)


def check_calls(watched, count):
    """System.gc(): each call's stall is within the time that the program itself measured."""
    calls = watched.of_kind("System.gc")
    told = watched.truth("system-gc")
    assert len(calls) == len(told) == count
    for call, truth in zip(calls, told):
        assert truth["start_ns"] <= call["start_ns"] <= call["end_ns"] <= truth["end_ns"]
    return calls


def is_regular(times):
    """Half of them lie within a quarter of their median on each side; on a busy machine they need not."""
    low, high = (sorted(times)[math.ceil(q * len(times)) - 1] for q in (0.25, 0.75))
    median = int(statistics.median(times))
    return median > 0 and 0.75 * median <= low and high <= 1.25 * median


def check_rhythm(caller, calls):
    """What the report says of the times between @calls; whether it calls it regular by those, and by rests."""
    pairs = list(zip(calls, calls[1:]))
    periods = [b["start_ns"] - a["start_ns"] for a, b in pairs]
    rests = [b["start_ns"] - a["end_ns"] for a, b in pairs]
    assert caller["period_ns"] == int(statistics.median(periods))
    assert caller["rest_ns"] == int(statistics.median(rests))
    assert caller["regular"] is (is_regular(periods) or is_regular(rests))
    return is_regular(periods), is_regular(rests)


def check_apart(watched):
    """Stalls and phases are in no total of pauses."""
    summary = watched.records.summary
    assert summary["pauses"] == len(watched.records.pauses)
    assert summary["pause_ns"] == sum(p["duration_ns"] for p in watched.records.pauses)


def frames(stack):
    return [(f["function"], f["file"], f["line"]) for f in stack or []]


def expected_frame(source, function, mark):
    return (function, source, jvm_harness.line_of(source, mark))
