"""Tier 0: CUDA's driver probed where there is no shim. Real uprobes in a real Python whose real collections stop real launches; the
driver is the mock, which keeps a book, or NVIDIA's own library without a device."""

import bisect
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import sys

import pytest

import conftest
import harness
from harness import gctrace

sys.path.insert(0, str(harness.SOURCE / "tests" / "cupti"))
import mock  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gctrace"
DRIVER = CACHE / "cuda-driver"
WAYS = {"sessions": "", "multi": "session", "perf": "session,multi"}

BEGIN = """
print("ready", flush=True)
sys.stdin.readline()
"""


def environment(bench, runtime, shim=None):
    """The driver is known by its file's name."""
    if not mock.have_mock():
        conftest.need("cupti", False, "CUPTI's headers were not here when this was built")
    libraries = bench.scratch / "lib"
    libraries.mkdir()
    shutil.copy(mock.MOCKS / "libmock_cuda.so", libraries / "libcuda.so.1")
    env = mock.environment(libraries, shim or "", SUBJECT_BOOK=bench.scratch / "book") | runtime.environment
    if shim:
        shutil.copy(mock.MOCKS / "libmock_cupti_12.so", libraries / f"libcupti.{mock.VARIANTS['12']}")
    else:
        del env["CUDA_INJECTION64_PATH"]
    env["LD_LIBRARY_PATH"] = ":".join(
        filter(None, [str(libraries), runtime.environment.get("LD_LIBRARY_PATH")])
    )
    return env


class Run:
    """What was recorded of a program that runs @code once it is traced, and its book."""

    def __init__(self, bench, runtime, code, status=0, options=("--gpu", "infer"), shim=None):
        env = environment(bench, runtime, shim)
        target = bench.process([runtime.exe, mock.HERE / "subject.py", BEGIN + code], env=env)
        assert target.out.next() == "ready", target.err.text()
        self.pid = target.pid
        self.tracer = bench.record(target, *options)
        target.send("go")
        assert target.wait(90) == status, target.err.text()
        self.tracer.finish()
        self.base = sqlite3.connect(bench.file)
        self.base.row_factory = sqlite3.Row
        self.book = mock.read_book(bench.scratch / "book")
        assert self.rows("drops") == []

    def rows(self, table, where="1"):
        return self.base.execute(f"select * from {table} where {where}").fetchall()

    def launches(self):
        return {row["tid"]: row["launches"] for row in self.rows("gpu_launcher")}

    def launched(self):
        """By thread, as the book has it."""
        found = {}
        for entry in self.book:
            if entry.kind in (mock.KERNEL, mock.GRAPH):
                found[entry.tid] = found.get(entry.tid, 0) + 1
        return found


# Steps of 8 ms; after every 11th a collection. The time that a busy machine takes from the program is as good as a pause, so it comes
# before all others, and goes on until around some collections its own steps were even. (An event of the mock is the time at which
# it will have happened.)
TRAIN = """
import statistics
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
keep, ahead, host, late, even, depth = garbage(300000), [], [], [], 0, %d
step, back = 0, time.monotonic_ns()
while even < 5 and step < 1500:
    for _ in range(8):
        launch(1000000)
    ahead.append(event())
    step += 1
    if len(ahead) > depth:
        awaited, call = ahead.pop(0), time.monotonic_ns()
        wait_for(awaited)
        host.append(call - back)
        back = time.monotonic_ns()
        late.append(back - max(call, awaited.value))
    if step %% 11 == 0:
        gc.collect()
        back = time.monotonic_ns()
    elif step %% 11 == 7 and step > 22:
        uneven = sum(abs(h - statistics.median(host)) + l for h, l in zip(host[-7:], late[-7:]))
        even += uneven < 1000000
"""

WINDOW = 6  # waits, within which the queue was filled, and is full again


def variation(waits, pause):
    """By how much the waits around @pause may differ for the program's own sake: what its steps took on the host, and how late it woke."""
    host, late = {}, {}
    for before, wait in zip(waits, waits[1:]):
        stopped = max(0, min(wait.call, pause["end_ns"]) - max(before.returned, pause["start_ns"]))
        host[wait] = wait.call - before.returned - stopped
        late[wait] = wait.returned - max(wait.call, wait.end)
    usual_host, usual_late = statistics.median(host.values()), statistics.median(late.values())
    after = bisect.bisect([w.returned for w in waits], pause["start_ns"])
    window = waits[max(1, after - WINDOW) : after + WINDOW]
    return sum(abs(host[w] - usual_host) + abs(late[w] - usual_late) for w in window)


@pytest.mark.parametrize("way,depth", [("sessions", 0), ("multi", 1), ("perf", 4)])
def test_pauses(bench, some_runtime, way, depth, monkeypatch):
    """What was hidden and exposed is what the book says, but for what the program itself varied by; launches and waits are exact."""
    monkeypatch.setenv("GCTRACE_REFUSE", WAYS[way])
    run = Run(bench, some_runtime, TRAIN % depth)
    waits = [e for e in run.book if e.kind == mock.WAITED]
    kernels = [e for e in run.book if e.kind == mock.KERNEL]
    assert run.launches() == run.launched() == {run.pid: 8 * (len(waits) + depth)}
    calls = run.rows("gpu_driver_call", "kind = 1")
    assert [(row["tid"], row["launches"], row["function"]) for row in calls] == [
        (run.pid, 8 * (i + depth + 1), "cuEventSynchronize") for i in range(len(waits))
    ]
    for row, wait in zip(calls, waits):
        assert row["start_ns"] <= wait.call and wait.returned <= row["start_ns"] + row["duration_ns"]
    pauses = [p for p in bench.report().pauses if p["cause"] == "manual"]
    assert len(pauses) == (len(waits) + depth) // 11 and all(p["gpu_inferred"] for p in pauses)
    sharp = 0
    for pause in pauses:
        if pause["gpu_hidden_ns"] is None:  # the recording's last
            assert pause is pauses[-1]
            continue
        done = max(e.end for e in kernels if e.call < pause["start_ns"])
        hidden = min(max(0, done - pause["start_ns"]), pause["duration_ns"])
        bound = 200000 + variation(waits, pause)
        assert abs(pause["gpu_hidden_ns"] - hidden) <= bound, (pause, hidden, bound)
        assert pause["gpu_hidden_ns"] + pause["gpu_exposed_ns"] == pause["duration_ns"]
        assert pause["gpu_lost_low_ns"] <= pause["gpu_lost_ns"] == pause["gpu_exposed_ns"] <= pause["gpu_lost_high_ns"]
        assert pause["gpu_recovery_ns"] is None
        sharp += bound < pause["duration_ns"] / 4
    assert sharp >= 3
    text = gctrace("report", bench.file).stdout.decode()
    assert "queued work hid the rest" in text and "inferred from launches and calls that wait for a GPU)" in text


def test_no_collections(bench, some_runtime):
    run = Run(bench, some_runtime, "train(61, 8, 100000, 2)")
    assert run.launches() == {run.pid: 61 * 8}
    assert [p for p in bench.report().pauses if p["gpu_hidden_ns"] is not None and p["cause"] != "shutdown"] == []


def test_no_launches(bench, some_runtime):
    """A program that has CUDA loaded and asks it for nothing: not a word."""
    run = Run(bench, some_runtime, "garbage(1000); gc.collect()")
    assert len(run.rows("gpu_driver")) == 1 and run.launches() == {} and run.rows("gpu_driver_call") == []
    report = bench.report()
    assert [p for p in report.pauses if "gpu_hidden_ns" in p] == []
    assert "GPU" not in gctrace("report", bench.file).stdout.decode()


MISBEHAVIOUR = """
kept = [allocate(size) for size in (4096, 5003, 1 << 20)]
assert allocate(1 << 41) is None and free(77) != 0 and cuda.cuEventSynchronize(None) != 0
assert free(kept[1]) == 0
other = allocate(7919, "cuMemAllocAsync")
assert free(other, "cuMemFreeAsync") == 0
def work(count):
    for _ in range(count):
        launch(1000)
    sync()
threads = [threading.Thread(target=work, args=(count,)) for count in (11, 101, 1009)]
[t.start() for t in threads]
[t.join() for t in threads]
child = os.fork()
if not child:
    for _ in range(13):
        launch(1000)
    os._exit(0)
os.waitpid(child, 0)
launch(1000)
sync()
"""


def test_misbehaviour(bench, some_runtime):
    """Calls that fail are counted as nothing else; threads, and a child that launches, have their own counts."""
    run = Run(bench, some_runtime, MISBEHAVIOUR)
    (driver, *child) = run.rows("gpu_driver", "1 order by process")
    assert driver["failed"] == 3 and driver["let_go_ns"] is None
    launches = run.launches()
    own = {tid: count for tid, count in launches.items() if tid in run.launched()}
    assert own == run.launched() and sorted(own.values()) == [1, 11, 101, 1009]
    assert [count for tid, count in launches.items() if tid not in own] == [13] * len(child)
    memory = [
        (row["kind"], row["bytes"])
        for row in run.rows("gpu_driver_call", f"kind > 1 and process = {driver['process']}")
    ]
    assert memory == [(2, 4096), (2, 5003), (2, 1 << 20), (3, 5003), (2, 7919), (3, 7919)]


def test_what_was_allocated_before_is_not_known(bench, some_runtime):
    code = "made = allocate(4099)\n" + BEGIN + "free(made); launch(1000); sync()"
    env = environment(bench, some_runtime)
    target = bench.process([some_runtime.exe, mock.HERE / "subject.py", code], env=env)
    assert target.out.next() == "ready", target.err.text()
    tracer = bench.record(target, "--gpu", "infer")
    target.send("go")
    assert target.wait(60) == 0
    tracer.finish()
    rows = sqlite3.connect(bench.file).execute("select kind, bytes from gpu_driver_call order by id").fetchall()
    assert rows == [(3, None), (1, None)]


def test_killed_in_a_call(bench, some_runtime):
    """A thread that ends in a call has no row of it, and its tracer no trouble."""
    code = "launch(60_000_000_000)\nthreading.Timer(0.5, os.kill, (os.getpid(), 9)).start()\nsync()"
    run = Run(bench, some_runtime, code, status=-signal.SIGKILL)
    assert run.launches() == {run.pid: 1} and run.rows("gpu_driver_call") == []


def test_too_many(bench, some_runtime):
    """Launches that come by the hundred thousand are let go, in words; waits are still there, and know of no launches."""
    code = "on = (pointer * 1)(stream())\ncuda.mock_burst(400000, 100, 5000, on, 1)\n"
    code += "for _ in range(23): launch(1000); sync(); time.sleep(0.01)"
    run = Run(bench, some_runtime, code)
    (driver,) = run.rows("gpu_driver")
    assert driver["let_go_ns"]
    assert 20000 < run.launches()[run.pid] < 400000
    assert [row["launches"] for row in run.rows("gpu_driver_call")] == [None] * 23
    assert "launches GPU work too often" in run.tracer.err.text()
    text = gctrace("report", bench.file).stdout.decode()
    assert "no longer counted" in text and "Inferred from calls that wait for a GPU and, in part, launches, as" in text


SPIKES = """
keep = garbage(100000)
for step in range(53):
    launch(2000000)
    if step % 11 == 7:
        gc.collect()
    sync()
"""


def test_by_itself(bench, some_runtime):
    """Nothing is asked for: waits are seen, launches are not counted, and all of that is said."""
    run = Run(bench, some_runtime, SPIKES, options=())
    (driver,) = run.rows("gpu_driver")
    assert driver["let_go_ns"] == driver["attached_ns"] and run.launches() == {run.pid: 0}
    calls = run.rows("gpu_driver_call")
    assert [(row["kind"], row["launches"], row["function"]) for row in calls] == [(1, None, "cuStreamSynchronize")] * 53
    report = bench.report()
    pauses = [p for p in report.pauses if p["cause"] == "manual"]
    assert len(pauses) == 5 and all(p["gpu_inferred"] and p["gpu_hidden_ns"] is not None for p in pauses)
    (thread,) = report.summary["gpu_launches"]
    assert (thread["tid"], thread["launches"], thread["waits"]) == (run.pid, None, 53)
    text = gctrace("report", bench.file).stdout.decode()
    assert "launches were not counted" in text and "inferred from calls that wait for a GPU)" in text
    assert "inferred from launches" not in text.lower()


@pytest.mark.parametrize("options", [("--gpu", "off"), ("--gpu", "measure")], ids=" ".join)
def test_not_by_itself(bench, some_runtime, options):
    """What was not asked for, or could not be had, is not made up for."""
    env = environment(bench, some_runtime)
    code = BEGIN + SPIKES
    target = bench.process([some_runtime.exe, mock.HERE / "subject.py", code], env=env)
    assert target.out.next() == "ready", target.err.text()
    if "measure" in options:
        done = gctrace("record", *options, "-p", target.pid, "-o", bench.file)
        assert done.returncode == 3 and b"shim is not loaded" in done.stderr
        return
    tracer = bench.record(target, *options)
    target.send("go")
    assert target.wait(60) == 0
    tracer.finish()
    assert sqlite3.connect(bench.file).execute("select count(*) from gpu_driver").fetchone() == (0,)


def test_the_shim_comes_first(bench, some_runtime):
    """Where it is, the driver's calls are its to tell."""
    run = Run(bench, some_runtime, SPIKES + "time.sleep(0.5)", options=(), shim=mock.SHIM)
    assert run.rows("gpu_driver") == [] and run.rows("gpu_driver_call") == []
    assert len(run.rows("gpu_device")) == 1 and run.rows("gpu_busy")


def test_without_a_driver(bench, some_runtime):
    target = bench.process([some_runtime.exe, "-c", "print('ready', flush=True); input()"])
    assert target.out.next() == "ready"
    done = gctrace("record", "--gpu", "infer", "-p", target.pid, "-o", bench.file)
    assert done.returncode == 3 and b"has not loaded libcuda.so" in done.stderr


REAL = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
print("ready", flush=True)
sys.stdin.readline()
made = ctypes.c_uint64()
for _ in range(7):
    assert cuda.cuLaunchKernel(None, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    assert cuda.cuCtxSynchronize() and cuda.cuStreamSynchronize(None)
    assert cuda.cuMemAlloc_v2(ctypes.byref(made), ctypes.c_size_t(5003)) and cuda.cuMemFree_v2(ctypes.c_uint64(4096))
"""


def test_real_driver(bench, some_runtime):
    """NVIDIA's own library: its functions are found and probed, and what fails for want of a device is no wait and no allocation."""
    if not (DRIVER / "libcuda.so.1").exists():
        pytest.skip("Debian's libcuda1 is not there: run scripts/cuda")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "LD_"))} | some_runtime.environment
    env["LD_LIBRARY_PATH"] = ":".join(filter(None, [str(DRIVER), some_runtime.environment.get("LD_LIBRARY_PATH")]))
    target = bench.process([some_runtime.exe, "-c", REAL], env=env)
    assert target.out.next() == "ready", target.err.text()
    tracer = bench.record(target, "--gpu", "infer", "-v")
    target.send("go")
    assert target.wait(60) == 0, target.err.text()
    tracer.finish()
    base = sqlite3.connect(bench.file)
    assert base.execute("select failed, let_go_ns from gpu_driver").fetchall() == [(28, None)]
    assert base.execute("select count(*) from gpu_driver_call").fetchone() == (0,)
    assert base.execute("select launches from gpu_launcher").fetchall() == [(7,)]
    assert "functions probed" in tracer.err.text()
