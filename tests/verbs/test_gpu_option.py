"""--gpu FILE of report, check and diff, on traces of work and pauses of known length."""
import gzip
import json

import pytest

from recording import BEGIN, MS, gctrace, training

WALL = 1763726400 * 10**9  # of every recording's begin
US = 1000
LATE = 5 * US  # from a launch until its kernel begins
EVERY = 20


def event(category, name, start, length, lane, **args):
    """Times are ns from the recording's begin, as in training()."""
    return {"ph": "X", "cat": category, "name": name, "pid": lane, "tid": lane,
            "ts": (start + WALL) / US, "dur": length / US, "args": args}


def steps_of(path):
    done = gctrace("report", path, "-f", "json")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return ([r for r in records if r["type"] == "step"], [r for r in records if r["type"] == "pause"])


def trace(path, recording, pid=4711, later=0):
    """
    A step launches a kernel at its begin and another in its middle, after the pause if there is one, and both take a
    quarter of an ordinary step: the device stands idle while it waits for the second.
    """
    steps, pauses = steps_of(recording)
    events = []
    for number, step in enumerate(steps):
        start = step["start_ns"] - BEGIN + later
        paused = sum(p["duration_ns"] for p in pauses if step["start_ns"] <= p["start_ns"] < step["end_ns"])
        for part, launch in enumerate((start + 100 * US, start + 5100 * US + paused)):
            both = {"correlation": 2 * number + part + 1}
            events += [event("cuda_runtime", "cudaLaunchKernel", launch, 3 * US, pid, **both),
                       event("kernel", "gemm", launch + LATE, 2500 * US, 0, device=0, stream=7, **both)]
    path.write_text(json.dumps({"traceEvents": events}))
    return path


@pytest.fixture
def spiky(tmp_path):
    return training(tmp_path / "run.gct", every=EVERY)


@pytest.fixture
def traced(tmp_path, spiky):
    return trace(tmp_path / "trace.json", spiky)


def records(*words):
    done = gctrace("report", "-f", "json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_pauses_are_charged(spiky, traced):
    """A pause of 50 ms in the middle of a step: the device has work for 2.5 ms more, then it waits."""
    found = records(spiky, "--gpu", traced)
    pauses = [r for r in found if r["type"] == "pause"]
    assert len(pauses) == 211 // EVERY
    for pause in pauses:
        assert pause["gpu_hidden_ns"] == 0  # it had run dry before
        assert pause["gpu_exposed_ns"] == pause["duration_ns"] == 50 * MS
    (device,) = found[-1]["gpu"]
    assert device["idle_pause_ns"] == sum(p["gpu_idle_ns"] for p in pauses)
    assert device["busy_ns"] == 2 * 2500 * US * len([r for r in found if r["type"] == "step"])


def test_without_it(spiky):
    found = records(spiky)
    assert "gpu" not in found[-1]
    assert not [r for r in found if r["type"] == "gpu_idle"]


def test_budgets(spiky, traced):
    for limit, status in (("90%", 0), ("1%", 99)):
        done = gctrace("check", spiky, "--budget", "gpu.gc.share<" + limit, "--gpu", traced)
        assert done.returncode == status, done.stdout + done.stderr
    assert gctrace("check", spiky, "--budget", "gpu.gc.share<90%").returncode == 4


def test_several(tmp_path, spiky, traced):
    """The same work in two files, one of them packed: each half is known, and between them nothing is."""
    events = json.loads(traced.read_text())["traceEvents"]
    halves = [tmp_path / "first.json", tmp_path / "second.json.gz"]
    halves[0].write_text(json.dumps({"traceEvents": events[:400]}))
    halves[1].write_bytes(gzip.compress(json.dumps({"traceEvents": events[440:]}).encode()))
    (whole,) = records(spiky, "--gpu", traced)[-1]["gpu"]
    (device,) = records(spiky, "--gpu", halves[1], "--gpu", halves[0])[-1]["gpu"]
    assert device["records"] == "second.json.gz, first.json"
    assert device["busy_ns"] == whole["busy_ns"] - 20 * 2500 * US
    first, last = events[399], events[441]
    assert device["unknown_ns"] == round((last["ts"] - first["ts"] - first["dur"]) * US)
    assert device["seen_ns"] == whole["seen_ns"] - device["unknown_ns"]


def test_pictures_of_stacks(tmp_path, spiky, traced):
    done = gctrace("report", spiky, "-f", "folded", "--gpu", traced)
    assert done.returncode == 2 and "--weight gpu-idle" in done.stderr
    done = gctrace("report", spiky, "-f", "folded", "--gpu", traced, "--weight", "gpu-idle")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("Trainer.step") == 1


def test_diff(tmp_path, spiky, traced):
    """A trace is of the recording whose process and time it has."""
    after = training(tmp_path / "after.gct", every=0)
    done = gctrace("diff", spiky, after, "--gpu", traced)
    assert done.returncode == 0, done.stderr
    stranger = trace(tmp_path / "other.json", spiky, pid=4799)
    done = gctrace("diff", spiky, after, "--gpu", traced, "--gpu", stranger)
    assert done.returncode == 1
    assert "other.json: neither recording has its process at its time" in done.stderr


@pytest.mark.parametrize("verb", [["report"], ["check", "--budget", "pause.p99<1h"], ["diff", "{}"]], ids=lambda v: v[0])
def test_refusals(tmp_path, spiky, traced, verb):
    """One sentence, exit status 1, and nothing else."""
    packed = tmp_path / "cut.json.gz"
    packed.write_bytes(gzip.compress(traced.read_bytes())[:-20])
    text = tmp_path / "text.json"
    text.write_text("nothing")
    late = trace(tmp_path / "late.json", spiky, later=86400 * 10**9)
    words = [w.format(spiky) for w in verb]
    for file, why in ((packed, "was cut off"), (text, "is not JSON"), (spiky, "is not JSON"), (tmp_path / "no", "No such file"),
                      (late, "neither recording" if verb[0] == "diff" else "is of another time than the recording")):
        done = gctrace(words[0], spiky, *words[1:], "--gpu", file)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        assert done.stderr.count("\n") == 1 and why in done.stderr and file.name in done.stderr
