"""scripts/gpu-check where no GPU is: it says so; on the mock of CUDA all of it runs; and what is wrong it calls wrong."""

import json
import os
import subprocess
import sys
import types

import pytest

import conftest
import harness
import training

sys.path.insert(0, str(harness.SOURCE / "tests" / "gpu"))
sys.path.insert(0, str(harness.SOURCE / "tests" / "cupti"))
import checks  # noqa: E402
import gpu_check as gpu_check_program  # noqa: E402
import mock  # noqa: E402
import programs  # noqa: E402

ENVIRONMENTS = training.load_environments()
PROGRAMS = {"torch": "train_torch.py", "jax": "train_jax.py"}
SCRIPT = harness.SOURCE / "scripts" / "gpu-check"
PAGES = ("txt", "html", "gc.svg", "idle.svg")


def gpu_check(*args, **env):
    argv = [SCRIPT, "--gctrace", os.environ["GCTRACE"], *args]
    return subprocess.run([str(a) for a in argv], env=dict(os.environ, PYTHON=sys.executable, **env), capture_output=True, text=True,
                          timeout=600 * harness.SLOWNESS)


def fake_smi(folder, text):
    folder.mkdir()
    (folder / "nvidia-smi").write_text("#!/bin/sh\n" + text)
    (folder / "nvidia-smi").chmod(0o755)
    return "%s:%s" % (folder, os.environ["PATH"])


def test_no_gpu(tmp_path):
    """One sentence, and a status of its own: nothing was checked, so nothing is right or wrong."""
    for number, (text, said) in enumerate((
        ("echo NVIDIA-SMI has failed because it could not talk to the driver; exit 9", "NVIDIA-SMI has failed because"),
        ("echo No devices were found; exit 6", "No devices were found"),
        ("exit 0", "nvidia-smi lists none"),
    )):
        done = gpu_check("-o", tmp_path / "out", PATH=fake_smi(tmp_path / str(number), text))
        assert done.returncode == 4 and done.stdout == ""
        assert said in done.stderr and done.stderr.startswith("gpu-check: there is no NVIDIA GPU here: ")
        assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_nothing_to_check_with(tmp_path):
    path = fake_smi(tmp_path / "bin", "echo 0, NVIDIA H100, 535.1, 80000 MiB")
    done = gpu_check("-o", tmp_path / "out", "--gctrace", tmp_path / "gctrace", PATH=path)
    assert done.returncode == 4 and "is not there: build gctrace" in done.stderr


@pytest.fixture(scope="module")
def mocked(tmp_path_factory):
    """A run of all of it, as short as it may be: of its figures none is held to anything but what must be."""
    if not mock.have_mock():
        conftest.need("cupti", False, "CUPTI's headers were not here when this was built")
    out = tmp_path_factory.mktemp("gpu-check")
    done = gpu_check("--mock", "-o", out, "--steps", 113, "--pairs", 2, "--depth", 1)
    assert done.returncode in (0, 1, 4), done.stderr
    told = json.loads((out / "results.json").read_text())
    return types.SimpleNamespace(out=out, done=done, told=told, results={r["check"]: r for r in told["results"]})


def test_mock(mocked):
    """Every check has run, and none failed for another reason than a figure; the report has what belongs to its figures."""
    assert set(mocked.results) == {"overhead", "busy", "reading", "utilisation", "cost", "spike"}, mocked.done.stderr
    assert all(r["rows"] for r in mocked.told["results"])
    verdicts = [r["ok"] for r in mocked.told["results"]]
    assert mocked.done.returncode == (1 if False in verdicts else 4 if None in verdicts else 0)
    assert [row[0] for row in mocked.results["cost"]["rows"]] == [0, 1]
    assert all(row[1] != "untold" for row in mocked.results["cost"]["rows"])
    report = (mocked.out / "report.md").read_text()
    assert "No GPU was here" in report
    for fact in ("gpu", "driver", "kernel", "processor", "commit", "date"):
        assert mocked.told["about"][fact] in report
    (recording,) = mocked.out.glob("mock-*-spike.gct")
    assert all(recording.with_suffix("." + page).stat().st_size > 0 for page in PAGES)


def test_mock_knows(mocked):
    """What does not depend on the machine: the profiler's file is read as it is, pauses were charged, the device was seen."""
    assert mocked.results["reading"]["ok"], mocked.results["reading"]
    assert mocked.results["reading"]["rows"][0][1] > 0
    assert mocked.results["spike"]["ok"], mocked.results["spike"]


def test_mock_blocks(mocked):
    """What pairs of blocks are held against is all of the cost that gctrace states."""
    compared = 0
    for path in mocked.out.glob("mock-*-traced.gct"):
        read = programs.Traced(os.environ["GCTRACE"], path, None)
        if read.track()["cost_ns"]:
            assert sum(step["cost_ns"] for step in read.of("step")) == read.track()["cost_ns"]
            compared += 1
    assert compared >= 2


def each_of(kind):
    found = [e for e in ENVIRONMENTS if e.kind == kind]
    return found or [pytest.param(None, marks=pytest.mark.skip(reason="scripts/workloads could not install %s" % kind))]


@pytest.fixture(params=each_of("torch") + each_of("jax"), ids=str)
def on_processor(request, tmp_path):
    """A framework's program of tests/gpu where no GPU is: (its kind, the Framework)."""
    environment = request.param
    argv = [environment.python, harness.SOURCE / "tests" / "gpu" / PROGRAMS[environment.kind], "--cpu", "--width", "64"]
    return environment.kind, programs.Framework(environment.kind, argv, os.environ["GCTRACE"], mock.SHIM, tmp_path)


def test_programs(on_processor):
    """All that the checks ask of them, but for a device: every step and every collection is in the recording, in its block."""
    _, framework = on_processor
    for told in (framework.plain("--steps", "13", "--small", "53"), framework.dormant("--steps", "13", "--small", "53")):
        assert told["steps"] == 13 and told["seconds"] > 0 and told["blocks"] == []
    path, told = framework.traced("--pairs", "3", "--collect", str(checks.EVERY), "--depth", "2", gpu="off")
    read = programs.Traced(os.environ["GCTRACE"], path, told)
    assert told["steps"] == 6 * checks.EVERY and read.track()["steps"] == told["warm_up"] + told["steps"]
    assert [block["on"] for block in told["blocks"]] == [False, True, True, False, False, True]
    inside = [[p for p in read.of("pause") if p["cause"] == "manual" and b["begin_ns"] <= p["start_ns"] and p["end_ns"] <= b["end_ns"]]
              for b in told["blocks"]]
    assert [len(pauses) for pauses in inside] == [b["on"] for b in told["blocks"]]
    starts = sorted(step["start_ns"] for step in read.of("step"))
    assert [sum(b["begin_ns"] <= s < b["end_ns"] for s in starts) for b in told["blocks"]] == [checks.EVERY] * 6


def test_profiler(on_processor):
    """PyTorch's writes one event a step; of JAX none is read, which the program says."""
    kind, framework = on_processor
    trace = framework.out / "trace.json"
    if kind != "torch":
        with pytest.raises(programs.Failed, match="no profiler whose trace gctrace reads"):
            framework.plain("--steps", "23", "--profile", str(trace))
        return
    assert framework.plain("--steps", "23", "--profile", str(trace))["seconds"] is None
    events = json.loads(trace.read_text())
    events = events if isinstance(events, list) else events["traceEvents"]  # Debian's is built without Kineto
    assert sum("Optimizer.step" in event.get("name", "") for event in events) == 23


def test_no_framework(tmp_path):
    """Without CUDA in it, a framework is not for this machine's GPU, and which one and why is said."""
    path = fake_smi(tmp_path / "bin", "echo 0, NVIDIA H100, 535.1, 80000 MiB")
    done = gpu_check("-o", tmp_path / "out", "--python", "/usr/bin/python3", PATH=path)
    assert done.returncode == 4 and "torch: not run, since" in done.stderr and "jax: not run, since" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_records(tmp_path):
    """CUPTI finds no driver: what GPUs do is only inferred, and nothing is held against that."""
    if not mock.have_mock():
        conftest.need("cupti", False, "CUPTI's headers were not here when this was built")
    done = gpu_check("--mock", "-o", tmp_path / "out", "--only", "spike", MOCK_CUPTI="no_driver=1")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("MISSED spike, mock: ") and "has no records of a GPU" in done.stdout


def test_misread(mocked):
    """A kernel that the file has and gctrace has not seen is found."""
    (trace,) = mocked.out.glob("mock-*-profile.json")
    (recording,) = mocked.out.glob("mock-*-profiled.gct")
    whole = json.loads(trace.read_text())
    kernels = sorted((e for e in whole["traceEvents"] if e["cat"] == "kernel"), key=lambda e: e["ts"])
    gaps = [(b["ts"] - a["ts"] - a["dur"], i) for i, (a, b) in enumerate(zip(kernels, kernels[1:]))]
    gap, before = max(gaps)
    middle = dict(kernels[before], ts=kernels[before]["ts"] + kernels[before]["dur"] + gap / 2, dur=1)
    more = mocked.out / "more.json"
    more.write_text(json.dumps(dict(whole, traceEvents=whole["traceEvents"] + [middle])))
    read = programs.Traced(os.environ["GCTRACE"], recording, None, trace)
    framework = types.SimpleNamespace(name="mock")
    assert checks.check_reading(framework, read, trace).ok
    assert not checks.check_reading(framework, read, more).ok


class Fake:
    """A framework whose runs take and say what they are told to."""

    name, env = "fake", {}

    def __init__(self, traced=1.0, dormant=1.0, stated=0.0, on=(1.0,), busy=8e6):
        """@on: what the blocks with a collection take, by turns, in s; those without take one. @stated: s of each."""
        self.times = {"plain": 1.0, "dormant": dormant, "traced": traced}
        self.stated, self.on, self.busy = stated, on, busy

    def plain(self, *_):
        return {"seconds": self.times["plain"]}

    def dormant(self, *_):
        return {"seconds": self.times["dormant"]}

    def run(self, seconds, busy):
        steps = [{"duration_ns": 10e6, "gpu_idle_ns": 10e6 - busy}] * 3
        return types.SimpleNamespace(told={"seconds": seconds}, of=lambda kind: steps if kind == "step" else [])

    def blocks(self, pairs):
        """A step of other times before the first block and in each one; the collection in the second of each pair, then the first."""
        now, blocks, steps = 1e9, [], [{"start_ns": 0.5e9, "cost_ns": 7e9}]
        for pair in range(pairs):
            for on in (pair % 2 == 1, pair % 2 == 0):
                end = now + 1e9 * (self.on[pair % len(self.on)] if on else 1)
                blocks.append({"on": on, "begin_ns": now, "end_ns": end})
                cost = None if self.stated is None else 1e9 * self.stated if on else 0
                steps += [{"start_ns": now, "cost_ns": 0}, {"start_ns": (now + end) / 2, "cost_ns": cost}]
                now = end
        track = {"cost_ns": None if self.stated is None else 1, "cost_source": "measured"}
        return types.SimpleNamespace(told={"blocks": blocks}, track=lambda: track, of=lambda kind: steps if kind == "step" else [])

    def recorded(self, *args):
        if "--pairs" in args:
            return self.blocks(int(args[args.index("--pairs") + 1]))
        return self.run(self.times["traced"], self.busy)

    def profiled(self, *_):
        return self.run(1.0, 8e6), "/dev/null"


def test_overhead_is_judged():
    assert checks.overhead(Fake(traced=1.0099, dormant=1.0049), 10, 3, 0).ok
    assert not checks.overhead(Fake(traced=1.02), 10, 3, 0).ok
    assert not checks.overhead(Fake(dormant=1.006), 10, 3, 400).ok


def test_cost_is_judged():
    """1.25 s with a collection, 1 s without: what is stated may be 37.5 ms less or more."""
    for stated, ok in ((0.25, True), (0.287, True), (0.213, True), (0.288, False), (0.212, False), (None, False)):
        result = checks.depths(Fake(on=(1.25,), stated=stated), 29, 2)
        assert result.ok == ok, (stated, result)
        assert len(result.rows) == 3


def test_noise_is_not_judged():
    """On a machine whose own noise is more than the bound, nothing is right and nothing is wrong; one slow block in three is none."""
    for stated in (0.25, 0.5):
        result = checks.depths(Fake(on=(1.05, 1.45, 1.25), stated=stated), 31, 0)
        assert result.ok is None and "cannot be judged" in result.sentence and result.rows[0][5] == "no", result
    for stated, ok in ((0.25, True), (0.5, False)):
        assert checks.depths(Fake(on=(1.25, 1.25, 2.25), stated=stated), 29, 0).ok == ok


def test_status():
    """A miss is one whatever else there is, and what cannot be judged is not passed."""
    for verdicts, status in (([True], 0), ([True, None], 4), ([None, False], 1), ([False, True], 1), ([], 1)):
        assert gpu_check_program.status_of(verdicts) == status


def test_busy_is_judged(monkeypatch):
    monkeypatch.setattr(checks, "check_reading", lambda *_: checks.Result("reading", "fake", True, ""))
    for busy, ok in ((8e6, True), (8.3e6, True), (7.5e6, False), (8.5e6, False)):
        assert checks.busy_idle(Fake(busy=busy), 10, 3)[0].ok == ok, busy
