"""A trace of PyTorch's own profiler beside a recording of the same run: both clocks, joined through what both saw."""
import json

import pytest

import harness
from training import START_S, TRAIN_S, load_environments

STEPS = 211
SUBJECT = harness.HERE / "kineto_subject.py"
ENVIRONMENTS = [e for e in load_environments() if e.kind == "torch"]


@pytest.mark.parametrize("environment", ENVIRONMENTS or [
    pytest.param(None, id="none", marks=pytest.mark.skip(reason="scripts/workloads could not install torch"))], ids=str)
def test_clock(bench, environment):
    """Each kernel is where the program itself knows that it was, within the error that is stated, and that is small."""
    recording, trace = bench.scratch / "run.gct", bench.scratch / "trace.json"
    tracer = bench.keep(harness.Tracer(
        ["run", "-o", recording, "--", environment.python, SUBJECT, trace, STEPS], ready=False))
    line = tracer.out.find(lambda text: text.startswith("[["), START_S + TRAIN_S)
    assert line and tracer.wait(TRAIN_S) == 0, tracer.err.text()
    launches = json.loads(line)
    assert len(launches) == 71

    done = harness.gctrace("report", recording, "-f", "json", "--gpu", trace)
    assert done.returncode == 0, done.stderr.decode()
    records = harness.Records(done.stdout.decode())
    (device,) = records.summary["gpu"]
    error = device["clock_error_ns"]
    assert error < 10**6  # what the time of day alone would give: it was joined through calls
    assert (device["source"], device["dropped"], device["unknown_ns"]) == ("measured", 0, 0)
    idle = records.of("gpu_idle")
    assert len(idle) == len(launches) - 1
    for found, (before, after, number) in zip(idle, launches[1:]):
        launched = found["end_ns"] - 100_000
        assert before - error <= launched <= after + error, number
        assert found["cause"] == "host" and found["source"] == "measured"
    for found, (before, after, number) in zip(idle, launches):
        done_ns = found["start_ns"] - 160_000
        assert before - error <= done_ns <= after + error, number
