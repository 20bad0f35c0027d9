"""Step signals of GPU programs: on the mock of CUDA launches of graphs, reads and waits; ranges of the real NVTX."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import conftest
import harness
import test_gpu_chain
from test_signals import Marks

sys.path.insert(0, str(harness.SOURCE / "tests" / "cupti"))
import mock  # noqa: E402

NVTX = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gctrace" / "nvtx"

STEPS = """
print("ready", flush=True)
sys.stdin.readline()
made = stream()
for step in range(397):
    cuda.cuGraphLaunch(pointer(20000), made)
    if step % 50 == 49:
        for _ in range(23):
            cuda.cuGraphLaunch(pointer(10000), None)
        cuda.cuMemcpyDtoHAsync_v2(None, u64(0), ctypes.c_size_t(4), made)
        sync(made)
    if step % 97 == 96:
        garbage(20000)
        gc.collect()
cuda.cuCtxSynchronize()
"""


def environment(bench, runtime):
    """With a driver that has the name of the real one, not only a link of that name."""
    env = test_gpu_chain.environment(bench, runtime, "13")
    driver = bench.scratch / "lib" / "libcuda.so.1"
    driver.unlink()
    shutil.copy(mock.MOCKS / "libmock_cuda.so", driver)
    return env


def run(bench, runtime, code, last, *options, env=None):
    """Runs @code of subject.py, traced since @last was probed."""
    argv = [runtime.exe, mock.HERE / "subject.py", code]
    target = bench.process(argv, env=env or environment(bench, runtime))
    assert target.out.next() == "ready", target.err.text()
    tracer = bench.record(target, "-v", *options)
    tracer.attached(last)
    target.send("go")
    assert target.wait(60) == 0, target.err.text()
    tracer.finish()
    return Marks(bench.file)


def calls(marks, signal):
    """What a signal's series were called with, by number and label."""
    return {(series.number, series.label): series.marks for series in marks.of(signal)}


def test_graphs(bench, some_runtime):
    """Every launch by its handle, every read by its bytes, every wait; and the steps are those of the training graph."""
    marks = run(bench, some_runtime, STEPS, "cuda:sync")
    assert marks.drops == []
    assert calls(marks, "cuda:graph") == {(20000, None): 397, (10000, None): 7 * 23}
    assert calls(marks, "cuda:read") == {(4, None): 7}
    assert calls(marks, "cuda:sync") == {(None, "stream"): 7, (None, "context"): 1}
    summary = bench.report().summary
    assert (summary["step_signal"], summary["steps"]) == ("cuda:graph", 397)
    assert summary["confidence"] > 0.7


def test_named(bench, some_runtime):
    """By a graph's handle, in hexadecimal as reports have it; by a read."""
    run(bench, some_runtime, STEPS, "cuda:sync", "--step", "cuda:graph:2710")
    assert bench.report().summary["steps"] == 7 * 23
    done = harness.gctrace("report", bench.file, "--step", "cuda:read", "-f", "json")
    assert harness.Records(done.stdout.decode()).summary["steps"] == 7


def ranges_of(bench, runtime, path, *options):
    """The ranges that the program began, by its own book, and those that the recording has."""
    env = dict(runtime.environment, PYTHONPATH=str(NVTX), NVTX_INJECTION64_PATH=str(mock.SHIM))
    target = bench.process([runtime.exe, harness.HERE / "nvtx_subject.py", path], env=env)
    assert target.out.next() == "ready", target.err.text()
    tracer = bench.record(target, "-v", *options)
    tracer.attached("nvtx: libgctrace_cupti.so")
    target.send("go")
    book = json.loads(target.out.next())
    assert target.wait(60) == 0, target.err.text()
    tracer.finish()
    marks = Marks(bench.file)
    assert marks.drops == []
    return book, {series.label or "": series.marks for series in marks.of("nvtx")}


@pytest.fixture(params=("package", "library"))
def nvtx(request, some_runtime):
    if not mock.have_mock():
        conftest.need("cupti", False, "CUPTI's headers were not here when this was built")
    library = NVTX / "nvidia" / "nvtx" / "lib" / "libnvtx3interop.so.1"
    conftest.need("cupti", library.exists(), "NVTX is not there: run scripts/cuda")
    if request.param == "library":
        return str(library)
    here = subprocess.run(["/usr/bin/python3", "-c", "import sys; print(sys.version_info[:2])"], stdout=subprocess.PIPE)
    own = subprocess.run([some_runtime.exe, "-c", "import sys; print(sys.version_info[:2])"], stdout=subprocess.PIPE,
                         env=some_runtime.environment)
    if own.stdout != here.stdout:
        pytest.skip("nvtx is the system's python's")
    return "package"


@pytest.mark.parametrize("gpu", ("measure", "off"))
def test_ranges(bench, some_runtime, nvtx, gpu):
    """Every range and mark once, by its domain and name; the steps are those of the range that says so."""
    book, seen = ranges_of(bench, some_runtime, nvtx, *(["--gpu", "off"] if gpu == "off" else []))
    assert seen == book
    summary = bench.report().summary
    assert (summary["step_signal"], summary["steps"]) == ("nvtx:train_step", 397)
    assert summary["confidence"] > 0.7
    done = harness.gctrace("report", bench.file, "--step", "nvtx:model:forward", "-f", "json")
    assert harness.Records(done.stdout.decode()).summary["steps"] == 397


def test_ranges_of_others(bench, some_runtime, nvtx):
    """A program that is not traced begins its ranges beside one that is: none of them is recorded."""
    env = dict(some_runtime.environment, PYTHONPATH=str(NVTX), NVTX_INJECTION64_PATH=str(mock.SHIM))
    argv = [some_runtime.exe, harness.HERE / "nvtx_subject.py", nvtx]
    target, other = (bench.process(argv, env=env) for _ in range(2))
    assert target.out.next() == other.out.next() == "ready"
    tracer = bench.record(target, "-v")
    tracer.attached("nvtx: libgctrace_cupti.so")
    other.send("go")
    assert other.wait(60) == 0, other.err.text()
    target.send("go")
    book = json.loads(target.out.next())
    assert target.wait(60) == 0, target.err.text()
    tracer.finish()
    seen = Marks(bench.file).of("nvtx")
    assert {series.label or "": series.marks for series in seen} == book
    assert {series.pid for series in seen} == {target.pid}
