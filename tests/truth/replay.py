"""Replays what a program launched on GPUs, with a pause and without: what the pause cost is the difference.

In: a trace that PyTorch's profiler wrote on a real GPU. Its calls become a program of one host: each comes as long after the
one before as it did, works as long as it did, and launches or waits for what it did. A device does what each stream gets in
order; work that a stream had begun late though its launch was early waits for what had just ended. A pause stops the host and
nothing else. Out: a trace of the replay, as the profiler would have written it, and when all work was done. Times are ns.
"""

import gzip
import json
from collections import defaultdict, namedtuple

WORK = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize")
LATENCY = 5_000  # the most that a launch into an idle stream takes by itself
PROMPT = 2_000  # a call that waited returns so soon at the latest: when it wakes up is no matter of pauses

Work = namedtuple("Work", "category name device stream length latency after behind")  # after: index of work; behind: ns
Op = namedtuple("Op", "name tid gap length works waits late")  # waits: index of work or None; late: ns after its end
Pause = namedtuple("Pause", "start length generation")
Played = namedtuple("Played", "end works ops host")  # works: (start, end); ops: (start, end)


def _ns(us):
    return int(round(float(us) * 1000))


class Program:
    """What the host did, from a trace; on a GPU that takes `slower` times as long for all its work."""

    def __init__(self, path, slower=1):
        self.slower = slower
        opener = gzip.open if str(path).endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8") as file:
            events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
        self.pid = next(e["pid"] for e in events if e.get("cat") in CALLS)
        first = min(e["ts"] for e in events if e.get("cat") in CALLS + WORK)
        for event in events:
            event["start"] = _ns(event["ts"] - first)
            event["end"] = event["start"] + _ns(event.get("dur", 0))
        self._work = defaultdict(list)
        for event in sorted((e for e in events if e.get("cat") in WORK), key=lambda e: e["start"]):
            self._work[event["args"]["correlation"]].append(event)
        self.works, self.ops = [], []
        self._ended = []  # (end, index) of all that was launched so far, as recorded
        self._stream = {}  # its last
        self._make(sorted((e for e in events if e.get("cat") in CALLS), key=lambda e: e["start"]))

    def on_one_stream(self):
        """So that nothing works beside anything else: then what is lost is exact."""
        self.works = [work._replace(stream=0, after=None) for work in self.works]
        return self

    def _add_work(self, event, entry):
        stream = event["args"].get("device", 0), event["args"].get("stream", 0)
        free = self._stream.get(stream, 0)
        latency, after, behind = min(max(event["start"] - entry, 0), LATENCY), None, 0
        if event["start"] - entry > LATENCY and event["start"] - free > LATENCY:
            ended = [(end, i) for end, i in self._ended if end <= event["start"]]
            if ended and max(ended)[0] > entry:
                after, behind = max(ended)[1], event["start"] - max(ended)[0]
            else:
                latency = event["start"] - entry
        length = self.slower * (event["end"] - event["start"])
        self.works.append(Work(event["cat"], event["name"], *stream, length, latency, after, behind))
        self._stream[stream] = event["end"]
        self._ended.append((event["end"], len(self.works) - 1))

    def _waited(self, call, own):
        """What the call waited for, and how long after that it returned."""
        if call["name"] in WAITS:
            ended = [(end, i) for end, i in self._ended if end <= call["end"]]
            if ended and max(ended)[0] > call["start"]:
                return max(ended)[1], min(call["end"] - max(ended)[0], PROMPT)
            return (max(ended)[1], PROMPT) if ended else (None, 0)
        ends = [(self._ended[i][0], i) for i in own]
        if "emcpy" in call["name"] and ends and call["start"] < max(ends)[0] <= call["end"]:
            return max(ends)[1], min(call["end"] - max(ends)[0], PROMPT)
        return None, 0

    def _make(self, calls):
        now = 0
        for call in calls:
            launched = self._work.get(call["args"]["correlation"], ())
            if not launched and call["name"] not in WAITS:
                continue
            begin = len(self.works)
            for event in launched:
                self._add_work(event, call["start"])
            own = range(begin, len(self.works))
            waits, late = self._waited(call, own)
            length = call["end"] - call["start"]
            if waits is not None:  # only what it took without waiting
                length = min(length, PROMPT)
            self.ops.append(Op(call["name"], call["tid"], max(call["start"] - now, 0), length, own, waits, late))
            now = max(now, call["end"])


class _Host:
    """Goes through time, but not in pauses."""

    def __init__(self, pauses):
        self.now, self.pauses = 0, sorted(pauses)

    def work(self, length):
        for pause in self.pauses:
            end = pause.start + pause.length
            if end <= self.now:
                continue
            if pause.start > self.now + length:
                break
            length -= max(pause.start - self.now, 0)
            self.now = end
        self.now += length


def play(program, pauses=()):
    host, works, ops, free = _Host(pauses), [], [], {}
    for op in program.ops:
        host.work(op.gap)
        entry = host.now
        for i in op.works:
            work = program.works[i]
            stream = work.device, work.stream
            start = max(entry + work.latency, free.get(stream, 0))
            if work.after is not None:
                start = max(start, works[work.after][1] + work.behind)
            works.append((start, start + work.length))
            free[stream] = start + work.length
        if op.waits is not None:  # the call returns whatever stops its thread
            done = max(entry + op.length, works[op.waits][1] + op.late if works[op.waits][1] > entry else 0)
            host.now = done
            host.work(0)
        else:
            host.work(op.length)
            done = host.now
        ops.append((entry, done))
    return Played(max(end for _, end in works), works, ops, host.now)


def lost(program, pauses):
    """By how much later each device is done."""
    def ends(played):
        found = defaultdict(int)
        for work, (_, end) in zip(program.works, played.works):
            found[work.device] = max(found[work.device], end)
        return found

    with_them, without = ends(play(program, pauses)), ends(play(program))
    return max(with_them[device] - without[device] for device in without)


def write(path, program, played, begin, base, pid, marks, label):
    """As Kineto has it; `begin`: of the replay on CLOCK_MONOTONIC, whose zero was `base` after 1970. The first thread has the number of the process."""
    tids = {}
    events = []
    for i, (op, (start, end)) in enumerate(zip(program.ops, played.ops)):
        tid = tids.setdefault(op.tid, pid + len(tids))
        events.append({"ph": "X", "cat": "cuda_runtime", "name": op.name, "pid": pid, "tid": tid,
                       "ts": (begin + start) / 1000, "dur": (end - start) / 1000, "args": {"correlation": i + 1}})
        for j in op.works:
            work, (start, end) = program.works[j], played.works[j]
            events.append({"ph": "X", "cat": work.category, "name": work.name[:40], "pid": work.device, "tid": work.stream,
                           "ts": (begin + start) / 1000, "dur": (end - start) / 1000,
                           "args": {"device": work.device, "stream": work.stream, "correlation": i + 1}})
    for mark in marks:
        events.append({"ph": "X", "cat": "user_annotation", "name": label, "pid": pid, "tid": pid,
                       "ts": mark / 1000, "dur": 1, "args": {}})
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "baseTimeNanoseconds": base, "traceEvents": events}, file)
