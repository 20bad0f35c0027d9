"""Traces of real GPUs beside a recording: what gctrace says of busy and idle against a reference that does it the slow way."""
import decimal
import gzip
import json
import math
import os
import pathlib
import sqlite3
import subprocess

import pytest

from recording import BEGIN, Recording, gctrace

TRACES = pathlib.Path(__file__).resolve().parents[3] / "shared/data/kineto"  # beside the project, where it is developed
CACHE = pathlib.Path(os.environ.get("GCTRACE_CACHE", pathlib.Path.home() / ".cache/gctrace"))
HTA = CACHE / "workloads/hta/bin/python"  # by scripts/workloads hta
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
IDLE = 50_000


def load(path):
    with gzip.open(str(path), "rt", encoding="utf-8") as file:
        return json.load(file, parse_float=decimal.Decimal)


def ns(us):
    return int((decimal.Decimal(us) * 1000).to_integral_value(decimal.ROUND_HALF_UP))


class Reference:
    """One device: what it did, by definition."""

    def __init__(self, trace):
        calls = {e["args"]["correlation"]: ns(e["ts"]) for e in trace["traceEvents"]
                 if e.get("cat") in ("cuda_runtime", "cuda_driver")}
        self.pid = next(e["pid"] for e in trace["traceEvents"] if e.get("cat") == "cuda_runtime")
        self.work = sorted(
            (ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), calls.get(e["args"]["correlation"]))
            for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") in WORK)
        self.first, self.last = self.work[0][0], max(end for _, end, _ in self.work)
        self.base = trace.get("baseTimeNanoseconds", 0)
        self.gaps = []  # begin, end, whether what ended it was launched after it had begun
        end = self.first
        for start, until, launch in self.work:
            if start > end:
                self.gaps.append((end, start, launch is None or launch >= end))
            end = max(end, until)

    def busy(self):
        """Without the gaps, of any length."""
        return self.last - self.first - sum(b - a for a, b, _ in self.gaps)

    def idle(self):
        return [gap for gap in self.gaps if gap[1] - gap[0] >= IDLE]


def record(path, reference):
    """A recording of the trace's process that begins and ends with its work."""
    made = Recording(path)
    made.db.execute("UPDATE process SET pid = ?, ns_pid = ?", (reference.pid, reference.pid))
    made.close(end=BEGIN + reference.last - reference.first + 1)
    with sqlite3.connect(str(path)) as db:
        db.execute("UPDATE clock SET realtime_ns = ?", (reference.first + reference.base,))
    return path


@pytest.fixture(params=["alexnet", "nccl_data"])
def path(request):
    found = TRACES / (request.param + ".json.gz")
    if not found.exists():
        pytest.skip("%s is not here: traces of real GPUs are not part of the project" % found)
    return found


@pytest.fixture
def real(path, tmp_path):
    reference = Reference(load(path))
    return path, reference, record(tmp_path / "run.gct", reference)


def records(recording, *words):
    done = gctrace("report", recording, "-f", "json", *words)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_busy_and_idle(real):
    """To the nanosecond: the union of all streams, each gap, and who was late for it."""
    path, reference, recording = real
    found = records(recording, "--gpu", path)
    (device,) = found[-1]["gpu"]
    idle = reference.idle()
    idle_ns = sum(b - a for a, b, _ in idle)
    assert device["pid"] == reference.pid
    assert device["source"] == "measured"
    assert device["name"] == "NVIDIA A100-PG509-200"
    assert device["seen_ns"] == reference.last - reference.first
    assert device["idle_ns"] == idle_ns
    assert device["busy_ns"] - device["gaps_ns"] == reference.busy()
    assert device["starved_ns"] == sum(b - a for a, b, late in reference.gaps if late and b - a < IDLE)
    assert device["idle_host_ns"] == sum(b - a for a, b, late in idle if late)
    assert (device["unknown_ns"], device["dropped"], device["clock_error_ns"]) == (0, 0, 10**6)
    moved = [(r["start_ns"] - BEGIN + reference.first, r["end_ns"] - BEGIN + reference.first,
              r["cause"] == "host") for r in found if r["type"] == "gpu_idle"]
    assert moved == idle


def test_figures_of_the_files(real):
    """As their README has them."""
    path, reference, _ = real
    kernels, busy_ms = {"alexnet": (98, 66), "nccl_data": (3774, 157)}[path.name.split(".")[0]]
    assert len(reference.work) == kernels
    assert reference.busy() // 10**6 == busy_ms


def test_plain_or_packed(real, tmp_path):
    path, _, recording = real
    plain = tmp_path / path.name[:-3]
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    packed, unpacked = (records(recording, "--gpu", p) for p in (path, plain))
    for r in (packed[-1]["gpu"][0], unpacked[-1]["gpu"][0]):
        r.pop("records")
    assert packed == unpacked


def of_stream(trace, stream):
    """
    With the work of one stream alone, and what launched it, in whole microseconds, which HTA would round to. Twice as many,
    and calls at odd ones: a launch in the very moment in which the stream runs dry is late for gctrace and not for HTA.
    """
    left_out = {e["args"]["correlation"] for e in trace["traceEvents"]
                if e.get("cat") in WORK and e["args"]["stream"] != stream}
    events = []
    for event in trace["traceEvents"]:
        if event.get("args", {}).get("correlation") in left_out or event.get("cat") == "ac2g":
            continue
        if event.get("ph") == "X":
            start, end = 2 * math.ceil(event["ts"]), 2 * math.floor(event["ts"] + event["dur"])
            event = dict(event, ts=start + (event["cat"] not in WORK), dur=max(end - start, 2))
        events.append(event)
    return dict(trace, traceEvents=events)


ASK_HTA = """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir=".", include_last_profiler_step=True)
table = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
print(json.dumps(dict(zip(table["idle_category"], table["idle_time"]))))
"""


@pytest.mark.parametrize("stream", [0, 1], ids=["first stream", "second stream"])
def test_classes_of_idleness(path, tmp_path, stream):
    """HolisticTraceAnalysis, which looks at single streams: how long each waited for the host, and for anything else."""
    if not HTA.exists():
        pytest.skip("HolisticTraceAnalysis is not installed: scripts/workloads hta")
    trace = load(path)
    streams = sorted({e["args"]["stream"] for e in trace["traceEvents"] if e.get("cat") in WORK})
    one = of_stream(trace, streams[stream])
    file = tmp_path / "one.json"
    file.write_text(json.dumps(one, default=float))
    asked = subprocess.run([str(HTA), "-W", "ignore", "-c", ASK_HTA, str(file)], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=300, universal_newlines=True)
    assert asked.returncode == 0, asked.stderr
    theirs = json.loads(asked.stdout.splitlines()[-1])
    (ours,) = records(record(tmp_path / "run.gct", Reference(one)), "--gpu", file)[-1]["gpu"]
    assert ours["idle_host_ns"] + ours["starved_ns"] == theirs["host_wait"] * 1000
    assert (ours["idle_other_ns"] + ours["gaps_ns"] - ours["starved_ns"]
            == (theirs.get("kernel_wait", 0) + theirs.get("other", 0)) * 1000)
