"""gctrace in a pid namespace of its own, as in a container with its workload: what holds outside
holds there, in the numbers of that namespace."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import conftest
import harness
import jvm_check
import jvm_harness
import test_children
import test_counts
import test_hotspot_places
import test_live
import test_places
from harness import wait_until
from test_counts import check_clean, check_sums
from test_signals import SUBJECT, Subject, finish, libraries

LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
UNSHARE = ["unshare", "-m", "-p", "--fork", "--kill-child", "--mount-proc"]
# In a namespace of its own, as its process number 97.
AS_97 = UNSHARE + ["sh", "-c", 'echo 96 >%s && "$@"; exit $?' % LAST_PID, "sh"]


def numbers(pid):
    """The numbers of a process or thread, from our pid namespace inwards."""
    for line in Path("/proc/%s/status" % pid).read_text().splitlines():
        if line.startswith("NSpid:"):
            return [int(word) for word in line.split()[1:]]


class Namespace(conftest.Bench):
    """A bench whose tracer and targets run in a pid namespace; their .pid is their number there."""

    def __init__(self, scratch):
        super().__init__(scratch)
        self.need_unshare()
        self.init = super().process(UNSHARE + ["sh", "-c", "echo up && exec cat"])
        assert self.init.out.next() == "up"
        (init,) = harness.descendants(self.init.pid)
        self.enter = ["nsenter", "-t", str(init), "-m", "-p"]

    def inside(self, process):
        """Its number in the namespace; nsenter, which started it there, stays outside."""
        wait_until(lambda: harness.descendants(process.popen.pid), what="a child of nsenter")
        process.pid = numbers(harness.descendants(process.popen.pid)[0])[1]
        return process

    def oracle(self, *args, prefix=(), **options):
        return self.inside(super().oracle(*args, prefix=self.enter + list(prefix), **options))

    def process(self, argv, **options):
        return self.inside(super().process(self.enter + [str(a) for a in argv], **options))

    def next_is(self, pid):
        """The next process of the namespace will have this number."""
        command = "echo %d >%s" % (pid - 1, LAST_PID)
        subprocess.run(self.enter + ["sh", "-c", command], check=True)


@pytest.fixture(params=["", "session,multi"], ids=["best", "perf"])
def way(request, monkeypatch):
    monkeypatch.setenv("GCTRACE_REFUSE", request.param)


by_each_way = pytest.mark.usefixtures("way")


@pytest.fixture
def space(tmp_path, monkeypatch):
    made = Namespace(tmp_path)
    wrapper = tmp_path / "gctrace"
    command = " ".join(map(shlex.quote, made.enter + [os.path.abspath(os.environ["GCTRACE"])]))
    wrapper.write_text('#!/bin/sh\nexec %s "$@"\n' % command)
    wrapper.chmod(0o755)
    monkeypatch.setenv("GCTRACE", str(wrapper))
    yield made
    made.close()


@by_each_way
def test_exact(space, some_runtime):
    """Every pause, by the numbers that the target's process and threads have in the namespace."""
    target = space.oracle(some_runtime)
    assert target.pid == target.ready["pid"] != target.popen.pid
    tracer = space.record(target)
    quiet = target.ask("collect 23 11 7")
    threads = target.ask("threads 5")
    assert target.quit() == 0
    tracer.finish()

    records = space.report()
    check_clean(records)
    check_sums(records.pauses, quiet, threads)
    process = records.process(target.pid)
    assert process["ns_pid"] == target.pid and process["exit_ns"] and process["missed"] == 0
    seen = [str(p["tid"]) for p in records.of_pid(target.pid)]
    wanted = dict(threads["per_thread"])
    wanted[str(quiet["tid"])] = 41
    assert {tid: seen.count(tid) for tid in seen} == wanted


def test_disabled(space, some_runtime):
    test_counts.test_disabled(space, some_runtime)


@by_each_way
def test_forked_workers(space, some_runtime):
    test_children.test_forked_workers(space, some_runtime, None)
    records = space.report()
    assert len(records.processes) == 21 and all(p["exit_ns"] for p in records.processes)


def test_spawned_workers(space, some_runtime):
    test_children.test_spawned_workers(space, some_runtime)


def test_child_in_a_namespace_below(space, some_runtime):
    """The target becomes a program that forks into a new namespace, in which its number is 1."""
    if some_runtime.in_root:
        pytest.skip("the root may have no unshare")
    target = space.oracle(some_runtime)
    tracer = space.record(target)
    quiet = target.ask("collect 5 3 2")
    program = [shutil.which(UNSHARE[0])] + UNSHARE[1:]
    line = some_runtime.start_line(space.script(some_runtime))
    target.send("exec " + " ".join(program + line))
    assert target.answer()["pid"] == 1
    books = target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()

    records = space.report()
    check_sums(records.of_pid(target.pid), quiet)
    (child,) = {p["pid"] for p in records.pauses} - {target.pid}
    check_sums(records.of_pid(child, "manual"), books)
    process = records.process(child)
    assert (process["ppid"], process["ns_pid"]) == (target.pid, 1)


def test_exec(space, some_runtime):
    test_children.test_exec_of_itself(space, some_runtime)


def test_live_json(space, some_runtime):
    test_live.test_live_json(space, some_runtime)


def test_run(space, some_runtime):
    test_live.test_run_from_the_first_collection(space, some_runtime)


def test_late_dlopen(space):
    """`gctrace run` in there, of a program that loads libpython later."""
    test_children.test_late_dlopen(space)


def test_watchpoint(space, some_runtime):
    """Its probes are on threads, which perf must find by the same numbers."""
    test_children.test_forked_workers(space, some_runtime, "watchpoint")


@by_each_way
def test_steps(space, some_runtime, libraries):
    if some_runtime.in_root:
        pytest.skip("the libraries are built for this system's libc")
    line = space.enter + [some_runtime.exe, str(SUBJECT)]
    subject = space.inside(space.keep(Subject(line, env=some_runtime.environment)))
    subject.ask("load", "steps", str(libraries["steps"]))
    tracer = space.record(subject, "--step", "libsteps:step_once")
    tids = subject.ask("threads", 5, "steps", "once_many", 211)
    (child,) = subject.ask("fork", "steps", "once_many", 307)
    marks = finish(space, subject, tracer)
    wanted = {(subject.pid, tid): 211 for tid in tids}
    wanted[child, child] = 307
    assert {(s.pid, s.tid): s.marks for s in marks.series} == wanted


def test_namespace_below(space, some_runtime):
    """A target that is the first process of a namespace within gctrace's."""
    line = space.enter + UNSHARE + some_runtime.start_line(space.script(some_runtime))
    oracle = space.keep(harness.Oracle(line, env=some_runtime.environment))
    _, number, innermost = numbers(harness.descendants(oracle.popen.pid)[-1])
    assert oracle.ready["pid"] == innermost == 1
    test_places.check_namespaced(space, oracle, number)


@by_each_way
@pytest.mark.parametrize("where", ["host", "beside", "below"])
def test_stranger(space, some_runtime, where):
    """A process of another namespace, on the same files, whose number there is the target's."""
    if not LAST_PID.exists():
        pytest.skip("no number can be chosen: the kernel has no CONFIG_CHECKPOINT_RESTORE")
    prefix = {"host": [], "beside": AS_97, "below": space.enter + AS_97}[where]
    stranger = conftest.Bench.oracle(space, some_runtime, prefix=prefix)
    space.next_is(stranger.ready["pid"])
    target = space.oracle(some_runtime)
    assert target.pid == stranger.ready["pid"] != 1
    tracer = space.record(target)
    stranger.ask("collect 101 11 7")
    books = target.ask("collect 23 11 7")
    stranger.ask("collect 5 3 2")
    assert target.quit() == 0
    tracer.finish()
    assert stranger.quit() == 0

    records = space.report()
    check_clean(records)
    check_sums(records.pauses, books)
    assert [p["pid"] for p in records.processes] == [target.pid]


@by_each_way
@pytest.mark.realtime
@pytest.mark.parametrize("nested", [False, True], ids=["same", "below"])
@jvm_check.each("jdk", jvm_check.newest([r for r in jvm_check.PLAIN if r.feature == 17]))
def test_jvm(space, jdk, nested):
    """Safepoints as -Xlog has them, with the threads of the JVM by their numbers in here."""
    prefix = space.enter + (UNSHARE if nested else [])
    args = ["--rounds", 23, "--hold", 1]
    start = test_hotspot_places.train
    jvm = start(space, jdk, "serial", args, "Loop", prefix=prefix, heap="16m")
    outer = harness.descendants(jvm.popen.pid)[-1]
    jvm.pid = numbers(outer)[1]
    tracer, (watched,) = jvm_check.trace(space, [jvm])
    late = numbers(jvm_harness.hold_loop(jvm, outer))[1]
    jvm.go()
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(space.report())
    check_clean(watched.records)
    jvm_check.check_exact(watched.pairs())
    assert watched.process["ns_pid"] == (1 if nested else jvm.pid)
    assert late in {p["late_tid"] for p in watched.pauses}
