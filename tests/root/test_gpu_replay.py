"""Timelines of real GPUs and one of our own, played through the mock of CUDA: what the shim, the probe and the ring make of them
is what `--gpu FILE` reads from the same file, to the nanosecond."""

import json
import re
import sqlite3
import sys

import pytest

import conftest
import harness
from test_gpu_chain import TRAINING, check_runs, environment, read_busy

sys.path.insert(0, str(harness.SOURCE / "tests" / "cupti"))
sys.path.insert(0, str(harness.SOURCE / "tests" / "verbs"))
import mock  # noqa: E402
import test_kineto as kineto  # noqa: E402

WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")
KINDS = {"kernel": mock.KERNEL, "gpu_memcpy": mock.COPY, "gpu_memset": mock.SET}
FIRST = 1 << 24  # of the correlations: the mock counts its own from 1


def call(number, name, start, end):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 4711, "tid": 4711, "ts": start / 1000,
            "dur": (end - start) / 1000, "args": {"correlation": number}}


def own_trace(path):
    """Two streams whose gaps are just below, at and above what counts as idle; launched in time, and late. One wait."""
    events, now = [], 1_000_000
    gaps = (0, 1, 29_999, 49_999, 50_000, 50_001, 131_071, 1_000_003)
    for i in range(61):
        start = now + gaps[i % len(gaps)]
        entered = now - 70_001 if i % 3 else start - min(3_001, gaps[i % len(gaps)])
        cat = "gpu_memset" if i % 23 == 5 else "gpu_memcpy" if i % 11 == 3 else "kernel"
        name = {"gpu_memset": "cudaMemsetAsync", "gpu_memcpy": "cudaMemcpyAsync", "kernel": "cudaLaunchKernel"}[cat]
        events.append(call(i + 1, name, entered, entered + 2_003))
        now = start + 70_117 + i * 997
        events.append({"ph": "X", "cat": cat, "name": cat, "pid": 0, "tid": 7 + i % 2, "ts": start / 1000,
                       "dur": (now - start) / 1000,
                       "args": {"device": 0, "stream": 7 + i % 2, "correlation": i + 1}})
    events.append(call(62, "cudaStreamSynchronize", now - 200_000, now + 5_000))
    path.write_text(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000 * 10**9, "traceEvents": events}))
    return path


@pytest.fixture(params=["own", "alexnet", "nccl_data"])
def trace(request, tmp_path):
    if request.param == "own":
        return own_trace(tmp_path / "own.json")
    found = kineto.TRACES / (request.param + ".json.gz")
    if not found.exists():
        pytest.skip("%s is not here: traces of real GPUs are not part of the project" % found)
    return found


def entries(events):
    """(works as they are handed over, calls by their return), from the first call on, as the mock's book has them."""
    calls = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    works = [e for e in events if e.get("ph") == "X" and e.get("cat") in KINDS]
    begin = min(kineto.ns(e["ts"]) for e in calls.values())

    def span(event):
        start = kineto.ns(event["ts"]) - begin
        return start, start + kineto.ns(event["dur"])

    played, returned = [], []
    for event in works:
        args = event["args"]
        by = calls[args["correlation"]]
        entry = mock.Entry(KINDS[event["cat"]], args["device"], args["stream"], FIRST + args["correlation"], 0, 0,
                           *span(event), *span(by))
        played.append(entry)
        returned.append(entry)
    for event in calls.values():
        if event["name"] in WAITS:
            start, end = span(event)
            returned.append(mock.Entry(mock.WAITED, 0, 0, FIRST + event["args"]["correlation"], 0, 1, start, end, start, end))
    return sorted(played, key=lambda e: min(e.start, e.returned)), sorted(returned, key=lambda e: e.returned), begin


def play(bench, runtime, played, returned):
    """Returns when it began."""
    files = [mock.write_entries(bench.scratch / name, some) for name, some in (("works", played), ("calls", returned))]
    env = environment(bench, runtime, "13")
    code = TRAINING % ("replay(%r, %r)" % tuple(map(str, files)))
    target = bench.process([runtime.exe, mock.HERE / "subject.py", code], env=env)
    assert target.out.next() == "ready", target.err.text()
    tracer = bench.record(target, "--gpu", "measure")
    target.send("go")
    assert target.wait(60) == 0, target.err.text()
    tracer.finish()
    return int(re.search(r"^\d+$", target.out.text(), re.M).group())


def beside_each_other(works):
    end = 0
    for work in sorted(works, key=lambda work: work.start):
        if end - work.start > mock.APART_NS:
            return True
        end = max(end, work.end)
    return False


def idle_between(records, first, last):
    return [(r["start_ns"] - first, r["end_ns"] - first, r["cause"]) for r in records
            if r["type"] == "gpu_idle" and first <= r["start_ns"] and r["end_ns"] <= last]


@conftest.full_only
@conftest.each("python", conftest.spread(conftest.PLAIN)[:1], "CPython of those asked for is here")
def test_what_is_played_is_what_is_read(bench, python, trace):
    document = kineto.load(trace) if trace.suffix == ".gz" else json.loads(trace.read_text(), parse_float=kineto.decimal.Decimal)
    reference = kineto.Reference(document)
    played, returned, begin = entries(document["traceEvents"])
    begun = play(bench, python, played, returned) - begin  # added to a time of the file
    with sqlite3.connect(bench.file) as base:
        base.row_factory = sqlite3.Row
        check_runs(base, mock.read_book(bench.scratch / "book"), one_stream=not beside_each_other(played))
        waits = {(r["start_ns"], r["start_ns"] + r["duration_ns"]) for r in base.execute("select * from gpu_call where kind = 1")}
        said = mock.runs_said(read_busy(base))[0]
    first, last = reference.first + begun, reference.last + begun
    assert {(e.call + begin + begun, e.returned + begin + begun) for e in returned if e.waited} <= waits
    assert sum(run["gaps"] for run in said if first <= run["start"] and run["end"] <= last) == sum(
        b - a for a, b, _ in reference.gaps if b - a < kineto.IDLE)
    seen = idle_between(kineto.records(bench.file), first, last)
    imported = kineto.record(bench.scratch / "imported.gct", reference)
    read = idle_between(kineto.records(imported, "--gpu", trace), kineto.BEGIN, kineto.BEGIN + reference.last - reference.first)
    assert seen == read
    assert [idle[:2] for idle in read] == [(a - reference.first, b - reference.first) for a, b, _ in reference.idle()]
    assert len(read) > 7
