"""Puts JVMs under the tracer and holds what it recorded against what they logged of themselves.

In: rows of kind hotspot, programs of jvm/. Out: Watched, one traced JVM with both sides; checks.
"""

import atexit
import functools
import re
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

import conftest
import harness
import jvm_harness
import jvmlog

ALL = jvm_harness.load_runtimes()
NAMED = [r for r in ALL if r.name in conftest.CHOSEN or r.base in conftest.CHOSEN]
# Others were asked for by name: of the JVMs only what is quick, on the system's own.
QUICK = bool(conftest.CHOSEN) and not NAMED
OWN = [r for r in ALL if r.base.startswith("system")]
CHOSEN = NAMED or (OWN[:1] if QUICK else ALL)
PLAIN = [r for r in CHOSEN if r.variant == "asis"]

full_only = pytest.mark.skipif(QUICK, reason="for the full suite")

# Collectors whose counters and heap summaries tell of every stop that they make.
STOPPING = ("serial", "parallel", "g1")
# No operation has run there, only what each safepoint does on its way; 11 names it all the same.
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
    """One of the system's own, else the newest: for what no version changes."""
    runtimes = PLAIN if runtimes is None else runtimes
    local = [r for r in runtimes if not r.in_root]
    return sorted(local or runtimes, key=lambda r: r.version_tuple)[-1:]


def each(name, runtimes):
    return conftest.each(name, runtimes, "JVM of those asked for is here")


def spread(features):
    """One plain JVM of each of these versions, the distribution's where there are several."""
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
        self.before = self.logged()
        self.after = self.ready_ns = self.log = None

    def logged(self):
        return len(self.jvm.log().safepoints) if self.jvm.logged else None

    def attached(self):
        self.ready_ns = time.monotonic_ns()
        self.after = self.logged()

    def take(self, records):
        """Its records and, if it has ended or stands still, its log."""
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
        """8 writes its log late, and not its last lines: what lines up best does."""

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
        # the end is after the real one by as much as the start is
        assert pause["start_ns"] + pause["duration_ns"] == pause["end_ns"]
    gaps = [
        pause["start_ns"] - before["end_ns"] - point.since_last_ns
        for (before, _), (pause, point) in zip(pairs, pairs[1:])
    ]
    check_bound(gaps, what="starts")


# By how much times that are not HotSpot's own may differ from its log: usually, and at most, for a
# thread can lose its processor between two readings of the clock.
USUAL_NS, MOST_NS = 50_000, 200_000_000


def check_bound(differences, usual_ns=USUAL_NS, part=0.9, what="times"):
    """At least @part of them, and of a few all but one, are within @usual_ns."""
    sizes = sorted(abs(d) for d in differences)
    if not sizes:
        return
    usual = min(int(len(sizes) * part), len(sizes) - 2)
    assert sizes[-1] <= MOST_NS, (what, sizes)
    assert sizes[max(usual, 0)] <= usual_ns, (what, sizes)


def counted(pairs):
    """8 and 11: without the first, if another safepoint was under way when the tracer attached.

    Then the counters that it would be the difference to are not known, and it says so.
    """
    if not pairs or pairs[0][0]["exact"]:
        return pairs
    pause, point = pairs[0]
    assert pause["ttsp_ns"] is pause["core_ns"] is pause["full_collections"] is None
    assert pause["duration_ns"] >= point.total_ns - USUAL_NS, (brief(pause), point)
    return pairs[1:]


def check_near(pairs):
    """8 and 11, whose counters are read beside the log's clock: bounds, and what comes first."""
    for pause, point in pairs:
        assert pause["exact"] is True, (brief(pause), point)
        assert pause["cleanup_ns"] is None and pause["leave_ns"] is None
        assert pause["core_ns"] == pause["duration_ns"] - pause["ttsp_ns"]
        if point.entering_ns:
            assert pause["start_ns"] <= point.entering_ns
        if point.logged_ns:
            assert pause["start_ns"] + pause["ttsp_ns"] <= point.logged_ns
    check_bound([p["duration_ns"] - s.total_ns for p, s in pairs], what="durations")
    check_bound([p["ttsp_ns"] - s.reaching_ns for p, s in pairs], what="reaching")
    # the line is written once all threads stand still
    entering = [
        s.entering_ns - p["start_ns"] - p["ttsp_ns"] for p, s in pairs if s.entering_ns
    ]
    check_bound(entering, 500_000, 0.5, "starts")


def check_operations(pairs):
    """By name where it is told; 8 cannot, and 11 knows none where there was none."""
    for pause, point in pairs:
        if pause["operation"] is None:
            assert point.operation in NO_OPERATION, point
        else:
            assert pause["operation"] == point.operation, (brief(pause), point)


def check_collections(watched, pairs):
    """Serial, Parallel, G1: what was collected, why, and the heap around it."""
    for pause, point in pairs:
        # 8 writes into the midst of its own lines: of what is cut the cause is gone
        if watched.jvm.runtime.feature == 8 and any(
            c.generation and not c.cause for c in point.collections
        ):
            continue
        young = sum(c.generation == "young" for c in point.collections)
        full = sum(c.generation == "full" for c in point.collections)
        assert pause["full"] is (full > 0), (brief(pause), point)
        if young + full:
            # the young one that 8 attempts within a full one has no line of its own there
            attempted = watched.jvm.runtime.feature == 8 and full and not young
            assert pause["gc"] is True and pause["concurrent"] is False, (brief(pause), point)
            assert pause["full_collections"] == full, (brief(pause), point)
            assert pause["young_collections"] in (young, young + attempted), (brief(pause), point)
            assert pause["generation"] == (1 if full else 0)
            # The cause of the request: a young one that is not enough is followed, or one that
            # would not be is replaced, by a full one for reasons of its own.
            first = point.collections[0].cause
            replaced = first == "Ergonomics" and pause["cause"] == "Allocation Failure"
            assert replaced or pause["cause"] == first, (brief(pause), point)
        elif not point.collections or watched.jvm.runtime.feature > 8:
            in_cycle = bool(point.collections)
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
            # 8 and G1 add the regions that lie side by side, rounded each
            assert 0 <= ours - logged < resolution * 2, (brief(pause), point)
        else:
            assert abs(ours - logged) < resolution, (brief(pause), point)
    freed = pause["heap_before_bytes"] - pause["live_bytes"]
    assert pause["freed_bytes"] == (freed if freed >= 0 else None)


def follows_another(watched, pause, point):
    """Up to 11, several operations may run in one safepoint, which bears the name of the first."""
    return (
        watched.jvm.runtime.feature <= 11
        and bool(point.collections)
        and not (pause["operation"] or "Z").startswith(("Z", "Shenandoah"))
    )


def check_cycles(watched, pairs):
    """ZGC and Shenandoah: each stop is a step of a cycle, with the cycle's cause if it has one."""
    causes = {p.gc_id: p.cause for p in watched.log.phases if p.cycle}
    explicit = 0
    for pause, point in pairs:
        # without a name and a counter that moved, it may have been a step of a cycle
        unsure = pause["gc"] is None and not point.collections and (
            pause["operation"] is None or watched.jvm.runtime.feature <= 11
        )
        if follows_another(watched, pause, point):
            continue
        assert unsure or pause["gc"] is bool(point.collections), (brief(pause), point)
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


def check_phases(watched):
    """Every concurrent phase that began after the attach, by name and length."""
    logged = [
        p
        for p in watched.log.phases
        if not p.cycle and (p.started_ns or p.logged_ns - p.duration_ns) >= watched.ready_ns
    ]
    ours = [p for p in watched.phases if watched.ready_ns <= p["start_ns"]]
    names = {p.name for p in logged}
    # Each has names that the other has not; "Concurrent …" is what the log's reader reads.
    counted = Counter(bare(p["name"]) for p in ours if p["name"].startswith("Concurrent "))
    told = Counter(p.name for p in logged if p.name in counted)
    assert counted == told, (counted - told, told - counted)
    differences = []
    for name in counted:
        mine = sorted(p["duration_ns"] for p in ours if bare(p["name"]) == name)
        theirs = sorted(p.duration_ns for p in logged if p.name == name)
        differences += [a - b for a, b in zip(mine, theirs)]
    check_bound(differences, 500_000, 0.8, "phases")
    return names - set(counted)


def check_calls(watched, count):
    """System.gc(): each call's stall lies within what the program itself timed."""
    calls = watched.of_kind("System.gc")
    told = watched.truth("system-gc")
    assert len(calls) == len(told) == count
    for call, truth in zip(calls, told):
        assert truth["start_ns"] <= call["start_ns"] <= call["end_ns"] <= truth["end_ns"]
    return calls


def check_apart(watched):
    """Stalls and phases are in no total of pauses."""
    summary = watched.records.summary
    assert summary["pauses"] == len(watched.records.pauses)
    assert summary["pause_ns"] == sum(p["duration_ns"] for p in watched.records.pauses)


def frames(stack):
    return [(f["function"], f["file"], f["line"]) for f in stack or []]


def expected_frame(source, function, mark):
    return (function, source, jvm_harness.line_of(source, mark))
