"""The mock of a CUDA driver and of CUPTI (mock.h) for Python: folders to load them from, and what they and the shim wrote.

Programs that run on it: subject.py. The shim to load is libgctrace_cupti.so, whose probe needs a tracer, or libgctrace_cupti_collected.so,
which writes to a file what the probe would hand over."""

import bisect
import os
import struct
import subprocess
import sys
from collections import deque, namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("GCTRACE", "build/gctrace")).resolve().parent
MOCKS = BUILD / "tests" / "cupti"
SHIM = BUILD / "cupti" / "libgctrace_cupti.so"
COLLECTED = MOCKS / "libgctrace_cupti_collected.so"
VARIANTS = {"12": "so.12", "13": "so.13", "old": "so.12"}

RUN_GAP_NS = 50000
NO_DEVICE = 0xFFFFFFFF
BUSY, WAIT, LAUNCHER, MEMORY, LOST, DEVICE, CLOCK, ASIDE, BEGIN, REFUSED, ALLOCATE = range(1, 12)
NO_CUPTI, NO_VERSION, NO_DRIVER, NO_ENABLE, NO_ANSWER = range(1, 6)
KERNEL, COPY, PEER_COPY, SET, GRAPH, WAITED, ALLOCATED, FREED = range(1, 9)  # mock.h's kinds

COPIES, QUEUE, FREES, FAILED = 1, 2, 4, 8  # flags
APART_NS, PROMPT_NS = 1000, 20000
UNSURE_MOST = 2**32 - 1  # of one record: the wire has 32 bits for it

ENTRY = struct.Struct("=6I4Q")
Record = namedtuple("Record", "kind device start end launch previous tid count value starved flags", defaults=(0,))
Entry = namedtuple("Entry", "kind device stream correlation tid waited start end call returned")


def have_mock():
    return COLLECTED.exists()


def folder(path, variant):
    """A folder to put into LD_LIBRARY_PATH; variant None: there is no CUPTI."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "libcuda.so.1").symlink_to(MOCKS / "libmock_cuda.so")
    if variant:
        (path / f"libcupti.{VARIANTS[variant]}").symlink_to(MOCKS / f"libmock_cupti_{variant}.so")
    return path


def environment(libraries, shim, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MOCK_", "CUDA_", "LD_"))}
    return env | {"LD_LIBRARY_PATH": str(libraries), "CUDA_INJECTION64_PATH": str(shim)} | {k: str(v) for k, v in more.items()}


def run(tmp_path, variant, code, *, python=sys.executable, shim=COLLECTED, timeout=60, **env):
    """Runs @code with subject.py's names; returns what it printed, the mock's book and what the shim handed over."""
    libraries = folder(tmp_path / "lib", variant)
    env = environment(libraries, shim, SUBJECT_OUT=tmp_path / "records", SUBJECT_BOOK=tmp_path / "book", **env)
    done = subprocess.run([python, HERE / "subject.py", code], env=env, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr + done.stdout
    assert not done.stderr, done.stderr
    return done.stdout, read_book(tmp_path / "book"), read_records(tmp_path / "records")


def read_records(path):
    layout = struct.Struct("=HHIQQQQIIQQ")
    data = path.read_bytes() if path.exists() else b""
    return [Record(kind, *rest, flags) for kind, flags, *rest in layout.iter_unpack(data)]


def read_book(path):
    return [Entry(*row) for row in ENTRY.iter_unpack(path.read_bytes())] if path.exists() else []


def write_entries(path, entries):
    path.write_bytes(b"".join(ENTRY.pack(*entry) for entry in entries))
    return path


def previous_launches(book):
    """By correlation: when its thread had launched something before."""
    last, found = {}, {}
    for entry in sorted((e for e in book if e.kind < WAITED), key=lambda e: e.call):
        found[entry.correlation] = last.get(entry.tid, 0)
        last[entry.tid] = entry.call
    return found


def runs_of(book):
    """By device: the union of all activities, joined where they leave less than RUN_GAP_NS, by brute force."""
    previous, found, since = previous_launches(book), {}, {}
    for entry in sorted((e for e in book if e.kind < WAITED), key=lambda e: (e.start, e.correlation)):
        runs = found.setdefault(entry.device, [])
        if not runs or entry.start - runs[-1]["end"] >= RUN_GAP_NS:
            runs.append({"start": entry.start, "end": entry.end, "launch": entry.call, "previous": previous[entry.correlation],
                         "tid": entry.tid, "gaps": 0, "starved": 0, "unsure": 0})
            since[entry.device] = entry.start
            continue
        run, prompt = runs[-1], entry.start - entry.call <= PROMPT_NS
        gap, beside = max(0, entry.start - run["end"]), min(entry.end, run["end"]) - entry.start
        starved = gap > 0 and entry.call >= run["end"]
        run["gaps"] += gap
        run["starved"] += gap if starved else 0
        if beside > APART_NS:
            run["unsure"] += beside + (entry.start - since[entry.device] if prompt else 0)
        elif gap and prompt and not starved:
            run["unsure"] += gap
        if starved and gap >= APART_NS:
            since[entry.device] = entry.start
        run["end"] = max(entry.end, run["end"])
    return found


def runs_said(records):
    """By device: the shim's runs, joined as user space joins them (gpu_busy_join)."""
    found = {}
    for busy in sorted((r for r in records if r.kind == BUSY), key=lambda r: r.start):
        runs = found.setdefault(busy.device, [])
        if not runs or busy.start - runs[-1]["end"] >= RUN_GAP_NS:
            runs.append({"start": busy.start, "end": busy.end, "launch": busy.launch, "previous": busy.previous,
                         "tid": busy.tid, "gaps": busy.value, "starved": busy.starved, "unsure": busy.count,
                         "whole": True})
            continue
        gap = max(0, busy.start - runs[-1]["end"])
        runs[-1]["gaps"] += gap + busy.value
        runs[-1]["starved"] += busy.starved + (gap if busy.launch >= runs[-1]["end"] else 0)
        runs[-1]["unsure"] += busy.count
        prompt, beside = busy.launch and busy.start - busy.launch <= PROMPT_NS, min(busy.end, runs[-1]["end"]) - busy.start
        if beside > APART_NS:
            runs[-1]["unsure"] += beside + (busy.start - runs[-1]["start"] if prompt else 0)
            runs[-1]["whole"] = False
        elif gap and prompt and busy.launch < runs[-1]["end"]:
            runs[-1]["unsure"] += gap
        runs[-1]["end"] = max(busy.end, runs[-1]["end"])
    return found


def same_runs(said, book):
    """Whether they are the book's. For how long one stream may have starved is exact where one record says all of a run."""
    true = runs_of(book)
    if said.keys() != true.keys() or any(len(said[device]) != len(true[device]) for device in true):
        return False
    for device in true:
        for one, other in zip(said[device], true[device]):
            if one["unsure"] != min(other["unsure"], UNSURE_MOST) and one["whole"]:
                return False
            if any(one[key] != other[key] for key in other if key != "unsure"):
                return False
    return True


def complete(records):
    """By device: from when until when its records are complete."""
    found = {}
    for begin in (r for r in records if r.kind == BEGIN):
        start, end = found.get(begin.device, (begin.start, 0))
        assert start == begin.start, "recording was interrupted"
        assert begin.end == 0 or begin.end > end, "it went backwards"
        found[begin.device] = (begin.start, max(end, begin.end))
    return found


def add_run(runs, start, end):
    """To @runs, which are by start and apart."""
    at = bisect.bisect_left(runs, (start, 0))
    if at and runs[at - 1][1] >= start:
        at -= 1
    beyond = at
    while beyond < len(runs) and runs[beyond][0] <= end:
        beyond += 1
    joined = runs[at:beyond]
    runs[at:beyond] = [(min([start] + [r[0] for r in joined]), max([end] + [r[1] for r in joined]))]


def check_complete(book, records):
    """Whenever records are said to be complete until some time, all that had begun has been handed over."""
    waiting = {}
    for entry in sorted((e for e in book if e.kind < WAITED), key=lambda e: e.start):
        waiting.setdefault(entry.device, deque()).append(entry)
    handed = {}
    for record in records:
        runs = handed.setdefault(record.device, [])
        if record.kind == BUSY:
            add_run(runs, record.start, record.end)
        elif record.kind == BEGIN:
            work = waiting.get(record.device, deque())
            while work and work[0].start < record.end:
                entry = work.popleft()
                at = bisect.bisect(runs, (entry.start, 1 << 64)) - 1
                assert at >= 0 and runs[at][1] >= entry.end, f"{entry} has not been handed over"
