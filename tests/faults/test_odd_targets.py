"""Targets that are stopped, traced by others, confined, frozen or crowded: they live, and what they collect
is seen or said to be missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import conftest
import harness
import snippets

HERE = Path(__file__).resolve().parent
ROUNDS = 23
THREADS = 1009
COLLECT = "for _ in range(%d): gc.collect(1)" % ROUNDS


def exact(bench, target, tracer, rounds=ROUNDS):
    """Each collection is there, nothing is missed, and the target has ended as it does untraced."""
    before = snippets.books(target)
    target.run(COLLECT)
    after = snippets.books(target)
    target.quit()
    tracer.finish()
    records = bench.report()
    assert records.recording["complete"] is True and not records.drops
    assert after[1] - before[1] == rounds
    assert [p["generation"] for p in records.pauses if p["cause"] == "manual"] == [1] * rounds
    assert not records.process(target.pid)["missed"]


def state(pid):
    return Path("/proc/%d/stat" % pid).read_text().rpartition(") ")[2].split()[0]


def test_stopped(bench, runtime):
    """gctrace attaches to a process stopped by SIGSTOP, and leaves it stopped."""
    target = snippets.start(bench, runtime)
    target.stop()
    tracer = bench.record(target)
    assert state(target.pid) == "T"
    target.resume()
    exact(bench, target, tracer)


def test_stopped_to_the_end(bench, some_runtime):
    target = snippets.start(bench, some_runtime)
    target.stop()
    tracer = bench.record(target)
    assert tracer.interrupt() == 0
    assert state(target.pid) == "T"
    target.resume()
    target.run("gc.collect()")
    target.quit()


def traced_by_strace(bench, pid):
    conftest.need("strace", shutil.which("strace"), "no strace here")
    return bench.process(["strace", "-f", "-o", "/dev/null", "-p", pid])


def traced_by_gdb(bench, pid):
    conftest.need("gdb", shutil.which("gdb"), "no gdb here")
    return bench.process(["gdb", "-nx", "-batch", "-ex", "set pagination off", "-ex", "continue", "-p", pid])


def tracer_of(pid):
    status = Path("/proc/%d/status" % pid).read_text()
    return int(status.partition("TracerPid:")[2].split()[0])


@pytest.mark.parametrize("first", (True, False), ids=("before", "after"))
@pytest.mark.parametrize("other", (traced_by_strace, traced_by_gdb))
def test_traced(bench, runtime, other, first):
    """Uprobes' breakpoints never reach a ptrace tracer, whichever attached first."""
    target = snippets.start(bench, runtime)
    debugger = tracer = None
    if not first:
        tracer = bench.record(target)
    debugger = other(bench, target.pid)
    harness.wait_until(lambda: tracer_of(target.pid) == debugger.pid, what="ptrace")
    if first:
        tracer = bench.record(target)
    target.run("pass")  # it goes on
    exact(bench, target, tracer)
    debugger.wait()


UNDUMPABLE = """
import ctypes
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0  # PR_SET_DUMPABLE
"""


def test_undumpable(bench, some_runtime):
    """As after setuid(2): /proc/PID belongs to root then, and gctrace is root."""
    target = snippets.start(bench, some_runtime)
    target.run(UNDUMPABLE)
    exact(bench, target, bench.record(target))


SETUID = "os.setgroups([]); os.setgid(65534); os.setuid(65534)"


def test_setuid_under_trace(bench, some_runtime):
    target = snippets.start(bench, some_runtime)
    tracer = bench.record(target)
    target.run(SETUID)
    exact(bench, target, tracer)


# The kernel's own calls by which uprobes return to it; no filter may count them against the program.
OWN_CALLS = (335, 336)


@pytest.mark.parametrize("answer", ("kill", "errno"))
def test_seccomp(bench, runtime, answer):
    """A filter that forbids them neither kills the target nor blinds us."""
    prefix = [sys.executable, HERE / "confined.py", answer] + [str(n) for n in OWN_CALLS] + ["--"]
    target = snippets.start(bench, runtime, prefix=prefix)
    assert "Seccomp:\t2" in Path("/proc/%d/status" % target.pid).read_text()
    exact(bench, target, bench.record(target))


class Freezer:
    def __init__(self, bench):
        v1, v2 = Path("/sys/fs/cgroup/freezer"), Path("/sys/fs/cgroup")
        root = next((r for r in (v1, v2) if (r / "cgroup.procs").exists()), None)
        conftest.need("freezer", root, "no cgroups here")
        self.folder = root / ("gctrace-frozen-%d" % os.getpid())
        self.folder.mkdir()
        bench.keep(self)
        self.words = ("FROZEN", "THAWED") if root == v1 else ("1", "0")
        self.file = self.folder / ("freezer.state" if root == v1 else "cgroup.freeze")

    def take(self, process):
        (self.folder / "cgroup.procs").write_text(str(process.pid))

    def freeze(self, frozen):
        self.file.write_text(self.words[not frozen])
        if self.folder.parent.name == "freezer":
            wanted = self.words[not frozen]
            harness.wait_until(lambda: self.file.read_text().strip() == wanted, what=wanted)

    def kill(self):
        self.folder.rmdir()


def test_frozen(bench, runtime):
    """Attached, left and attached again while it is frozen; then it goes on."""
    freezer = Freezer(bench)
    target = snippets.start(bench, runtime)
    freezer.take(target)
    freezer.freeze(True)
    try:
        assert bench.record(target).interrupt() == 0
        bench.file.unlink()
        tracer = bench.record(target)
    finally:
        freezer.freeze(False)
    exact(bench, target, tracer)


CROWD = """
gate = threading.Barrier(%d)
def wait_and_collect():
    gate.wait()
    gc.collect(0)
threading.stack_size(1 << 16)
crowd = [threading.Thread(target=wait_and_collect) for _ in range(%d)]
for t in crowd: t.start()
""" % (THREADS + 1, THREADS)
LET_GO = "gate.wait(); [t.join() for t in crowd]"


def test_crowd_of_threads(bench, runtime):
    target = snippets.start(bench, runtime)
    target.run(CROWD)
    tracer = bench.record(target)
    before = snippets.books(target)
    target.run(LET_GO)
    done = snippets.books(target)[0] - before[0]
    target.quit()
    tracer.finish()
    records = bench.report()
    assert records.recording["complete"] is True and not records.drops
    # a call while another thread collects does nothing, and is no collection in the books either
    seen = [p for p in records.pauses if p["cause"] == "manual"]
    assert len(seen) == done and not records.process(target.pid)["missed"]
    tids = {p["tid"] for p in seen}
    assert len(tids) == done


@pytest.mark.parametrize("count", (2, 3))
def test_several_tracers(bench, runtime, count):
    """Each sees all, and leaves the others' probes alone."""
    target = snippets.start(bench, runtime)
    files = [bench.scratch / ("%d.gct" % i) for i in range(count)]
    tracers = [bench.tracer("record", "-p", target.pid, "-o", f) for f in files]
    target.run(COLLECT)
    assert tracers[0].interrupt() == 0
    target.run(COLLECT)
    target.quit()
    for tracer in tracers[1:]:
        tracer.finish()
    for i, file in enumerate(files):
        records = harness.report(file)
        assert records.recording["complete"] is True and not records.drops
        assert len(records.pauses) == (ROUNDS if i == 0 else 2 * ROUNDS)


def test_several_tracers_at_once(bench, some_runtime):
    """They attach at the same time."""
    target = snippets.start(bench, some_runtime)
    files = [bench.scratch / ("%d.gct" % i) for i in range(3)]
    tracers = [bench.tracer("record", "-p", target.pid, "-o", f, ready=False) for f in files]
    for tracer in tracers:
        tracer.wait_ready()
    target.run(COLLECT)
    target.quit()
    for tracer, file in zip(tracers, files):
        tracer.finish()
        assert len(harness.report(file).pauses) == ROUNDS


def test_user_namespace(bench, some_runtime):
    """The target is root in namespaces of its own, with other numbers."""
    bench.need_unshare()
    prefix = ["unshare", "-Ur", "-p", "-m", "-n", "-u", "-i", "--fork", "--kill-child", "--mount-proc"]
    target = snippets.start(bench, some_runtime, prefix=prefix)
    outer, (target.pid,) = target.pid, harness.descendants(target.pid)
    assert outer != target.pid
    exact(bench, target, bench.record(target))


def test_hidepid(bench, some_runtime):
    """A /proc that hides processes from others does not hide them from root."""
    bench.need_unshare()
    target = snippets.start(bench, some_runtime)
    enter = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\""
    line = ["unshare", "-m", "sh", "-c", enter, "sh", os.environ["GCTRACE"]]
    tracer = bench.process(line + ["record", "-p", target.pid, "-o", bench.file])
    assert tracer.err.find(lambda l: "tracing" in l), tracer.err.text()
    target.run(COLLECT)
    target.quit()
    assert tracer.wait() == 0
    assert len(bench.report().pauses) == ROUNDS
