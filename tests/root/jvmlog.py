"""Reads a JVM's own log of its safepoints, collections, concurrent phases and stalls: the oracle.

In: a file written with flags(). Out: Log, whose records hold integer ns and bytes; what a version
does not say is None. A line that should be a record but cannot be read raises ValueError.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Optional

# Of a full collection of 8 that began as a young one, on one line for both.
ATTEMPTED = "young attempted"
VM_LOG = ".vm"  # ends the name of what 8 writes beside its log: the names of the operations


@dataclass
class Safepoint:
    """total_ns is the sum of the parts that are there; begins are since_last_ns after ends."""

    index: int
    operation: Optional[str]
    since_last_ns: Optional[int]
    reaching_ns: int
    cleanup_ns: Optional[int]
    at_ns: Optional[int]
    leaving_ns: Optional[int]
    total_ns: int
    resolution_ns: int  # of all times in this record
    logged_ns: Optional[int]  # CLOCK_MONOTONIC when the line was made: after the end
    entering_ns: Optional[int]  # the same for 11's line "Entering", None in later versions
    tid: Optional[int]
    collections: List["Collection"] = field(default_factory=list)


@dataclass
class Collection:
    """A stop that the collector logged; one safepoint may hold several."""

    gc_id: Optional[int]
    what: str  # "Pause Young (Normal)", "Pause Remark", "Pause Mark Start"
    cause: Optional[str]  # only where the line says it: young and full collections
    generation: Optional[str]  # "young", "full", or None for a pause of a concurrent cycle
    notes: List[str]  # "Evacuation Failure", "unload classes"; ATTEMPTED
    before_bytes: Optional[int]
    after_bytes: Optional[int]
    capacity_bytes: Optional[int]
    heap_resolution: Optional[int]  # of the three: 1 MB as logged, 1 KB from the heap's own lines
    duration_ns: Optional[int]
    tid: Optional[int]
    started_ns: Optional[int]  # when the line of the start was made
    logged_ns: Optional[int]
    safepoint: Optional[int] = None  # the index of the safepoint that held it


@dataclass
class Phase:
    """A concurrent phase, or a whole cycle of a concurrent collector."""

    gc_id: Optional[int]
    name: str  # "Concurrent Mark From Roots", "Minor Collection"
    cause: Optional[str]  # of a cycle
    cycle: bool
    duration_ns: Optional[int]  # not given for the cycles of 11 to 21's single-generation ZGC
    tid: Optional[int]
    started_ns: Optional[int]
    logged_ns: Optional[int]


@dataclass
class Stall:
    """A thread that waited for the collector outside of any safepoint."""

    # "gclocker-gc": it wants to collect and a thread is in a JNI critical section; from 25 on logged
    # of every collection of Serial and Parallel, mostly with 0 ms. "gclocker-enter": it wants to
    # enter one while a collection is due. "pacing": a sum over one cycle; some builds that pace
    # do not log it.
    kind: str  # or "allocation" or "relocation"
    thread: str
    duration_ns: Optional[int]  # not given for "gclocker-gc" before 25, whose line is at the start
    resolution_ns: Optional[int]
    tid: Optional[int]
    logged_ns: Optional[int]


@dataclass
class Log:
    safepoints: List[Safepoint] = field(default_factory=list)
    collections: List[Collection] = field(default_factory=list)
    phases: List[Phase] = field(default_factory=list)
    stalls: List[Stall] = field(default_factory=list)

    def between(self, start_ns, end_ns):
        """The safepoints whose line was made in an interval."""
        return [s for s in self.safepoints if start_ns <= s.logged_ns < end_ns]


def flags(feature, path):
    """The options that make a JVM of version @feature write its log to @path (8 also to @path.vm)."""
    if feature >= 9:
        what = "gc*=info,safepoint*=info,gc+jni=debug,gc+heap=debug"
        return ["-Xlog:%s:file=%s:timenanos,tid,tags:filecount=0" % (what, path)]
    return [
        "-Xloggc:" + path,
        "-XX:+PrintGCDetails",
        "-XX:+PrintGCTimeStamps",
        "-XX:+PrintGCCause",
        "-XX:+PrintGCApplicationStoppedTime",
        "-XX:+PrintGCApplicationConcurrentTime",
        "-XX:+PrintSafepointStatistics",
        "-XX:PrintSafepointStatisticsCount=1",
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+LogVMOutput",
        "-XX:-DisplayVMOutput",
        "-XX:LogFile=" + path + VM_LOG,
    ]


def read(path, feature):
    path = Path(path)
    text = path.read_text(errors="replace")
    if feature >= 9:
        return parse(text)
    operations = Path(str(path) + VM_LOG)
    return parse_8(text, operations.read_text(errors="replace") if operations.exists() else "")


def starts(safepoints, first_ns):
    """The start of each safepoint, given that of the first: exact for 17 and later. 11 measures
    since_last_ns otherwise, and the sum drifts."""
    found, start = [], first_ns
    for before, now in zip([None] + safepoints[:-1], safepoints):
        if before is not None:
            start += before.total_ns + now.since_last_ns
        found.append(start)
    return found


def latest_first_start(safepoints):
    """An upper bound of the first start: no line can be older than the end that it tells of. Exact
    to the fastest logging among the safepoints, some microseconds."""
    ends = [b + s.total_ns for b, s in zip(starts(safepoints, 0), safepoints)]
    return min(s.logged_ns - end for s, end in zip(safepoints, ends))


# Unified logging, 9 and later.

LINE = re.compile(r"\[(\d+)ns\]\[(\d+) *\]\[([a-z0-9_,]+) *\] ?(.*)$")
SAFEPOINT = re.compile(
    r'Safepoint "([^"]+)", Time since last: (\d+) ns, Reaching safepoint: (\d+) ns, '
    r"(?:Cleanup: (\d+) ns, )?At safepoint: (\d+) ns, (?:Leaving safepoint: (\d+) ns, )?"
    r"Total: (\d+) ns(?:, Threads: \d+ runnable, \d+ total)?$"
)
STOPPED = re.compile(
    r"Total time for which application threads were stopped: ([\d.]+) seconds, "
    r"Stopping threads took: ([\d.]+) seconds$"
)
GC = re.compile(r"GC\((\d+)\) +(?:[yYoO]: +)?(.*)$")
HEAP = re.compile(r" (\d+)([BKMG])(?:\(\d+%\))?->(\d+)([BKMG])(?:\((?:\d+%|(\d+)([BKMG]))\))?$")
DURATION = re.compile(r" ([\d.]+)(ms|s)$")
HEAP_BLOCK = re.compile(r"Heap (?:[bB]efore|[aA]fter) GC")
HEAP_USED = re.compile(r".* total .*used (\d+)K")
PHASE = re.compile(r"Concurrent |Coalescing ")
CYCLE = re.compile(r"(?:(?:Major|Minor|Garbage) Collection|Concurrent (?:Mark |Undo )?Cycle)")
STALL = re.compile(
    r"(?:GC\(\d+\) )?(?:[yYoO]: )?(Allocation|Relocation) Stall \((.+)\) ([\d.]+)ms$"
)
LOCKER_BLOCKED = re.compile(
    r"Thread blocked to (start GC|enter critical region)\. Resumed after (\d+)ms\. "
    r'Thread "(.*)"\.$'
)
LOCKER_STALLED = re.compile(
    r'Allocation failed\. Thread stalled by JNI critical section\. Thread "(.*)" \d+ locked\.$'
)
PACED = re.compile(r" *(\d+) of +\d+ ms \( *[\d.]+%\): ([^<].*)$")
G1_KINDS = ("Normal", "Concurrent Start", "Prepare Mixed", "Mixed")
UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse(text):
    return _Unified().parse(text)


def _whole_lines(text):
    """The text without its last line if the JVM was killed in it, or is still writing it."""
    return text[: text.rfind("\n") + 1].splitlines()


def seconds_to_ns(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000000000 + int(part.ljust(9, "0")[:9])


def _groups(text):
    """ "Pause Young (Normal) (System.gc())" → "Pause Young" and ["Normal", "System.gc()"]."""
    name, groups, depth, start = [], [], 0, 0
    for at, char in enumerate(text):
        if char == "(":
            start = at + 1 if depth == 0 else start
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                groups.append(text[start:at])
        elif depth == 0:
            name.append(char)
    return " ".join("".join(name).split()), groups


class _Unified:
    def __init__(self):
        self.log = Log()
        self.entering = None  # of 11: when and what
        self.applied = None
        self.cleanup = None
        self.begun = {}  # gc id and text of a start → when
        self.used = {}  # gc id → KB before and after, as lists of sums
        self.pending = {}  # tid → collections whose safepoint is not logged yet

    def parse(self, text):
        for line in _whole_lines(text):
            found = LINE.match(line)
            if not found:
                continue
            when, tid, tags, said = found.groups()
            tags = tags.split(",")
            if tags[0] == "safepoint":
                self.safepoint(int(when), int(tid), tags, said)
            elif tags[0] == "gc":
                self.gc(int(when), int(tid), tags, said)
        for collection in self.log.collections:
            self.use_exact_heap(collection)
        return self.log

    def safepoint(self, when, tid, tags, said):
        if tags == ["safepoint", "cleanup"] and said.startswith("safepoint cleanup tasks, "):
            self.cleanup = seconds_to_ns(said.split()[3])
        if tags != ["safepoint"]:
            return
        if said.startswith("Safepoint "):
            found = SAFEPOINT.match(said)
            if not found:
                raise ValueError("no safepoint: " + said)
            numbers = [None if n is None else int(n) for n in found.groups()[1:]]
            self.add(found.group(1), numbers, 1, when, None, tid)
        elif said.startswith("Entering safepoint region: "):
            self.entering = (when, said.partition(": ")[2])
            self.cleanup = None
        elif said.startswith("Application time: "):
            self.applied = seconds_to_ns(said.split()[2])
        elif said.startswith("Total time "):
            found = STOPPED.match(said)
            if not found or not self.entering:
                raise ValueError("no safepoint: " + said)
            total, reaching = map(seconds_to_ns, found.groups())
            numbers = [self.applied, reaching, self.cleanup, None, None, total]
            self.add(self.entering[1], numbers, 100, when, self.entering[0], tid)
            self.entering = self.applied = None

    def add(self, operation, numbers, resolution, when, entering, tid):
        made = Safepoint(
            len(self.log.safepoints), operation, *numbers, resolution, when, entering, tid
        )
        made.collections = self.pending.pop(tid, [])
        for collection in made.collections:
            collection.safepoint = made.index
        self.log.safepoints.append(made)

    def gc(self, when, tid, tags, said):
        if self.stall(when, tid, said):
            return
        found = GC.match(said)
        if not found:
            return
        gc_id, said = int(found.group(1)), found.group(2)
        if tags == ["gc", "heap"]:
            self.heap(gc_id, said)
        elif tags == ["gc", "start"]:
            self.begun[gc_id, said] = when
        elif said.startswith("Pause ") and tags in (["gc"], ["gc", "phases"]):
            self.pause(when, tid, gc_id, said)
        elif PHASE.match(said) or CYCLE.match(said):
            self.phase(when, tid, tags, gc_id, said)

    def stall(self, when, tid, said):
        add = self.log.stalls.append
        found = STALL.match(said)
        if found:
            kind, thread, ms = found.groups()
            add(Stall(kind.lower(), thread, round(float(ms) * 1e6), 1000, tid, when))
            return True
        found = LOCKER_BLOCKED.match(said)
        if found:
            why, ms, thread = found.groups()
            kind = "gclocker-gc" if why == "start GC" else "gclocker-enter"
            add(Stall(kind, thread, int(ms) * 1000000, 1000000, tid, when))
            return True
        found = LOCKER_STALLED.match(said)
        if found:
            add(Stall("gclocker-gc", found.group(1), None, None, tid, when))
            return True
        found = PACED.match(said)
        if found:
            # logged at the end of the cycle, by another thread
            ms = int(found.group(1))
            add(Stall("pacing", found.group(2), ms * 1000000, 1000000, None, when))
        return bool(found)

    def heap(self, gc_id, said):
        before_and_after = self.used.setdefault(gc_id, [])
        if HEAP_BLOCK.match(said):
            before_and_after.append(0)
        found = HEAP_USED.match(said)
        if found and before_and_after:
            before_and_after[-1] += int(found.group(1))

    def use_exact_heap(self, collection):
        """The heap's own lines, in KB, where those of the collection round to MB."""
        used = self.used.get(collection.gc_id, [])
        if collection.before_bytes is None or len(used) != 2 or 0 in used:
            return
        collection.before_bytes, collection.after_bytes = (kb << 10 for kb in used)
        collection.heap_resolution = 1 << 10

    def pause(self, when, tid, gc_id, said):
        rest, duration = _duration(said)
        if duration is None:
            return  # debug lines of a phase's start
        rest, heap = _heap(rest)
        name, groups = _groups(rest)
        started = self.begun.pop((gc_id, rest), None)
        kind, cause, generation = [], None, None
        if name == "Pause Young":
            generation = "young"
            kind = [groups.pop(0)] if groups and groups[0] in G1_KINDS else []
            cause = groups.pop(0) if groups else None
        elif name == "Pause Full":
            generation = "full"
            cause = groups.pop(0) if groups else None
        what = name + "".join(" (%s)" % k for k in kind)
        made = Collection(
            gc_id, what, cause, generation, groups, *heap, duration, tid, started, when
        )
        self.log.collections.append(made)
        self.pending.setdefault(tid, []).append(made)

    def phase(self, when, tid, tags, gc_id, said):
        rest, duration = _duration(said)
        rest, heap = _heap(rest)
        cycle = bool(CYCLE.match(rest))
        if duration is None and (not cycle or heap[0] is None):
            self.begun.setdefault((gc_id, rest), when)
            return
        name, groups = _groups(rest)
        started = self.begun.pop((gc_id, rest), None)
        cause = groups[0] if cycle and groups else None
        self.log.phases.append(Phase(gc_id, name, cause, cycle, duration, tid, started, when))


def _duration(said):
    """The line without its duration, and that in ns or None."""
    found = DURATION.search(said)
    if not found:
        return said, None
    ns = round(float(found.group(1)) * (1e6 if found.group(2) == "ms" else 1e9))
    return said[: found.start()], ns


def _heap(said):
    """The line without "12M->3M(64M)", and before, after, capacity and their resolution."""
    found = HEAP.search(said)
    if not found:
        return said, (None, None, None, None)
    before, before_unit, after, after_unit, capacity, capacity_unit = found.groups()
    return said[: found.start()], (
        int(before) * UNITS[before_unit],
        int(after) * UNITS[after_unit],
        int(capacity) * UNITS[capacity_unit] if capacity else None,
        max(UNITS[before_unit], UNITS[after_unit]),
    )


# What 8 prints.

# A message is written at once, its stamp and the ": " separately before it. So another thread's
# stamps, or none, may stand before it: a marking thread prints while the VM thread does.
STAMPED = re.compile(r"(?:[\d:][\d.,: ]*)?(.*)$")
GC_8 = re.compile(r"\[(Full GC|GC pause|GC remark|GC cleanup|GC|)(?= )")
WHOLE_8 = re.compile(r"(?<![:\d]) (\d+)K->(\d+)K\((\d+)K\)")
G1_WHOLE_8 = re.compile(
    r"Heap: ([\d.]+)([BKMG])\(([\d.]+)([BKMG])\)->([\d.]+)([BKMG])\(([\d.]+)([BKMG])\)"
)
SECONDS_8 = re.compile(r", ([\d.]+) secs\]")
OPERATION_8 = re.compile(r"\d+[.,]\d+: (\S.*?) +\[ +\d+ +\d+ +\d+ +\]  +\[(?: +\d+){5} +\] ")


def parse_8(text, operations=""):
    """The log of 8, with @operations from the file beside it, in the same order."""
    log, names = Log(), OPERATION_8.findall(operations)
    applied, pending = None, []
    for line in _whole_lines(text):
        said = STAMPED.match(line).group(1)
        if said.startswith("Application time: "):
            applied = seconds_to_ns(said.split()[2])
            continue
        stopped = STOPPED.match(said)
        if stopped:
            _add_8(log, stopped, names, applied, pending)
            applied, pending = None, []
            continue
        whole = G1_WHOLE_8.search(said)
        if whole and pending:
            _use_g1_heap_8(pending[-1], whole)
        elif said.startswith("[GC concurrent-"):
            _add_phase_8(log, said)
        elif GC_8.match(said):
            pending.append(_collection_8(said))
            log.collections.append(pending[-1])
    return log


def _add_8(log, stopped, names, applied, pending):
    index = len(log.safepoints)
    total, reaching = map(seconds_to_ns, stopped.groups())
    name = names[index] if index < len(names) else None
    made = Safepoint(
        index, name, applied, reaching, None, None, None, total, 100, None, None, None, pending
    )
    for collection in pending:
        collection.safepoint = index
    log.safepoints.append(made)


def _add_phase_8(log, said):
    found = re.match(r"\[GC (concurrent-[a-z-]+)-end, ([\d.]+) secs\]", said)
    if found:
        ns = seconds_to_ns(found.group(2))
        log.phases.append(Phase(None, found.group(1), None, False, ns, None, None, None))


def _collection_8(said):
    head = GC_8.match(said).group(1)
    _, groups = _groups(said[len(head) + 1 :].split("[")[0].split(",")[0])
    full = head == "Full GC" or "[Tenured: " in said or "[CMS: " in said
    attempted = [ATTEMPTED] if head == "GC" and "[Tenured: " in said else []
    pause_of_cycle = head in ("GC remark", "GC cleanup")
    what = "Pause " + (head[3:].capitalize() if pause_of_cycle else "Full" if full else "Young")
    # the sizes of one generation stand in brackets of their own
    flat = re.sub(r"\[[A-Za-z]+: [^\[\]]*\]", "", said)
    heap = WHOLE_8.search(flat)
    seconds = SECONDS_8.findall(flat)
    sizes = [int(kb) << 10 for kb in heap.groups()] if heap else [None, None, None]
    return Collection(
        None,
        what,
        groups[0] if groups and not pause_of_cycle else None,
        None if pause_of_cycle else "full" if full else "young",
        groups[1:] + attempted,
        *sizes,
        (1 << 10) if heap else None,
        seconds_to_ns(seconds[-1]) if seconds else None,
        None,
        None,
        None
    )


def _use_g1_heap_8(collection, found):
    parts = found.groups()
    sizes = [round(float(n) * UNITS[u]) for n, u in zip(parts[::2], parts[1::2])]
    collection.before_bytes, _, collection.after_bytes, collection.capacity_bytes = sizes
    units = (parts[1], parts[5])
    collection.heap_resolution = max(max(UNITS[u] // 10, 1) for u in units)
