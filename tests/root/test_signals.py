"""Marks of step signals against what the calling process did: every call once, with its label."""

import collections
import json
import shutil
import sqlite3
import subprocess
import time

import pytest

import building
import conftest
import harness

SUBJECT = harness.HERE / "step_subject.py"
BURST = 20000  # calls that a signal may make in a burst before it is let go
RATE = 5000  # calls per second that it may make indefinitely

QUERY = """
select g.name, p.pid, s.tid, s.label, s.number, count(m.id) + coalesce(sum(m.skipped), 0)
from step_signal g join step_series s on s.signal = g.id join process p on p.id = s.process
left join step_mark m on m.series = s.id group by s.id
"""

Series = collections.namedtuple("Series", "signal pid tid label number marks")


class Marks:
    """What the recording says of signals and their marks."""

    def __init__(self, file):
        base = sqlite3.connect(file)
        base.row_factory = sqlite3.Row
        self.series = [Series(*row) for row in base.execute(QUERY)]
        self.signals = {row["name"]: row for row in base.execute("select * from step_signal")}
        self.drops = base.execute("select cause, count from drops").fetchall()
        self.marks = base.execute("select series, time_ns, rss_bytes from step_mark order by id")
        self.marks = [tuple(row) for row in self.marks]
        (self.manual,) = base.execute("select count(*) from pause where cause = 2").fetchone()
        base.close()

    def of(self, signal):
        return [s for s in self.series if s.signal == signal]

    def total(self, signal):
        return sum(s.marks for s in self.of(signal))


class Subject(harness.Process):
    def __init__(self, argv, **options):
        super().__init__(argv, **options)
        self.answer()

    def answer(self, seconds=30):
        line = self.out.next(seconds)
        assert line is not None, self.err.text()
        return json.loads(line)

    def ask(self, *command):
        self.send(json.dumps(command))
        return self.answer()["tids"]

    def quit(self):
        self.send(json.dumps(["quit"]))
        assert self.wait() == 0


def build_calls(library):
    building.library(library, harness.HERE / "step_calls.c")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """The libraries, built once, by the names under which signals are looked for."""
    folder = tmp_path_factory.mktemp("libraries")
    plain = folder / "libsteps.so"
    build_calls(plain)
    made = {"steps": plain}
    for name in ("libcblas_test.so", "libnccl.so.2"):
        made[name.split(".")[0]] = shutil.copy(plain, folder / name)
    return made


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    compiler = shutil.which("g++")
    conftest.need("cxx", compiler, "no g++ here")
    library = tmp_path_factory.mktemp("records") / "libtorch_cpu.so"
    subprocess.run(
        [compiler, "-O1", "-std=c++17", "-fPIC", "-shared", "-o", library]
        + [harness.HERE / "step_records.cc"],
        check=True,
    )
    return library


def start(bench, runtime, **libraries):
    if runtime.in_root:
        pytest.skip("the libraries are built for this system's libc")
    subject = bench.keep(Subject([runtime.exe, SUBJECT], env=runtime.environment))
    for name, path in libraries.items():
        subject.ask("load", name, str(path))
    return subject


def finish(bench, subject, tracer, complete=True):
    subject.quit()
    tracer.finish()
    marks = Marks(bench.file)
    assert complete is False or marks.drops == []
    return marks


def test_named_function(bench, some_runtime, libraries):
    """As many marks as calls, in order, with the memory that was resident."""
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "libsteps:step_once")
    before = time.monotonic_ns()
    tid = subject.ask("call", "steps", "once_many", 1009)[0]
    after = time.monotonic_ns()
    marks = finish(bench, subject, tracer)
    name = "user:libsteps:step_once"
    assert marks.of(name) == [Series(name, subject.pid, tid, None, None, 1009)]
    assert marks.signals[name]["hits"] == 1009
    assert marks.signals[name]["let_go_ns"] is None
    assert "libsteps.so: step_once" in marks.signals[name]["probe"]
    times = [time_ns for _, time_ns, _ in marks.marks]
    assert times == sorted(times) and before < times[0] and times[-1] < after
    assert all(1 << 20 < rss < 1 << 32 for _, _, rss in marks.marks)


def test_file_name_and_path(bench, some_runtime, libraries):
    """The library by a path: its file's whole name counts."""
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "%s:step_once" % libraries["steps"])
    subject.ask("call", "steps", "once_many", 101)
    marks = finish(bench, subject, tracer)
    assert marks.total("user:libsteps.so:step_once") == 101


def test_threads_and_children(bench, some_runtime, libraries):
    """One series per thread, in children too."""
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "libsteps:step_once")
    tids = subject.ask("threads", 5, "steps", "once_many", 211)
    children = [subject.ask("fork", "steps", "once_many", 307)[0] for _ in range(3)]
    marks = finish(bench, subject, tracer)
    name = "user:libsteps:step_once"
    wanted = {(subject.pid, tid): 211 for tid in tids}
    wanted.update({(pid, pid): 307 for pid in children})
    assert {(s.pid, s.tid): s.marks for s in marks.of(name)} == wanted
    assert marks.signals[name]["hits"] == 5 * 211 + 3 * 307


def test_no_children(bench, some_runtime, libraries):
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "libsteps:step_once", "--no-children")
    subject.ask("fork", "steps", "once_many", 307)
    subject.ask("call", "steps", "once_many", 11)
    marks = finish(bench, subject, tracer)
    assert [s.marks for s in marks.of("user:libsteps:step_once")] == [11]


def test_strangers(bench, some_runtime, libraries):
    """Another process that calls the same function leaves no trace."""
    subject = start(bench, some_runtime, steps=libraries["steps"])
    stranger = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "libsteps:step_once")
    stranger.ask("call", "steps", "once_many", 503)
    subject.ask("call", "steps", "once_many", 13)
    marks = finish(bench, subject, tracer)
    assert [s.pid for s in marks.series] == [subject.pid]
    assert marks.signals["user:libsteps:step_once"]["hits"] == 13


def test_library_loaded_later(bench, some_runtime, libraries):
    """With --wait the library may come later; its first calls may pass unseen, no others."""
    subject = start(bench, some_runtime)
    tracer = bench.record(subject, "--step", "libsteps:step_once", "--wait", "-v")
    subject.ask("load", "steps", str(libraries["steps"]))
    tracer.attached("step_once", "libsteps.so")
    subject.ask("call", "steps", "once_many", 701)
    assert finish(bench, subject, tracer).total("user:libsteps:step_once") == 701


def test_usdt_with_semaphore(bench, some_runtime, libraries):
    """The probe's semaphore is raised while it is watched, and lowered afterwards."""
    notes = subprocess.run(["readelf", "-n", libraries["steps"]], stdout=subprocess.PIPE).stdout
    conftest.need("sdt", b"guarded" in notes, "no <sys/sdt.h> here (systemtap-sdt-dev)")
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "usdt:steps:guarded")
    subject.ask("call", "steps", "usdt_many", 499)
    marks = finish(bench, subject, tracer)
    assert marks.total("user:usdt:steps:guarded") == 499


def test_usdt_of_the_runtime(bench, some_runtime):
    """CPython's own probe fires once a collection, beside the probes that see its collections."""
    if some_runtime.linkage == "shared":
        pytest.skip("pyenv builds without USDT")
    subject = start(bench, some_runtime)
    tracer = bench.record(subject, "--step", "usdt:python:gc__start", tier="debugfile")
    subject.ask("collect", 23)
    marks = finish(bench, subject, tracer)
    # the exit collects once or more
    assert 23 <= marks.total("user:usdt:python:gc__start") <= 26
    assert marks.manual == 23


def test_labels(bench, some_runtime, records):
    """The contents of a std::string are the label: short and long, cut at 128 bytes, of any bytes."""
    subject = start(bench, some_runtime, torch=records)
    tracer = bench.record(subject)
    texts = {
        "Optimizer.step#Adam.step": 97,
        "short": 13,
        "": 3,
        "schrittweise über": 11,
        "x" * 127: 7,
        "y" * 128: 5,
        "z" * 500: 2,
    }
    for text, calls in texts.items():
        subject.ask("call", "torch", "record_many", calls, text)
    marks = finish(bench, subject, tracer)
    wanted = {text if len(text) <= 128 else text[:128] + "…": n for text, n in texts.items()}
    assert {s.label: s.marks for s in marks.of("torch:record")} == wanted


def test_labels_without_end(bench, some_runtime, records):
    """A program that numbers its labels does not fill the recording with series; no mark is lost."""
    subject = start(bench, some_runtime, torch=records)
    tracer = bench.record(subject)
    for i in range(1103):
        subject.ask("call", "torch", "record_many", 1, "step %d" % i)
    marks = finish(bench, subject, tracer)
    series = marks.of("torch:record")
    assert len(series) == 1001
    assert sum(s.marks for s in series) == 1103
    assert [s.marks for s in series if s.label is None] == [103]


def test_cxx_names(bench, some_runtime, records):
    """A function by its C++ name; of the table's signals, only the one that was called has marks."""
    subject = start(bench, some_runtime, torch=records)
    tracer = bench.record(
        subject, "--step", "libtorch_cpu:torch::autograd::Engine::execute_other"
    )
    subject.ask("call", "torch", "backward_many", 89)
    marks = finish(bench, subject, tracer)
    name = "user:libtorch_cpu:torch::autograd::Engine::execute_other"
    assert marks.total(name) == 89
    assert marks.total("torch:backward") == 89
    assert marks.total("torch:record") == 0


def test_loss_beside_the_optimizer(bench, some_runtime, records):
    """Only the loss distinguishes an evaluation from a step: it is kept beside a better signal."""
    subject = start(bench, some_runtime, torch=records)
    tracer = bench.record(subject)
    subject.ask("call", "torch", "loss_many", 41)
    subject.ask("call", "torch", "record_many", 1, "Optimizer.step#Adam.step")
    subject.ask("call", "torch", "loss_many", 43)
    subject.ask("call", "torch", "record_many", 1, "Optimizer.step#Adam.step")
    marks = finish(bench, subject, tracer)
    assert [(s.label, s.marks) for s in marks.of("torch:loss")] == [("mse_loss", 84)]
    assert marks.total("torch:record") == 2


@conftest.full_only
def test_spare_for_short_steps(bench, some_runtime, records):
    """Where steps take about half a millisecond, the optimizer's label does without the backward."""
    subject = start(bench, some_runtime, torch=records)
    tracer = bench.record(subject)
    for _ in range(30):
        subject.ask("call", "torch", "record_many", 1, "Optimizer.step#Adam.step")
        subject.ask("call", "torch", "backward_many", 1)
        time.sleep(0.05)
    slow = time.monotonic_ns()
    while not any("torch:backward" in line and "let go" in line for line in tracer.err.lines):
        assert time.monotonic_ns() < slow + 10 * 10**9
        subject.ask("call", "torch", "record_many", 200, "Optimizer.step#Adam.step")
        subject.ask("call", "torch", "backward_many", 200)
        time.sleep(0.05)
    marks = finish(bench, subject, tracer)
    assert marks.signals["torch:backward"]["let_go_ns"] > slow
    assert marks.total("torch:backward") > 30
    assert marks.signals["torch:record"]["let_go_ns"] is None
    assert marks.total("torch:record") == marks.signals["torch:record"]["hits"]


def test_same_function_twice(bench, some_runtime, records):
    """The user names what the table holds too."""
    subject = start(bench, some_runtime, torch=records)
    tracer = bench.record(subject, "--step", "libtorch_cpu:torch::autograd::Engine::execute")
    subject.ask("call", "torch", "backward_many", 83)
    marks = finish(bench, subject, tracer)
    assert marks.total("user:libtorch_cpu:torch::autograd::Engine::execute") == 83
    assert marks.total("torch:backward") == 83


def test_numbers_and_shapes(bench, some_runtime, libraries):
    subject = start(
        bench, some_runtime, nccl=libraries["libnccl"], blas=libraries["libcblas_test"]
    )
    tracer = bench.record(subject)
    subject.ask("call", "nccl", "reduce_many", 17, 4099)
    subject.ask("call", "nccl", "reduce_many", 19, 1 << 40)
    subject.ask("call", "blas", "gemm_many", 23, 64, 128, 32)
    subject.ask("call", "blas", "gemm_many", 29, 1, 1, 1)
    subject.ask("call", "blas", "gemm_many", 31, 1 << 21, 2, 3)
    marks = finish(bench, subject, tracer)
    assert {s.number: s.marks for s in marks.of("nccl:allreduce")} == {4099: 17, 1 << 40: 19}
    shapes = {s.label: s for s in marks.of("blas:gemm")}
    assert {label: s.marks for label, s in shapes.items()} == {
        "64x128x32": 23,
        "1x1x1": 29,
        None: 31,
    }
    assert shapes["64x128x32"].number == 64 << 42 | 128 << 21 | 32
    assert shapes[None].number > 0


def test_hot_signal_is_let_go(bench, some_runtime, libraries):
    """Beyond the tolerated burst, the probe is removed; the program and the other signals go on."""
    subject = start(
        bench, some_runtime, steps=libraries["steps"], blas=libraries["libcblas_test"]
    )
    tracer = bench.record(subject, "--step", "libsteps:step_once")
    begin = time.monotonic()
    subject.ask("call", "blas", "gemm_many", 100003, 2, 3, 5)
    took = time.monotonic() - begin
    tracer.err.find(lambda line: "blas:gemm" in line and "let go" in line)
    subject.ask("call", "blas", "gemm_many", 100003, 2, 3, 5)
    subject.ask("call", "steps", "once_many", 997)
    marks = finish(bench, subject, tracer)
    found = marks.signals["blas:gemm"]
    assert found["let_go_ns"] is not None
    assert BURST <= marks.total("blas:gemm") <= BURST + (took + 1) * RATE
    assert BURST <= found["hits"] <= 100003
    assert marks.total("user:libsteps:step_once") == 997
    assert marks.signals["user:libsteps:step_once"]["let_go_ns"] is None


LOSSES = """
select m.time_ns, s.label, m.skipped, g.name from step_mark m join step_series s on s.id = m.series
join step_signal g on g.id = s.signal where g.name in ('torch:loss', 'torch:record') order by 1
"""


@pytest.mark.parametrize("pace", [200000, 0], ids=["5000-a-second", "unpaced"])
def test_losses_in_a_row(bench, some_runtime, records, pace):
    """However fast losses come, they show an evaluation, and between other marks their sum is exact."""
    steps, passes, rounds, evaluated = 401, 5, 5, 997  # fewer losses than the tolerated burst
    subject = start(bench, some_runtime, torch=records)
    tracer = bench.record(subject, "--buffer", str(64 << 20))
    for _ in range(rounds):
        subject.ask("call", "torch", "train", steps, passes, pace)
        subject.ask("call", "torch", "evaluate", evaluated, pace)
    subject.ask("call", "torch", "train", 1, passes, 0)
    marks = finish(bench, subject, tracer)
    calls = rounds * (steps * passes + evaluated) + passes
    loss = marks.signals["torch:loss"]
    assert loss["let_go_ns"] is None and loss["hits"] == calls
    assert marks.total("torch:loss") == calls

    sums, found, rows = [], 0, sqlite3.connect(bench.file).execute(LOSSES).fetchall()
    for _, label, skipped, name in rows:
        if name == "torch:loss":
            found += 1 + (skipped or 0)
        else:
            sums.append((label.split(".")[1].split("#")[0], found))
    assert len(rows) - len(sums) < calls - rounds * evaluated * 3 // 4
    wanted, found = [], 0
    for i in range(rounds * steps + 1):
        wanted.append(("zero_grad", found))
        found += passes
        wanted.append(("step", found))
        found += evaluated if i % steps == steps - 1 else 0
    assert sums == wanted

    report = harness.gctrace("report", bench.file, "-f", "json").stdout.decode()
    told = [r for r in map(json.loads, report.splitlines()) if r["type"] == "step"]
    assert len(told) == rounds * steps + 1
    gaps = [i for i, (a, b) in enumerate(zip(told, told[1:])) if a["end_ns"] < b["start_ns"]]
    assert gaps == [n * steps - 1 for n in range(1, rounds + 1)]


@conftest.full_only
def test_let_go_signal_returns(bench, some_runtime, libraries):
    """A hot warm-up does not blind the session: ten seconds later its calls are marks again."""
    subject = start(bench, some_runtime, blas=libraries["libcblas_test"])
    tracer = bench.record(subject, "-v")
    subject.ask("call", "blas", "gemm_many", 100003, 2, 3, 5)
    tracer.err.find(lambda line: "let go" in line)
    tracer.attached("blas:gemm", "is tried again")
    subject.ask("call", "blas", "gemm_many", 1999, 7, 11, 13)
    marks = finish(bench, subject, tracer)
    assert {s.label: s.marks for s in marks.of("blas:gemm")}["7x11x13"] == 1999
    assert marks.signals["blas:gemm"]["let_go_ns"] is None


def test_named_function_is_kept_however_hot(bench, some_runtime, libraries):
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "libsteps:step_once", "--buffer", str(64 << 20))
    subject.ask("call", "steps", "once_many", 100003)
    tracer.err.find(lambda line: "times a second" in line)
    marks = finish(bench, subject, tracer)
    assert marks.total("user:libsteps:step_once") == 100003
    assert marks.signals["user:libsteps:step_once"]["let_go_ns"] is None


def sleeps(pid):
    """How often the main thread of a process has gone to sleep."""
    with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as status:
        (line,) = [line for line in status if line.startswith("voluntary_ctxt_switches:")]
    return int(line.split()[1])


def test_lost_marks_are_counted(bench, some_runtime, libraries):
    """A ring too small: what is not recorded is counted, and no mark is recorded twice."""
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "libsteps:step_once", "--buffer", "4096")
    tracer.stop()
    subject.ask("call", "steps", "once_many", 50021)
    tracer.resume()
    # two turns later the ring has room again, so that no collection at python's exit is lost
    seen = sleeps(tracer.pid)
    harness.wait_until(lambda: sleeps(tracer.pid) >= seen + 3, what="the tracer's turn")
    marks = finish(bench, subject, tracer, complete=False)
    assert dict(marks.drops)["ring-full"] + marks.total("user:libsteps:step_once") == 50021
    assert 0 < marks.total("user:libsteps:step_once") < 50021


def test_refused_place_is_a_drop(bench, some_runtime, libraries):
    """A call that the kernel refuses to probe is reported, and never as one that was not made."""
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "libsteps:step_locked")
    subject.ask("call", "steps", "step_locked")
    subject.ask("collect", 23)
    marks = finish(bench, subject, tracer, complete=False)
    assert dict(marks.drops) == {"unprobed-step": 1} and marks.manual == 23
    assert marks.total("user:libsteps:step_locked") == 0
    assert "step_locked" in tracer.err.text() and "cannot be probed" in tracer.err.text()
    report = harness.gctrace("report", bench.file).stdout.decode()
    assert "1 place was found, but could not be probed" in report
    assert "INCOMPLETE" in report and "unprobed-step" in report


REFUSED = {
    "libsteps:step_onse": ("libsteps.so has no function step_onse", "did you mean step_once"),
    "libsteps:once": ("libsteps.so has no function once", "step_once"),
    "libstepz:step_once": ('begins with "libstepz"', "did you mean libsteps"),
    "usdt:steps:nothing": ("USDT probe steps:nothing", "readelf -n"),
}


@pytest.mark.parametrize("step", REFUSED, ids=lambda step: step.replace(":", "-"))
def test_not_found(bench, some_runtime, libraries, step):
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.tracer(
        "record", "-p", subject.pid, "-o", bench.file, "--step", step, ready=False
    )
    assert tracer.wait() == 3
    for part in REFUSED[step]:
        assert part in tracer.err.text()
    subject.quit()


def test_run(bench, some_runtime, libraries):
    """From the start: the library's probe comes soon after the library, and the program is not held up."""
    if some_runtime.in_root:
        pytest.skip("the libraries are built for this system's libc")
    line = ["run", "-v", "-o", bench.file, "--step", "libsteps:step_once", "--"]
    tracer = bench.keep(harness.Tracer(line + [some_runtime.exe, SUBJECT], ready=False))
    tracer.out.next()
    tracer.send(json.dumps(["load", "steps", str(libraries["steps"])]))
    tracer.out.next()
    tracer.attached("step_once", "libsteps.so")
    tracer.send(json.dumps(["call", "steps", "once_many", 809]))
    tracer.out.next()
    tracer.send(json.dumps(["quit"]))
    tracer.finish()
    marks = Marks(bench.file)
    assert marks.drops == []
    assert marks.total("user:libsteps:step_once") == 809


TORCH = """
import sys, torch
model = torch.nn.Linear(7, 3)
optimizer = torch.optim.Adam(model.parameters())
print("{}", flush=True)
steps, passes = map(int, sys.stdin.readline().split())
for _ in range(steps):
    optimizer.zero_grad()
    for _ in range(passes):
        torch.nn.functional.mse_loss(model(torch.ones(5, 7)), torch.zeros(5, 3)).backward()
    optimizer.step()
with torch.no_grad():
    for _ in range(11):
        torch.nn.functional.mse_loss(model(torch.ones(5, 7)), torch.zeros(5, 3))
"""


def has_torch():
    line = ["/usr/bin/python3", "-c", "import torch"]
    return subprocess.run(line, stderr=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("passes", [1, pytest.param(2, marks=conftest.full_only)])
def test_torch(bench, passes):
    """Debian's PyTorch: one backward call per pass, none in evaluation; the optimizer by its name."""
    conftest.need("torch", has_torch(), "no PyTorch here (python3-torch)")
    subject = bench.process(["/usr/bin/python3", "-c", TORCH])
    assert subject.out.next(60) is not None, subject.err.text()
    tracer = bench.record(subject)
    subject.send("97 %d" % passes)
    assert subject.wait(60) == 0
    tracer.finish()
    marks = Marks(bench.file)
    assert marks.drops == []
    assert marks.total("torch:backward") == 97 * passes
    # what the optimizer says of itself
    labels = {s.label: s.marks for s in marks.of("torch:record")}
    assert labels == {"Optimizer.step#Adam.step": 97, "Optimizer.zero_grad#Adam.zero_grad": 97}
    assert marks.total("torch:loss") == 97 * passes + 11


PLAIN_LOOP = """
import gc, os, sys
gc.disable()
print("ready", flush=True)
sys.stdin.readline()
for step in range(%d):
    os.getppid()
    sum(range(2000))
    if step %% 13 == 5:
        gc.collect()
"""


def test_a_plain_loop_marks_its_own_steps(bench, some_runtime):
    """What the report proposes where no library marks steps: a call that hardly anything else makes."""
    if some_runtime.in_root:
        pytest.skip("the program is not in that root")
    subject = bench.process([some_runtime.exe, "-c", PLAIN_LOOP % 211], env=some_runtime.environment)
    assert subject.out.next(30) == "ready"
    tracer = bench.record(subject, "--step", "libc:getppid")
    subject.send("go")
    assert subject.wait() == 0
    tracer.finish()
    records = bench.report()
    (track,) = records.summary["tracks"]
    assert track["steps"] == 211 and track["signal"] == "user:libc:getppid" and track["confidence"] == 1
    paused = [s["index"] for s in records.of("step") if s["pauses"]]
    assert paused == [i for i in range(211) if i % 13 == 5]
