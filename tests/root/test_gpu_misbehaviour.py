"""CUPTI that drops, delays and refuses, through shim, probe, ring and file to the report: what is not known is said, and no time in
which a device worked is called idle."""

import json
import shutil
import sqlite3

import pytest

import conftest
from harness import gctrace
from test_gpu_chain import TRAINING, check_runs, environment

import mock

# What is checked is the same for every program: one is enough.
pytestmark = [
    conftest.full_only,
    conftest.each("python", conftest.spread(conftest.PLAIN)[:1], "CPython of those asked for is here"),
]

STEPS = "train(101, 7, 300000, 2, nodes=20000); time.sleep(0.3)"


class Run:
    """A program on a mock that misbehaves: its book, the base of its recording, its report."""

    def __init__(self, bench, runtime, code, variant="12", first="", **env):
        whole = environment(bench, runtime, variant) | {k: str(v) for k, v in env.items()}
        target = bench.process([runtime.exe, mock.HERE / "subject.py", first + TRAINING % code], env=whole)
        assert target.out.next() == "ready", target.err.text()
        tracer = bench.record(target, "--gpu", "measure")
        target.send("go")
        assert target.wait(80) == 0, target.err.text()
        tracer.finish()
        self.out, self.said = target.out.text(), tracer.err.text()
        self.base = sqlite3.connect(bench.file)
        self.base.row_factory = sqlite3.Row
        self.book = mock.read_book(bench.scratch / "book")
        done = gctrace("report", bench.file, "-f", "json")
        assert done.returncode == 0, done.stderr.decode()
        self.records = [json.loads(line) for line in done.stdout.splitlines()]
        self.devices = self.records[-1].get("gpu", [])
        self.idle = [r for r in self.records if r["type"] == "gpu_idle"]
        self.text = gctrace("report", bench.file)
        self.text = self.text.stdout.decode() + self.text.stderr.decode()

    def check_idle(self, error_ns=0):
        """Nothing worked while the report has a device idle, but for what the clock is off."""
        busy = {}
        for entry in sorted((e for e in self.book if e.kind != mock.WAITED), key=lambda e: e.start):
            mock.add_run(busy.setdefault(entry.device, []), entry.start, entry.end)
        for idle in self.idle:
            for start, end in busy[idle["device"]]:
                assert min(end, idle["end_ns"]) - max(start, idle["start_ns"]) <= 2 * error_ns, (idle, start, end)

    def device(self):
        (device,) = self.devices
        return device

    def is_not_known(self, start_ns, end_ns):
        return not [i for i in self.idle if i["start_ns"] < end_ns and start_ns < i["end_ns"]]


def test_dropped_records(bench, python):
    """They are unknown: neither busy nor idle."""
    run = Run(bench, python, STEPS + "\nprint(cupti().mock_dropped())", MOCK_CUPTI="drop=97")
    run.check_idle()
    lost = run.base.execute("select * from gpu_unknown where why = 2").fetchall()
    assert run.device()["dropped"] == sum(row["records"] for row in lost) >= int(run.out.split()[-1]) > 5
    for row in lost:
        assert run.is_not_known(row["start_ns"], row["end_ns"])
    assert 0 < run.device()["unknown_ns"] <= sum(row["end_ns"] - row["start_ns"] for row in lost)
    assert run.device()["busy_ns"] + run.device()["idle_ns"] == run.device()["seen_ns"]
    assert [row["cause"] for row in run.base.execute("select cause from drops")] == ["cupti-records"]
    assert "CUPTI had no buffer" in run.text


@pytest.mark.parametrize(
    "how", ["backwards=1", "late_ms=150", "after=1", "slow_flush_ms=300", "backwards=1,late_ms=70"]
)
def test_buffers_come_as_they_like(bench, python, how):
    run = Run(bench, python, STEPS, MOCK_CUPTI=how)
    check_runs(run.base, run.book)
    run.check_idle()
    assert run.device()["unknown_ns"] == run.device()["dropped"] == run.device()["clock_error_ns"] == 0
    assert len(run.idle) > 7


@pytest.mark.parametrize("variant", ["old", "12", "13"])
def test_a_clock_of_its_own(bench, python, variant):
    """Hours off, and drifting: times are as far off as the report says, at most."""
    how = "refuse_clock=1,skew_ns=7000000000000,drift_ppm=200"
    run = Run(bench, python, STEPS, variant, MOCK_CUPTI=how)
    error_ns = run.device()["clock_error_ns"]
    assert 0 < error_ns
    run.check_idle(error_ns)
    starts = [e.start for e in run.book]
    for row in run.base.execute("select start_ns from gpu_busy"):
        assert min(abs(start - row["start_ns"]) for start in starts) <= error_ns
    assert len(run.idle) > 7


def test_a_device_whose_clock_is_off(bench, python):
    run = Run(bench, python, STEPS, MOCK_CUPTI="device_skew_ns=-300000")
    assert 290_000 < run.device()["clock_error_ns"] <= 300_000
    run.check_idle(run.device()["clock_error_ns"])


REFUSALS = {
    "no CUPTI": (None, "", 5, 0),
    "newer": ("13", "version=130600", 6, 0),
    "no driver": ("12", "no_driver=1", 7, 2.5),  # which it may take to be there
    "no kernels": ("12", "refuse_kind=10", 8, 0),
    "no callbacks": ("12", "refuse_callbacks=1", 7, 2.5),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(bench, python, name):
    """The program runs as without, and both the tracer and the report say that nothing is known of its GPU, and why."""
    variant, how, why, wait_s = REFUSALS[name]
    run = Run(bench, python, "train(5, 3, 100000, 1); time.sleep(%r)" % wait_s, variant, MOCK_CUPTI=how)
    assert [row["why"] for row in run.base.execute("select why from gpu_unknown")] == [why]
    assert run.idle == [] and run.base.execute("select * from gpu_busy").fetchall() == []
    assert [device["seen_ns"] for device in run.devices] in ([], [None])
    assert "what the GPUs of process" in run.said
    assert "nothing can be recorded of a process's GPUs: " in run.text


def test_flush_never_returns(bench, python):
    """What was handed over before is kept; nothing after it is called idle."""
    run = Run(bench, python, "train(11, 7, 300000, 2); time.sleep(4)", MOCK_CUPTI="stuck_flush=7")
    run.check_idle()
    assert 9 in [row["why"] for row in run.base.execute("select why from gpu_unknown")]
    (known,) = run.base.execute("select max(until_ns) from gpu_device").fetchone()
    assert all(idle["end_ns"] <= known for idle in run.idle)
    assert known < max(e.start for e in run.book) - 4 * 10**9
    assert "what the GPUs of process" in run.said


def test_children(bench, python):
    """A child that the program forks launches, too: of it nothing is recorded, and what its parent does is, as ever."""
    code = """
for end in (os._exit, sys.exit):
    child = os.fork()
    if not child:
        launch(1000)
        time.sleep(0.3)
        end(3)
    assert os.waitpid(child, 0)[1] >> 8 == 3
train(53, 7, 300000, 2)
"""
    run = Run(bench, python, code)
    check_runs(run.base, run.book)
    run.check_idle()
    (row,) = run.base.execute("select count(distinct process), count(*) from gpu_device").fetchall()
    assert tuple(row) == (1, 1)


def test_a_million_a_second(bench, python):
    """On 64 streams of each of 8 devices: all of it, or what was lost counts as unknown."""
    code = """
streams = [stream(device) for device in range(8) for _ in range(64)]
handles = (pointer * len(streams))(*(s.value for s in streams))
cuda.mock_burst(300007, 5000, 1000, handles, len(streams))
"""
    run = Run(bench, python, code, "13", MOCK_DEVICES=8)
    check_runs(run.base, run.book, one_stream=False)
    assert sorted(device["device"] for device in run.devices) == list(range(8))
    assert sum(device["dropped"] + device["unknown_ns"] for device in run.devices) == 0
    assert len([e for e in run.book if e.kind == mock.KERNEL]) > 300007


PROFILER = """
other = cupti()
train(11, 7, 300000, 2)
time.sleep(0.3)
print("first", time.monotonic_ns())
print("got", profile(other, 23), flush=True)
time.sleep(4)
"""


@pytest.mark.parametrize("variant", ["12", "13"])
def test_a_profiler_that_comes_later(bench, python, variant):
    """It gets all of its records; the report says that another user was there, and claims nothing of that time."""
    run = Run(bench, python, PROFILER, variant)
    words = run.out.split()
    first = int(words[words.index("first") + 1])
    assert int(words[words.index("got") + 1]) == 23
    run.check_idle()
    assert [row["why"] for row in run.base.execute("select why from gpu_unknown where why = 4")] == [4]
    assert run.is_not_known(first + 10**6, first + 3 * 10**9)
    assert len(run.idle) > 7
    assert "another user of CUPTI, such as a profiler, was active for some time" in run.text


def test_a_profiler_that_was_there(bench, python):
    """Nsight Systems, known by its library: nothing is begun, and that is said."""
    fake = bench.scratch / "libToolsInjection64.so"
    shutil.copy(mock.MOCKS / "libmock_cuda.so", fake)
    run = Run(bench, python, "train(11, 7, 300000, 2)", first="ctypes.CDLL(%r)" % str(fake))
    assert [row["why"] for row in run.base.execute("select why from gpu_unknown")] == [4]
    assert run.idle == []
    assert "another user of CUPTI, such as a profiler" in run.text
