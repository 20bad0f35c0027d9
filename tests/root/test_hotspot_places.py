"""JVMs that live elsewhere, share their files, start or end while they are traced."""

import os
import shutil
import signal
import subprocess
import time

import pytest

import harness
import jvm_check
import jvm_harness
from harness import descendants, wait_until
from jvm_check import Watched, check_clean
from jvm_harness import JavaRuntime

ROUND = ["--steps", 67, "--gc-every", 13]
CALLS = 5
CHILD_CALLS = 1009  # half a second on a fast machine: longer than it takes to get to know a JVM
COLLECT = ("SerialGCCollect", "GenCollectFull")
NAMESPACES = ["unshare", "-p", "-m", "--fork", "--kill-child", "--mount-proc"]


def train(bench, jdk, collector="parallel", args=ROUND, program="Train", **options):
    options.setdefault("heap", "128m")
    return jvm_check.start(bench, jdk, program, collector=collector, args=args, **options)


def check_round(watched):
    check_clean(watched.records)
    jvm_check.check_exact(watched.pairs())
    jvm_check.check_calls(watched, CALLS)


@jvm_check.each("jdk", jvm_check.newest())
def test_shared_file(bench, jdk):
    """Two JVMs of one libjvm, of which one is traced: the other adds nothing."""
    traced, other = train(bench, jdk), train(bench, jdk)
    tracer, (watched,) = jvm_check.trace(bench, [traced])
    for jvm in (traced, other):
        jvm.start()
    for jvm in (traced, other):
        jvm.done()
        assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    check_round(watched)
    kinds = ("process", "pause", "stall", "phase")
    assert {r["pid"] for kind in kinds for r in watched.records.of(kind)} == {traced.pid}
    assert len(other.log().safepoints) > CALLS


def contain(bench, jdk, program, args):
    """A JVM that is pid 1 of a pid namespace, with its pid out here."""
    bench.need_unshare()
    jvm = train(bench, jdk, "serial", args, program, prefix=NAMESPACES)
    (jvm.pid,) = descendants(jvm.pid)
    return jvm


@pytest.mark.realtime
@jvm_check.each("jdk", jvm_check.newest() if jvm_check.QUICK else jvm_check.spread((11, 17, 25)))
def test_pid_namespace(bench, jdk):
    """Threads are reported by their numbers outside, whatever they are inside."""
    jvm = contain(bench, jdk, "Loop", ["--rounds", 11, "--hold", 1])
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    late, threads = jvm_harness.hold_loop(jvm, jvm.pid), set(jvm.threads())
    jvm.go()
    threads |= set(jvm.threads())  # HotSpot starts compilers when it has work for them
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    check_clean(watched.records)
    watched.pairs()
    assert (watched.process["pid"], watched.process["ns_pid"]) == (jvm.pid, 1)
    assert late > 100
    assert {p["tid"] for p in watched.pauses} <= threads
    assert late in {p["late_tid"] for p in watched.pauses}
    assert {p["late_tid"] for p in watched.pauses} <= threads | {None}


def own_copy(bench, jdk):
    """The JDK in a tree of its own, whose libjvm a test may delete."""
    home = jdk.exe[: -len("/bin/java")]
    copy = bench.scratch / "jdk"
    if subprocess.run(["cp", "-al", home, copy], stderr=subprocess.DEVNULL).returncode:
        shutil.rmtree(copy, ignore_errors=True)
        subprocess.run(["cp", "-a", home, copy], check=True)
    libjvm = copy / jdk.elf[len(home) + 1 :]
    libjvm.unlink()
    shutil.copy(jdk.elf, libjvm)
    row = dict(vars(jdk), exe=str(copy / "bin/java"), elf=str(libjvm))
    row.pop("version_tuple"), row.pop("minor")
    return JavaRuntime(row), libjvm


def local():
    """The roots contain only a JRE, and must not be changed."""
    return [r for r in jvm_check.newest() if not r.in_root]


@jvm_check.full_only
@jvm_check.each("jdk", local())
def test_deleted_file(bench, jdk):
    """A package upgrade takes libjvm away from under the JVM that runs it."""
    copy, libjvm = own_copy(bench, jdk)
    jvm = train(bench, copy)
    libjvm.unlink()
    watched = jvm_check.run(bench, jvm)
    check_round(watched)
    assert watched.process["tier"] == "symbol"
    assert {p["stack"][-1]["function"] for p in watched.pauses if p["stack"]} == {"Train.main"}


@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.newest())
def test_attach_in_pause(bench, jdk):
    """The pause that had begun before is there in full, and so are all after it."""
    args = ["--rounds", 2, "--iterations", 2000000000]
    jvm = train(bench, jdk, "serial", args, "Loop", heap="32m")
    jvm.start()
    wait_until(lambda: "counted-loop" in jvm.threads().values(), what="the thread")
    # the collection that the other thread's allocations ask for waits for the loop
    time.sleep(0.3)
    before_ns = time.monotonic_ns()
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    assert watched.after == watched.before, "it did not last long enough"
    jvm.done()
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    check_clean(watched.records)
    pairs = watched.pairs()
    jvm_check.check_exact(pairs)
    assert [p["start_ns"] < before_ns for p in watched.pauses][:2] == [True, False]
    (spanned,) = [
        s
        for s in watched.log.safepoints
        if s.logged_ns - s.total_ns < before_ns and s.logged_ns > watched.ready_ns
    ]
    assert spanned.index == pairs[0][1].index


@jvm_check.each("jdk", jvm_check.newest() if jvm_check.QUICK else jvm_check.spread((17, 25)))
def test_run(bench, jdk):
    """A JVM started by gctrace: every safepoint of its life, but for what came before its probes in one behind chroot."""
    prefix = [os.environ["GCTRACE"], "run", "-v", "-o", bench.file, "--"]
    jvm = train(bench, jdk, prefix=prefix)
    jvm.attached("libjvm.so", " by ", jdk.root if jdk.in_root else "")
    jvm.pid = [p for p in descendants(jvm.pid)][-1]
    jvm.go()
    assert jvm.quit() == 0
    watched = Watched(jvm)
    watched.take(bench.report())
    watched.before = watched.after = missed = watched.process["missed"]
    if not jdk.in_root:
        check_clean(watched.records)
    jvm_check.check_exact(watched.pairs())
    jvm_check.check_calls(watched, CALLS)
    assert len(watched.pauses) + missed == len(watched.log.safepoints)
    assert watched.records.recording["complete"] is (missed == 0)


@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.newest())
def test_wait(bench, jdk):
    """A process that becomes a JVM later."""
    prefix = ["sh", "-c", 'read line; exec "$@"', "sh"]
    jvm = train(bench, jdk, prefix=prefix, ready=False, log=True)
    tracer = bench.tracer("record", "--wait", "-p", jvm.pid, "-o", bench.file)
    jvm.send("go on")
    jvm.wait_ready()
    jvm.go()
    assert jvm.quit() == 0
    tracer.finish()
    watched = Watched.__new__(Watched)
    watched.jvm, watched.before, watched.after = jvm, 0, 0
    watched.take(bench.report())
    # It was not foreseen: what came before its probes is counted as missed.
    missed = watched.process["missed"]
    assert len(watched.pauses) + missed == len(watched.log.safepoints)
    assert watched.records.recording["complete"] is (missed == 0)


@jvm_check.full_only
@jvm_check.each("jdk", local())
def test_children(bench, jdk):
    """A JVM that starts programs, and one that starts JVMs, which are traced as well."""
    plain = train(bench, jdk, "serial", ["--children", 3], "Spawn")
    args = ["--children", 2, "--jvm", 1, "--collect", CHILD_CALLS]
    parent = train(bench, jdk, "serial", args, "Spawn")
    tracer, watched = jvm_check.trace(bench, [plain, parent])
    for jvm in (plain, parent):
        jvm.go()
        assert jvm.quit() == 0
    tracer.finish()
    records = bench.report()
    check_clean(records)
    for one, calls in zip(watched, (3, 2)):
        one.take(records)
        jvm_check.check_exact(one.pairs())
        assert len(one.of_kind("System.gc")) == calls
        assert [t["status"] for t in one.truth("child")] == [0] * calls
    children = [p for p in records.processes if p["pid"] not in (plain.pid, parent.pid)]
    found = [p for p in children if p["runtime"] == "hotspot"]
    assert len({p["pid"] for p in found}) == 2
    for pid in {p["pid"] for p in found}:
        calls = [p for p in records.of_pid(pid) if p["operation"] in COLLECT]
        assert len(calls) == CHILD_CALLS
        assert all(p["exact"] for p in calls)
        # its first ones come before its causes can be read
        assert {p["cause"] for p in calls} <= {"System.gc()", None}
        assert {(p["cause"], p["full"]) for p in calls[-101:]} == {("System.gc()", True)}


@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.newest())
def test_exit_inside(bench, jdk):
    jvm = train(bench, jdk, "serial", ["--children", 1, "--exit", 7], "Spawn")
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.start()
    assert jvm.wait() == 7
    tracer.finish()
    watched.take(bench.report())
    check_clean(watched.records)
    jvm_check.check_exact(watched.pairs())
    assert len(watched.of_kind("System.gc")) == 1


@jvm_check.each("jdk", jvm_check.newest())
def test_killed(bench, jdk):
    """What was recorded until then is there and exact; the pause it died in is not counted as one."""
    jvm = train(bench, jdk, args=["--steps", 100000])
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.start()
    wait_until(lambda: len(jvm.log().safepoints) > 23, what="the 23rd safepoint")
    jvm.popen.send_signal(signal.SIGKILL)
    jvm.wait()
    tracer.finish()
    watched.take(bench.report())
    # one that it died within is a pause that had not ended
    assert {d["cause"] for d in watched.records.drops} <= {"killed-in-safepoint"}
    points = watched.log.safepoints
    first = [s.index for s in points if s.total_ns == watched.pauses[0]["duration_ns"]][0]
    assert watched.before <= first <= watched.after
    # the record of the last one may be there, and not its line
    pairs = list(zip(watched.pauses, points[first:]))
    assert abs(len(watched.pauses) - len(points[first:])) <= 1
    jvm_check.check_exact(pairs)
