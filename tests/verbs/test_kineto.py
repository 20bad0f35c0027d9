"""Traces of real GPUs beside a recording: what gctrace says of busy and idle against a reference that does it the slow way."""
import decimal
import gzip
import json
import pathlib
import sqlite3

import pytest

from recording import BEGIN, Recording, gctrace

TRACES = pathlib.Path("/work/shared/data/kineto")
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


@pytest.fixture(params=["alexnet", "nccl_data"])
def real(request, tmp_path):
    path = TRACES / (request.param + ".json.gz")
    if not path.exists():
        pytest.skip("%s is not here: traces of real GPUs are not part of the project" % path)
    reference = Reference(load(path))
    made = Recording(tmp_path / "run.gct")
    made.db.execute("UPDATE process SET pid = ?, ns_pid = ?", (reference.pid, reference.pid))
    recording = made.close(end=BEGIN + reference.last - reference.first + 1)
    with sqlite3.connect(str(recording)) as db:
        db.execute("UPDATE clock SET realtime_ns = ?", (reference.first + reference.base,))
    return path, reference, recording


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
