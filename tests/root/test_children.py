"""Forked, spawned and executed children are followed; the rest of the machine is not."""

import os
import signal

import pytest

import building
import conftest
import harness
from harness import per_generation
from test_counts import check_clean, check_sums


def fork_workers(bench, runtime, command, *options, tier=None):
    """The recording of an oracle that forks workers as @command says, their own books, and its pid."""
    target = bench.oracle(runtime, isolate=True)
    tracer = bench.record(target, *options, tier=tier)
    answer = target.ask(command)
    assert target.quit() == 0
    tracer.finish()
    records = bench.report()
    check_clean(records)
    return records, answer["workers"], target.pid


@pytest.mark.parametrize("tier", [None, "watchpoint"], ids=["best", "watchpoint"])
def test_forked_workers(bench, runtime, tier):
    records, workers, parent = fork_workers(bench, runtime, "fork fork 20 5 3 2", tier=tier)
    assert len(workers) == 20
    for books in workers:
        process = records.process(books["pid"])
        assert process["ppid"] == parent
        check_sums(records.of_pid(books["pid"]), books)
    assert records.of_pid(parent) == []


def test_crowd(bench, some_runtime):
    """More workers than CPUs, all collecting: a BPF program that is preempted within keeps its state.

    Where kernels lend one stack to all runs of it on a CPU, books came out wrong, and Linux 7.3 died.
    """
    command = "fork fork 7 2003 3 2"
    records, workers, _ = fork_workers(bench, some_runtime, command, "--stack-min", "0")
    assert len(workers) == 7
    for books in workers:
        pauses = records.of_pid(books["pid"])
        check_sums(pauses, books)
        assert all(p["stack"] for p in pauses)


def test_spawned_workers(bench, runtime):
    """Spawn executes python again: its collections from the first on, or counted as missed."""
    target = bench.oracle(runtime, isolate=True)
    tracer = bench.record(target)
    answer = target.ask("fork spawn 3 5 3 2")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    for books in answer["workers"]:
        process = records.process(books["pid"])
        check_sums(records.of_pid(books["pid"], "manual"), books)
        early = len(records.of_pid(books["pid"], "automatic"))
        assert early + (process.get("missed") or 0) == sum(books["before"])


def test_no_children(bench, some_runtime):
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, "--no-children")
    books = target.ask("collect 5 3 2")
    target.ask("fork fork 3 5 3 2")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_sums(records.pauses, books)
    assert {p["pid"] for p in records.processes} == {target.pid}


def test_exec_of_itself(bench, runtime):
    target = bench.oracle(runtime)
    tracer = bench.record(target)
    before = target.ask("collect 5 3 2")
    target.send("exec")
    assert target.answer()["pid"] == target.pid
    after = target.ask("collect 7 5 3")
    assert target.quit() == 0
    tracer.finish()
    check_sums(bench.report().of_pid(target.pid, "manual"), before, after)


def told(runtime):
    """The version as its file tells it: up to 3.10 without the last number."""
    return runtime.version if runtime.minor >= (3, 11) else "%d.%d" % runtime.minor


def test_exec_of_another(bench):
    """A process that becomes another CPython, whose file had no probe until then."""
    plain = [r for r in conftest.PLAIN if not r.in_root]
    if len(plain) < 2:
        pytest.skip("needs two CPythons outside a chroot")
    first, second = plain[0], plain[-1]
    target = bench.oracle(first)
    tracer = bench.record(target, "-v")
    before = target.ask("collect 5 3 2")
    target.send("exec %s %s" % (second.exe, bench.script(second)))
    target.answer()
    tracer.attached(second.elf)  # what came earlier would be "missed"
    after = target.ask("collect 7 5 3")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_sums(records.of_pid(target.pid, "manual"), before, after)
    versions = {p["runtime_version"] for p in records.processes if p["pid"] == target.pid}
    assert versions == {told(first), told(second)}


def test_unrelated_process(bench, runtime):
    target, other = bench.oracle(runtime), bench.oracle(runtime)
    tracer = bench.record(target)
    books = target.ask("collect 5 3 2")
    other.ask("collect 23 11 7")
    other.ask("fork fork 3 5 3 2" if not runtime.in_root else "collect 1 1 1")
    later = bench.oracle(runtime)
    later.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_sums(records.pauses, books)
    assert {p["pid"] for p in records.processes} == {target.pid}


def compiled(folder, name, libraries=("-ldl",)):
    """A program of tests/workloads, built into @folder."""
    source = harness.SOURCE / "tests/workloads" / (name + ".c")
    return building.program(os.path.join(folder, name), source, *libraries)


def libraries_of(runtime):
    """Link against the root's own libc, which may be older than ours."""
    folder = "%s/lib/%s-linux-gnu" % (runtime.root, os.uname().machine)
    lenient = "-Wl,--unresolved-symbols=ignore-in-shared-libs"
    return ["-nodefaultlibs", lenient, "-L" + folder, "-l:libc.so.6", "-l:libdl.so.2", "-lgcc"]


def shared_runtimes():
    return [r for r in conftest.PLAIN if r.linkage == "shared"]


def check_late_dlopen(bench, runtime, host, sums=check_sums):
    """A child, @host, that is not a Python when it starts, and loads libpython later."""
    tracer = bench.keep(
        harness.Tracer(
            ["run", "-v", "-o", bench.file, "--", host, runtime.elf, runtime.exe, bench.script(runtime)],
            ready=False,
        )
    )
    tracer.send("")
    tracer.out.find(lambda line: '"ready"' in line)
    tracer.attached(runtime.elf)
    tracer.send("collect 23 11 7")
    line = tracer.out.find(lambda line: '"collect"' in line)
    tracer.send("quit")
    tracer.finish()

    books = harness.json.loads(line)
    records = bench.report()
    sums(records.of_pid(books["pid"], "manual"), books)
    assert records.process(books["pid"])["runtime_version"] == runtime.version


def test_late_dlopen(bench):
    if not shared_runtimes():
        pytest.skip("no shared libpython here (pyenv builds one)")
    check_late_dlopen(bench, shared_runtimes()[-1], compiled(bench.scratch, "dlhost"))


def test_wait_for_a_runtime(bench):
    """A process without a runtime is refused, or with --wait traced once it has one."""
    if not shared_runtimes():
        pytest.skip("no shared libpython here (pyenv builds one)")
    runtime = shared_runtimes()[0]
    host = compiled(bench.scratch, "dlhost")
    target = bench.process([host, runtime.elf, runtime.exe, bench.script(runtime)])
    tracer = bench.record(target, "--wait", "-v")
    target.send("")
    target.out.next()
    tracer.attached(runtime.elf)
    target.send("collect 23 11 7")
    books = harness.json.loads(target.out.next())
    target.send("quit")
    target.wait()
    tracer.finish()
    check_sums(bench.report().of_pid(target.pid, "manual"), books)


def debian_shared():
    """Roots that hold a libpython with USDT beside their static executable."""
    for runtime in conftest.PLAIN:
        if runtime.in_root:
            name = "libpython%d.%d.so.1.0" % runtime.minor
            inside = "/usr/lib/%s-linux-gnu/%s" % (os.uname().machine, name)
            if os.path.exists(runtime.root + inside):
                yield runtime, inside


@conftest.each("embedded", debian_shared(), "root with a libpython is here")
def test_embedded(bench, embedded):
    """A program of its own that embeds a distribution's libpython, found by its USDT notes."""
    runtime, libpython = embedded
    script = bench.script(runtime)
    host = compiled(runtime.root + os.path.dirname(script), "dlhost", libraries_of(runtime))
    line = ["chroot", runtime.root, host[len(runtime.root) :], libpython, runtime.exe, script]
    target = harness.Process(line)
    bench.keep(target)
    target.send("")
    target.out.next()
    tracer = bench.record(target)
    target.send("collect 23 11 7")
    books = harness.json.loads(target.out.next())
    target.send("quit")
    target.wait()
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(target.pid), books)
    assert records.process(target.pid)["tier"] == "usdt"


def test_two_runtimes_in_one_process(bench):
    shared = shared_runtimes()
    if len(shared) < 2:
        pytest.skip("needs two shared libpythons (pyenv builds them)")
    first, second = shared[-2], shared[-1]
    program = compiled(bench.scratch, "two_pythons")
    script = "import gc\nfor g in (0, 0, 0, 1, 2): gc.collect(g)"
    target = bench.process([program, script, first.elf, second.elf])
    assert target.out.next() is not None, target.err.text()
    tracer = bench.record(target)
    target.send("")
    assert target.wait() == 0
    tracer.finish()

    records = bench.report()
    runtimes = [p for p in records.processes if p["pid"] == target.pid]
    assert {p["runtime_version"] for p in runtimes} == {told(first), told(second)}
    assert len(runtimes) == 2
    seen = {}
    for pause in records.of_pid(target.pid):
        seen.setdefault(pause["runtime_id"], []).append(pause)
    assert [per_generation(some) for some in seen.values()] == [[3, 1, 1], [3, 1, 1]]


# Stops its parent, which is gctrace, while a child that it spawns runs from beginning to end.
UNSEEN = """
import os, signal, subprocess, sys
os.kill(os.getppid(), signal.SIGSTOP)
while open("/proc/%d/stat" % os.getppid()).read().rpartition(")")[2].split()[0] != "T":
    pass
subprocess.run([sys.executable, "-S", "-c", "import gc; gc.disable(); [gc.collect() for _ in range(23)]"])
print("over", flush=True)
"""


def test_a_program_that_is_over_before_it_is_looked_at(bench, some_runtime):
    """It was traced from its start on, however late gctrace comes to it: its pauses are shares of that time."""
    tracer = bench.process([os.environ["GCTRACE"], "run", "-o", bench.file, "--", some_runtime.exe, "-c", UNSEEN])
    assert tracer.out.next() == "over"
    os.kill(tracer.pid, signal.SIGCONT)
    assert tracer.wait() == 0
    records = bench.report()
    check_clean(records)
    (child,) = [p for p in records.processes if len([q for q in records.of_pid(p["pid"]) if q["cause"] == "manual"]) == 23]
    pauses = records.of_pid(child["pid"])
    assert child["seen_ns"] <= child["attached_ns"] <= pauses[0]["start_ns"]
    assert pauses[-1]["end_ns"] <= child["exit_ns"]
