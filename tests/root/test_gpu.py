"""What a CUPTI shim hands over, against what the recording has: every record once, or counted as lost."""

import json
import os
import signal
import sqlite3
import time

import pytest

import building
import conftest
import harness
from harness import gctrace, wait_until

SUBJECT = harness.HERE / "gpu_subject.py"
BUSY, WAIT, LAUNCHER, MEMORY, LOST, DEVICE, CLOCK, ASIDE, BEGIN, REFUSED, ALLOCATE = range(1, 12)
WAYS = {"sessions": "", "multi": "session", "perf": "session,multi"}
LOST_ON_THE_WAY, DROPPED_BY_CUPTI, OFF, ASIDE_FROM, NO_DRIVER = 1, 2, 3, 4, 7
NO_DEVICE = 0xFFFFFFFF
MS = 1000000


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    path = tmp_path_factory.mktemp("shim") / "libgctrace_cupti.so"
    building.library(path, "-I", harness.SOURCE / "bpf", harness.HERE / "gpu_shim.c")
    return path


class Subject(harness.Process):
    def __init__(self, argv, **options):
        super().__init__([*argv], **options)
        self.answer()

    def answer(self, seconds=60):
        line = self.out.next(seconds)
        assert line is not None, self.err.text()
        return json.loads(line)

    def ask(self, *command):
        self.send(json.dumps(command))
        return self.answer()["value"]

    def tell(self, *command):
        """For what has no answer, or one that comes later."""
        self.send(json.dumps(command))

    def quit(self):
        self.send(json.dumps(["quit"]))
        assert self.wait() == 0


class Facts:
    """The rows of a recording's tables."""

    def __init__(self, file):
        base = sqlite3.connect(file)
        base.row_factory = sqlite3.Row
        for table in ("device", "busy", "call", "launcher", "memory", "unknown"):
            rows = base.execute("select * from gpu_" + table).fetchall()
            setattr(self, table, [dict(row) for row in rows])
        self.pids = dict(base.execute("select id, pid from process").fetchall())
        self.drops = dict(base.execute("select cause, count from drops").fetchall())
        base.close()

    def spans(self, device=0):
        rows = [row for row in self.busy if row["device"] == device]
        return sorted((row["start_ns"], row["start_ns"] + row["duration_ns"]) for row in rows)


def start(bench, runtime, shim, prefix=()):
    return bench.keep(Subject([*prefix, runtime.exe, SUBJECT, shim], env=runtime.environment))


def begin(subject, tracer_is_up=True):
    """Waits for the semaphore, and says that everything is recorded from now on. Returns when that is."""
    if tracer_is_up:
        wait_until(lambda: subject.ask("attached") == 1, what="the semaphore")
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def spans(first, count, length, apart):
    return [(first + i * apart, first + i * apart + length) for i in range(count)]


def busy(span, **more):
    return dict(kind=BUSY, start_ns=span[0], end_ns=span[1], **more)


def to_the_end(subject, until, devices=(0,)):
    subject.ask("hand", *[dict(kind=BEGIN, device=d, start_ns=1, end_ns=until) for d in devices])


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setenv("GCTRACE_REFUSE", WAYS[request.param])
    return request.param


def pass_ms(ms):
    """Times that are handed over have passed: nothing else is waited for."""
    time.sleep(ms / 1000)


def test_exact(bench, some_runtime, shim, way):
    """Every field of every kind; prime numbers; one at a time, a few, as many as there may be."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject, "--gpu", "measure")
    t = begin(subject) + MS
    wanted = spans(t, 97, 11000, 70001)
    pass_ms(10)
    subject.ask("hand", dict(kind=BEGIN, start_ns=t))
    subject.ask("single", *[busy(s) for s in wanted[:23]])
    subject.ask("hand", *[busy(s) for s in wanted[23:26]])
    subject.ask("hand", *[busy(s) for s in wanted[26:33]])
    subject.ask("hand", *[busy(s) for s in wanted[33:97]])
    (tid,) = subject.ask("threads", 1, busy((t + 8 * MS, t + 8 * MS + 13), device=7, launch_ns=t + 5, previous_ns=t + 3,
                                            value=11, starved_ns=7, count=5))
    main = subject.pid
    subject.ask(
        "hand",
        dict(kind=WAIT, tid=main, device=NO_DEVICE, start_ns=t + 31, end_ns=t + 59, value=t + 53, flags=1 | 4),
        dict(kind=ALLOCATE, tid=main, device=2, start_ns=t + 61, end_ns=t + 67, flags=2 | 8),
        dict(kind=LAUNCHER, tid=main, count=1009, value=6007),
        dict(kind=LAUNCHER, tid=main, count=1013, value=6011),
        dict(kind=MEMORY, device=7, start_ns=t + 71, value=2**64 - 4099),
        dict(kind=DEVICE, device=7, name="NVIDIA H100 80GB HBM3", value=85520809984),
        dict(kind=CLOCK, value=1409),
        dict(kind=BEGIN, device=7, start_ns=t + 1, end_ns=0),
        dict(kind=BEGIN, start_ns=t, end_ns=wanted[-1][1] + 5),
    )
    subject.quit()
    tracer.finish()

    facts = Facts(bench.file)
    assert facts.drops == {}
    assert facts.spans() == wanted
    (seventh,) = [row for row in facts.busy if row["device"] == 7]
    assert (seventh["start_ns"], seventh["duration_ns"]) == (t + 8 * MS, 13)
    assert (seventh["launch_ns"], seventh["previous_ns"], seventh["tid"]) == (t + 5, t + 3, tid)
    assert (seventh["gaps_ns"], seventh["starved_ns"], seventh["unsure_ns"]) == (11, 7, 5)
    assert {row["unsure_ns"] for row in facts.busy if row["device"] == 0} == {None}
    rows = {row["device"]: row for row in facts.device}
    assert sorted(rows) == [0, 7]
    assert (rows[0]["seen_ns"], rows[0]["until_ns"], rows[0]["name"]) == (t, wanted[-1][1] + 5, "")
    assert (rows[7]["name"], rows[7]["memory_bytes"]) == ("NVIDIA H100 80GB HBM3", 85520809984)
    assert (rows[7]["seen_ns"], rows[7]["until_ns"]) == (t + 1, t + 1)
    assert rows[0]["clock_error_ns"] == rows[7]["clock_error_ns"] == 1409
    wait, allocation = facts.call
    assert (wait["kind"], wait["tid"], wait["device"]) == (1, main, None)
    assert (wait["start_ns"], wait["duration_ns"], wait["done_ns"]) == (t + 31, 28, t + 53)
    assert (allocation["kind"], allocation["device"], allocation["done_ns"]) == (2, 2, None)
    assert (wait["flags"], allocation["flags"]) == (1, 8)  # those that its kind has
    (launcher,) = facts.launcher
    assert (launcher["tid"], launcher["launches"], launcher["gap_ns"]) == (main, 1013, 6011)
    (memory,) = facts.memory
    assert (memory["device"], memory["time_ns"], memory["bytes"]) == (7, t + 71, -4099)
    assert facts.unknown == []
    assert {facts.pids[row["process"]] for row in facts.busy} == {subject.pid}


def test_joined(bench, some_runtime, shim):
    """Gaps of less than 50 us make no rows, whatever order the records come in; what is apart stays so."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject)
    t = begin(subject)
    pass_ms(10)
    near = spans(t, 61, 10000, 59999)  # gaps of 49,999 ns
    far = spans(t + 5 * MS, 7, 10000, 60000)  # of 50,000
    order = [near[i * 7 % 61] for i in range(61)]
    subject.ask("hand", dict(kind=BEGIN, start_ns=t))
    subject.ask("hand", *[busy(s) for s in near])
    subject.ask("hand", *[busy(s) for s in far])
    subject.ask("hand", *[busy(s, device=1) for s in order])
    to_the_end(subject, far[-1][1], (0, 1))
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    # A turn of the reader may end a row in between.
    assert len(facts.spans(0)) <= 10
    union = facts.spans(0)
    assert union[0][0] == near[0][0] and union[-7:] == far
    assert sum(row["gaps_ns"] for row in facts.busy if row["device"] == 0) <= 60 * 49999
    covered = sorted(facts.spans(1))
    assert covered[0][0] == near[0][0] and max(end for _, end in covered) == near[-1][1]


def test_only_the_target(bench, some_runtime, shim, way):
    """Another process with the same shim, of which nobody asked anything, stays dormant; and after the tracer, all do."""
    subject, other = (start(bench, some_runtime, shim) for _ in range(2))
    tracer = bench.record(subject)
    t = begin(subject)
    assert other.ask("attached") == 0
    other.ask("hand", busy((t, t + 1)))
    subject.ask("hand", busy((t, t + 11)))
    assert tracer.interrupt() == 0
    assert subject.ask("attached") == other.ask("attached") == 0
    subject.ask("hand", busy((t + MS, t + MS + 11)))
    assert Facts(bench.file).spans() == [(t, t + 11)]
    assert [row["until_ns"] for row in Facts(bench.file).device] == [None]
    other.quit()
    subject.quit()


def test_killed_tracer(bench, some_runtime, shim, way):
    """A tracer that dies lets the shim sleep again."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject)
    begin(subject)
    tracer.kill()
    wait_until(lambda: subject.ask("attached") == 0, what="the semaphore's end")
    subject.quit()


def test_off(bench, some_runtime, shim):
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject, "--gpu", "off")
    t = begin(subject, tracer_is_up=False)
    assert subject.ask("attached") == 0
    subject.ask("hand", busy((t, t + 11)))
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    assert facts.busy == facts.device == []


def test_insisted_without_shim(bench, some_runtime):
    target = bench.oracle(some_runtime)
    done = gctrace("record", "-p", target.pid, "-o", bench.file, "--gpu", "measure")
    assert done.returncode == 3
    assert b"CUDA_INJECTION64_PATH" in done.stderr
    assert gctrace("record", "-p", target.pid, "--gpu", "guess").returncode == 2
    target.quit()


def test_useless_shim(bench, some_runtime, tmp_path):
    """One that is not as gctrace knows it: said, a drop, and refused where GPUs were insisted on; pauses are seen."""
    useless = tmp_path / "libgctrace_cupti.so"
    building.library(useless, "-O0", "-I", harness.SOURCE / "bpf", harness.HERE / "gpu_shim.c")
    subject = start(bench, some_runtime, useless)
    done = gctrace("record", "-p", subject.pid, "-o", bench.file, "--gpu", "measure")
    assert done.returncode == 3 and b"registers" in done.stderr
    tracer = bench.record(subject)
    subject.ask("collect", 13)
    subject.quit()
    tracer.finish()
    assert tracer.err.text().count("registers") == 1
    facts = Facts(bench.file)
    assert facts.drops == {"unprobed-gpu": 1} and facts.device == []
    assert len(bench.report().of_pid(subject.pid, "manual")) == 13


def test_loaded_later(bench, some_runtime, shim, way):
    """CUDA loads the shim when it is first used: long after the tracer came."""
    subject = bench.keep(Subject([some_runtime.exe, SUBJECT], env=some_runtime.environment))
    tracer = bench.record(subject, "-v")
    subject.ask("load", str(shim))
    tracer.attached("gctrace:gpu")
    t = begin(subject)
    subject.ask("hand", *[busy(s) for s in spans(t - 20 * MS, 13, 11, MS)])  # before the attach, most of them
    pass_ms(20)
    subject.ask("hand", *[busy(s) for s in spans(t, 13, 11, MS)])
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    assert facts.spans()[-13:] == spans(t, 13, 11, MS)
    assert facts.drops == {}


def test_fork_and_exec(bench, some_runtime, shim, way):
    """A forked child hands over nothing that counts; what the process becomes by exec does."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject, "-v")
    t = begin(subject)
    pass_ms(5)
    subject.ask("hand", dict(kind=BEGIN, start_ns=t), busy((t, t + 11)))
    subject.ask("fork", "hand", busy((t + MS, t + MS + 11)))
    subject.ask("hand", busy((t + 2 * MS, t + 2 * MS + 11)), dict(kind=BEGIN, start_ns=t, end_ns=t + 3 * MS))
    subject.tell("exec", str(shim))
    subject.answer()
    wait_until(lambda: tracer.err.text().count("gctrace:gpu") == 2, what="the second probe")
    t2 = begin(subject)
    pass_ms(5)
    subject.ask("hand", dict(kind=BEGIN, start_ns=t2), busy((t2, t2 + 13)))
    subject.ask("hand", dict(kind=BEGIN, start_ns=t2, end_ns=t2 + MS))
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    assert facts.spans() == [(t, t + 11), (t + 2 * MS, t + 2 * MS + 11), (t2, t2 + 13)]
    assert {facts.pids[row["process"]] for row in facts.busy} == {subject.pid}
    # In between nobody listened.
    (gap,) = facts.unknown
    assert (gap["start_ns"], gap["end_ns"], gap["why"], gap["records"]) == (t + 3 * MS, t2, OFF, 0)
    (device,) = facts.device
    assert (device["seen_ns"], device["until_ns"]) == (t, t2 + MS)


def test_threads_of_a_namespace(bench, some_runtime, shim):
    """The shim numbers threads as its PID namespace does, the recording as ours does."""
    bench.need_unshare()
    prefix = ["unshare", "-p", "-m", "--fork", "--kill-child", "--mount-proc"]
    subject = start(bench, some_runtime, shim, prefix)
    (outer,) = harness.descendants(subject.pid)
    tracer = bench.record(outer)
    t = begin(subject)
    pass_ms(40)
    inner = subject.ask("threads", 5, busy((t, t + 11)))
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    tids = [row["tid"] for row in facts.busy]
    assert len(tids) == len(set(tids)) == 5 and None not in tids
    assert not set(tids) & set(inner) and all(tid > outer for tid in tids)


def test_threads_that_are_not_there(bench, some_runtime, shim):
    """Whoever names threads of nobody in its namespace names nobody."""
    bench.need_unshare()
    prefix = ["unshare", "-p", "-m", "--fork", "--kill-child", "--mount-proc"]
    subject = start(bench, some_runtime, shim, prefix)
    (outer,) = harness.descendants(subject.pid)
    tracer = bench.record(outer)
    t = begin(subject)
    pass_ms(80)
    records = [busy(s, tid=1000 + i) for i, s in enumerate(spans(t, 61, 11, MS))]
    subject.ask("hand", *records)
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    assert len(facts.busy) == 61 and {row["tid"] for row in facts.busy} == {None}


def test_a_million_a_second(bench, some_runtime, shim, way):
    """Kernels without gaps, of eight devices: each is in the recording, or counted as lost; a second is a few rows."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject)
    t = begin(subject)
    pass_ms(1100)
    taken = subject.ask("flood", 1000003, 1000000, 8, 8000, 8000)
    tracer.caught_up()  # or what follows may be lost, too
    to_the_end(subject, time.clock_gettime_ns(time.CLOCK_MONOTONIC), range(8))
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    lost = facts.drops.get("gpu-records", 0)
    print("%.2f s, %d rows, %d lost" % (taken / 1e9, len(facts.busy), lost))
    assert set(facts.drops) <= {"gpu-records"}
    assert sum(row["records"] for row in facts.unknown) == lost
    # Each is 8,000 ns that no other one has.
    assert sum(row["duration_ns"] - row["gaps_ns"] for row in facts.busy) == 8000 * (1000003 - lost)
    assert len(facts.busy) < 10000
    assert all(row["start_ns"] >= t for row in facts.busy + facts.unknown)


def test_a_million_apart(bench, some_runtime, shim):
    """The same with gaps between all of them: each is a row, or counted as lost."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject)
    begin(subject)
    pass_ms(1200)
    taken = subject.ask("flood", 1000003, 1000000, 61, 10000, 64000)
    tracer.caught_up()  # or what follows may be lost, too
    to_the_end(subject, time.clock_gettime_ns(time.CLOCK_MONOTONIC), range(61))
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    lost = facts.drops.get("gpu-records", 0)
    print("%.2f s, %d lost" % (taken / 1e9, lost))
    assert sum(row["records"] for row in facts.unknown) == lost
    assert len(facts.busy) == 1000003 - lost
    assert {row["duration_ns"] for row in facts.busy} == {10000}


def test_a_full_ring(bench, some_runtime, shim):
    """The reader stands still: how much is lost, and of what time, is told; pauses are not lost to it."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject, "--buffer", "64K")
    t = begin(subject)
    pass_ms(200)
    os.kill(tracer.pid, signal.SIGSTOP)
    subject.ask("collect", 7)
    subject.ask("flood", 100003, 10**9, 1, 1000, 1000)
    subject.ask("collect", 11)
    os.kill(tracer.pid, signal.SIGCONT)
    pass_ms(300)
    to_the_end(subject, time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    lost = facts.drops["gpu-records"]
    assert set(facts.drops) == {"gpu-records"} and 100003 - 16 * 64 < lost < 100003
    (told,) = facts.unknown
    assert (told["records"], told["why"]) == (lost, LOST_ON_THE_WAY)
    # Each is 1,000 ns that no other one has: of that time nothing is in both, nor in none.
    assert sum(row["duration_ns"] - row["gaps_ns"] for row in facts.busy) == 1000 * (100003 - lost)
    assert told["end_ns"] - told["start_ns"] == 1000 * lost
    assert told["start_ns"] >= t
    assert len(bench.report().of_pid(subject.pid, "manual")) == 18


def test_hostile(bench, some_runtime, shim, way):
    """Addresses of nothing, too many, times that go back, kinds that are none: each is counted, and nothing is idle."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject)
    t = begin(subject)
    pass_ms(5)
    good = busy((t, t + 11))
    subject.ask("hand", dict(kind=BEGIN, start_ns=t), good)
    subject.ask("raw", 0, 3)
    subject.ask("raw", 2**64 - 4096, 64)
    subject.ask("raw", 4096, 2**31)
    subject.ask("raw", 4096, 2**32 - 1)
    subject.ask("raw", 0, 0)
    bad = [
        busy((t + 11, t)),
        busy((t, 2**63)),
        busy((2**64 - 5, 2**64 - 1)),
        busy((0, 5)),
        busy((t, t + 11), value=12),
        busy((t, t + 11), value=5, starved_ns=6),
        busy((t, t + 11), device=NO_DEVICE),
        dict(kind=0),
        dict(kind=777),
        dict(kind=BEGIN, start_ns=t, end_ns=t - 1),
        dict(kind=BEGIN, start_ns=2**63),
        dict(kind=REFUSED, start_ns=t, value=9999),
        dict(kind=CLOCK, value=2**64 - 1),
    ]
    subject.ask("hand", *bad)
    subject.ask("hand", *[busy((t, t + 11), device=d) for d in range(1000, 1061)])
    subject.ask("hand", *[busy((t, t + 11), device=d) for d in range(2000, 2061)])
    to_the_end(subject, t + MS)
    subject.ask("collect", 23)
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    assert facts.drops["gpu-records"] == 3 + 64 + 2**31 + 2**32 - 1
    # 64 devices are believed: 0, 61 and 2 more.
    assert facts.drops["bad-record"] == len(bad) + 59
    assert len(facts.device) == 64
    assert facts.spans() == [(t, t + 11)]
    assert sum(row["records"] for row in facts.unknown) == facts.drops["gpu-records"] + facts.drops["bad-record"]
    assert all(row["start_ns"] is None for row in facts.unknown)
    records = bench.report()
    assert len(records.of_pid(subject.pid, "manual")) == 23


def test_what_is_missing(bench, some_runtime, shim):
    """CUPTI's own drops, another user of it, and that nothing can be recorded."""
    subject = start(bench, some_runtime, shim)
    tracer = bench.record(subject)
    t = begin(subject)
    pass_ms(10)
    subject.ask(
        "hand",
        dict(kind=BEGIN, start_ns=t),
        busy((t, t + 11)),
        dict(kind=LOST, count=101, start_ns=t + MS, end_ns=t + 2 * MS),
        dict(kind=LOST, device=3, start_ns=t + MS, end_ns=t + 2 * MS),
        dict(kind=BEGIN, start_ns=t, end_ns=t + 3 * MS),
        dict(kind=ASIDE, start_ns=t + 3 * MS),
        dict(kind=BEGIN, start_ns=t + 5 * MS),
        dict(kind=BEGIN, start_ns=t + 5 * MS, end_ns=t + 6 * MS),
        dict(kind=REFUSED, start_ns=t + 6 * MS, value=3),
    )
    subject.quit()
    tracer.finish()
    facts = Facts(bench.file)
    assert facts.drops == {"cupti-records": 101}
    rows = [(row["device"], row["start_ns"] - t, row["end_ns"] - t, row["records"], row["why"]) for row in facts.unknown]
    assert rows == [
        (0, MS, 2 * MS, 101, DROPPED_BY_CUPTI),
        (3, MS, 2 * MS, 0, DROPPED_BY_CUPTI),
        (None, 3 * MS, 3 * MS, 0, ASIDE_FROM),
        (0, 3 * MS, 5 * MS, 0, OFF),
        (None, 6 * MS, 6 * MS, 0, NO_DRIVER),
    ]
    assert "another user of CUPTI" in tracer.err.text()
    assert "no driver" in tracer.err.text()


def test_second_tracer(bench, some_runtime, shim, way):
    """One that comes while another listens has not heard the begin, nor goes back before itself."""
    subject = start(bench, some_runtime, shim)
    first = bench.record(subject)
    t = begin(subject)
    subject.ask("hand", dict(kind=BEGIN, start_ns=t), busy((t, t + 11)))
    late = bench.scratch / "late.gct"
    second = bench.tracer("record", "-p", subject.pid, "-o", late)
    assert subject.ask("attached") == 1  # the kernel counts the probe, not who listens
    t2 = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    pass_ms(1)
    subject.ask("hand", busy((t + 100000, t2 + 17)), dict(kind=BEGIN, start_ns=t, end_ns=t2 + 29))
    subject.quit()
    first.finish()
    second.finish()
    assert Facts(bench.file).spans() == [(t, t + 11), (t + 100000, t2 + 17)]
    facts = Facts(late)
    ((start_ns, end_ns),) = facts.spans()
    (device,) = facts.device
    assert t < start_ns == device["seen_ns"] < t2 and end_ns == t2 + 17 and device["until_ns"] == t2 + 29


def test_doctor(bench, some_runtime, shim, tmp_path):
    """The shim is there, or not, or is not ours."""
    rows = {}

    def ask(library):
        subject = bench.keep(Subject([some_runtime.exe, SUBJECT], env=some_runtime.environment))
        if library:
            subject.ask("load", str(library))
        lines = gctrace("doctor", "-p", subject.pid, "--json").stdout.splitlines()
        subject.quit()
        rows = [json.loads(line) for line in lines]
        return [row for row in rows if row["question"] == "CUPTI shim"]

    assert ask(None) == rows.get("none", [])
    (row,) = ask(shim)
    assert row["ok"] and row["answer"] == str(shim)
    driver = tmp_path / "libcuda.so.1"
    building.library(driver, "-I", harness.SOURCE / "bpf", harness.HERE / "gpu_shim.c")
    (row,) = ask(driver)
    assert not row["ok"] and "CUDA_INJECTION64_PATH" in row["remedy"]
    slow = tmp_path / "libgctrace_cupti.so"
    building.library(slow, "-O0", "-I", harness.SOURCE / "bpf", harness.HERE / "gpu_shim.c")
    (row,) = ask(slow)
    assert not row["ok"] and "registers" in row["remedy"]


def test_run_names_the_shim(bench, some_runtime, shim, monkeypatch):
    """CUDA is told where it is, unless the user has told it something."""
    monkeypatch.setenv("GCTRACE_SHIM", str(shim))
    monkeypatch.delenv("CUDA_INJECTION64_PATH", raising=False)
    monkeypatch.delenv("NVTX_INJECTION64_PATH", raising=False)
    say = [some_runtime.exe, "-c", "import os; print(os.environ.get('CUDA_INJECTION64_PATH'))"]

    def run(*options):
        return gctrace("run", "-o", bench.file, *options, "--", *say).stdout.decode().strip()

    assert run() == str(shim)
    say[2] = say[2].replace("CUDA_", "NVTX_")
    assert run() == str(shim)
    monkeypatch.setenv("NVTX_INJECTION64_PATH", "/theirs.so")
    assert run() == "/theirs.so"
    say[2] = say[2].replace("NVTX_", "CUDA_")
    assert run() == str(shim)
    assert run("--gpu", "off") == "None"
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/theirs.so")
    assert run() == "/theirs.so"
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "")
    assert run() == ""
    monkeypatch.delenv("CUDA_INJECTION64_PATH")
    monkeypatch.setenv("GCTRACE_SHIM", "/nowhere.so")
    assert run() == "None"
