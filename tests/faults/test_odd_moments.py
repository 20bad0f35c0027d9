"""Programs that fork, exec and start threads or interpreters where nobody expects it."""

import pytest

import conftest
import snippets
from harness import gctrace

AFTER_EXEC = "import gc, os; gc.disable(); [gc.collect(0) for _ in range(3)]; os._exit(0)"

EXEC = """
class Other(Cycle):
    def __del__(self):
        os.execv(%r, ["python", "-S", "-c", %r])
Other(); gc.collect(1)
"""

# The parent's finalizer waits for the child, which comes back from the same finalizer.
FORK = """
class Twice(Cycle):
    def __del__(self):
        global child
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        else:
            %s
Twice(); gc.collect(2)
if not child:
    gc.collect(1); gc.collect(1)
    os._exit(0)
"""

INTERPRETER = """
try:
    import _interpreters as made
except ImportError:
    import _xxsubinterpreters as made
other = made.create()
run = getattr(made, "run_string", None) or made.exec
run(other, "import gc; gc.disable()")
for i in range(7):
    gc.collect(0)
    run(other, "gc.collect(1)")
    if i %% 2:
        run(other, "gc.collect(2)")
"""

CHILD_AND_THREAD = """
def collect():
    for i in range(5):
        gc.collect(1)
thread = threading.Thread(target=collect)
thread.start()
thread.join()
child = os.fork()
if not child:
    collect()
    os._exit(0)
os.waitpid(child, 0)
"""


def clean(records):
    assert records.recording["complete"] and not records.drops, records.drops
    assert not any(p["missed"] for p in records.processes if p["missed"] is not None)


def test_exec_in_a_collection(bench, runtime):
    target = snippets.start(bench, runtime)
    tracer = bench.record(target)
    target.run("gc.collect(0)")
    target.begin(EXEC % (runtime.exe, AFTER_EXEC))
    assert target.wait() == 0
    tracer.finish()

    records = bench.report()
    clean(records)
    pauses = [p for p in records.pauses if p["cause"] == "manual"]
    assert [p.get("unfinished", False) for p in pauses] == [False, True, False, False, False]
    assert pauses[1]["start_ns"] < pauses[1]["end_ns"] <= pauses[2]["start_ns"]
    assert [p["generation"] for p in pauses[2:]] == [0, 0, 0]


def test_fork_in_a_finalizer(bench, runtime):
    """The child finishes the collection that its parent began: that is a pause of its own."""
    target = snippets.start(bench, runtime)
    tracer = bench.record(target)
    target.run(FORK % "pass")
    child = target.value("child")
    target.quit()
    tracer.finish()

    records = bench.report()
    clean(records)
    first, *others = records.of_pid(child)
    (parent,) = records.of_pid(target.pid)
    assert parent["start_ns"] < first["start_ns"] <= first["end_ns"] < parent["end_ns"]
    assert [p["generation"] for p in [parent, first] + others] == [2, 2, 1, 1]
    assert not any(p.get("unfinished") for p in records.pauses)


def test_fork_in_a_finalizer_for_another_program(bench, some_runtime):
    """A child that never returns from the finalizer has no pause."""
    target = snippets.start(bench, some_runtime)
    tracer = bench.record(target)
    target.run(FORK % 'os.execv("/bin/true", ["true"])')
    child = target.value("child")
    target.quit()
    tracer.finish()

    records = bench.report()
    clean(records)
    assert [p["pid"] for p in records.pauses] == [target.pid]
    assert not records.of_pid(child)


def test_interpreters(bench, runtime):
    """In 3.8 all interpreters share one collector, and its counters; from 3.9 on each has its own."""
    target = snippets.start(bench, runtime)
    tracer = bench.record(target)
    target.run(INTERPRETER.replace("%%", "%"))
    target.quit()
    tracer.finish()

    records = bench.report()
    clean(records)
    manual = [p["generation"] for p in records.pauses if p["cause"] == "manual"]
    assert [manual.count(g) for g in (0, 1, 2)] == [7, 7, 3]


def two():
    near = [r for r in conftest.PLAIN if not r.in_root]
    return [(near[0], near[-1])] if near else []


@conftest.each("pair", two(), "CPython outside of a chroot is here")
def test_two_watched(bench, pair):
    """Threads and children that a watchpoint's process makes later are counted as its own."""
    targets = [snippets.start(bench, r) for r in pair]
    tracer = bench.tracer(
        "record", "-p", targets[0].pid, "-p", targets[1].pid, "-o", bench.file, tier="watchpoint"
    )
    for target in targets:
        target.run(CHILD_AND_THREAD)
    children = [target.value("child") for target in targets]
    for target in targets:
        target.quit()
    tracer.finish()

    records = bench.report()
    clean(records)
    for runtime, target, child in zip(pair, targets, children):
        for pid in (target.pid, child):
            assert [p["generation"] for p in records.of_pid(pid)] == [1] * 5
            versions = [p["runtime_version"] for p in records.processes if p["pid"] == pid]
            assert len(versions) == 1 and runtime.version.startswith(versions[0]), versions


@pytest.mark.parametrize("verb", ["record", "live", "doctor"])
def test_thread_for_a_process(bench, some_runtime, verb):
    target = snippets.start(bench, some_runtime)
    target.run("gate = threading.Event(); t = threading.Thread(target=gate.wait); t.start()")
    thread = target.value("t.native_id")
    options = {"record": ["record", "-o", bench.file], "live": [], "doctor": ["doctor"]}[verb]
    done = gctrace(*options, "-p", thread)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 3, said
    assert "%d is a thread of process %d" % (thread, target.pid) in said
    target.run("gate.set()")
