"""A collection that is suspended while its thread runs on another C stack, as under greenlet and gevent:
a return probe of the collector is lost as soon as a function with a return probe is entered there, and the
process dies of it (SIGILL). From 3.13 on the collector itself is entered there; up to 3.12 it takes another
tracer's return probe."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import conftest
import test_counts
from harness import SOURCE, Oracle
from test_no_place import symbol_offset
from test_refusals import append

HERE = Path(__file__).resolve().parent
ROUNDS = 23

# Up to 3.12 the collector is not entered: their best tier is enough.
CASES = [c for c in test_counts.CASES if c.runtime.minor >= (3, 13) or c.tier is None]
NEW = [c for c in CASES if c.runtime.minor >= (3, 13)]


def each(cases):
    return pytest.mark.parametrize("case", cases, ids=[c.name for c in cases])


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("cc")
    conftest.need("cc", compiler, "no C compiler")
    built = tmp_path_factory.mktemp("switching") / "switching.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", built, HERE / "switching.c"], check=True)
    return built


def start(bench, case, library=None):
    """switching.py under the case's runtime, and the argument that names the library."""
    inside = Path(bench.script(case.runtime)).parent
    outside = Path(case.runtime.root) / inside.relative_to("/")
    for path in filter(None, (HERE / "switching.py", library)):
        shutil.copy(path, outside / path.name)
    line = case.runtime.start_line(str(inside / "switching.py"), debug=case.debug)
    target = bench.keep(Oracle(line, env=case.runtime.environment))
    return target, str(inside / library.name) if library else None


def ask(target, how):
    target.send("%s %d" % (how, ROUNDS))
    return target.answer()


def check(bench, target, tracer, collections, serves):
    """It survived, and each of its collections is one complete pause."""
    target.popen.stdin.close()
    assert target.wait() == 0
    tracer.finish()
    records = bench.report()
    test_counts.check_clean(records)
    test_counts.check_process(records, target, serves)
    pauses = sorted(records.of_pid(target.pid), key=lambda p: p["start_ns"])
    assert [p["generation"] for p in pauses] == [2] * collections[2]
    # an interpreter runs one collection at a time, whatever its thread or stack
    test_counts.check_order(pauses)
    return pauses


@each(CASES)
def test_stacks(bench, case, library):
    """Two C stacks, switched by hand."""
    target, path = start(bench, case, library)
    tracer = bench.record(target, tier=case.tier)
    said = ask(target, path)
    assert said == {"found": 0, "collections": [0, 0, ROUNDS]}
    check(bench, target, tracer, said["collections"], case.serves)


TRACEFS = Path("/sys/kernel/tracing")


@contextlib.contextmanager
def return_probe(path, name):
    """Another tracer's return probe on a function; yields a counter of its hits."""
    group = "gctrace_test_%d" % os.getpid()
    events, enable = TRACEFS / "uprobe_events", TRACEFS / "events" / group / "back/enable"
    where = symbol_offset(path, name)
    append(events, "r:%s/back %s:%#x\n" % (group, path, where))

    def hits():
        rows = (TRACEFS / "uprobe_profile").read_text().splitlines()
        (row,) = [r.split() for r in rows if str(path) in r.split()]
        return int(row[-1])

    try:
        append(enable, "1")
        yield hits
    finally:
        append(enable, "0")
        append(events, "-:%s/back\n" % group)


@each([c for c in CASES if c.tier is None])
def test_another_tracer(bench, case, library):
    """Another tracer's return probe, hit on the other stack while a collection is suspended."""
    conftest.need("tracefs", TRACEFS.joinpath("uprobe_events").exists(), "tracefs is not mounted")
    target, path = start(bench, case, library)
    tracer = bench.record(target)
    with return_probe(Path(case.runtime.root) / path.lstrip("/"), "switching_call") as hits:
        said = ask(target, path)
        assert hits() == ROUNDS
    assert said == {"found": 0, "collections": [0, 0, ROUNDS]}
    check(bench, target, tracer, said["collections"], case.serves)
    assert "at its return" not in bench.report().process(target.pid)["probe"]


@each(NEW)
def test_threads(bench, case):
    """Another thread that gets the GIL calls the collector to no effect, and once with effect."""
    target, _ = start(bench, case)
    tracer = bench.record(target, tier=case.tier)
    said = ask(target, "threads")
    assert said == {"found": 0, "collections": [0, 0, ROUNDS + 1]}
    pauses = check(bench, target, tracer, said["collections"], case.serves)
    assert [p["tid"] == target.pid for p in pauses] == [True] * ROUNDS + [False]


@each(NEW)
def test_none_due(bench, case):
    """The collector is entered and finds no generation due: no pause, and none left open."""
    target, _ = start(bench, case)
    tracer = bench.record(target, tier=case.tier)
    said = ask(target, "frees")
    assert said == {"found": 0, "collections": [0, 0, 0]}
    check(bench, target, tracer, said["collections"], case.serves)


def greenlet_python():
    """The python of the scripts/workloads environment that has greenlet, and its runtime."""
    listed = subprocess.run(
        [SOURCE / "scripts/workloads", "--list"], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    for row in listed.splitlines()[1:]:
        name, kind, python, version, _ = row.split("\t")
        for case in NEW if kind == "greenlet" else ():
            if case.runtime.name == "pyenv-" + version:
                return python, case
    return None, None


def test_greenlet(bench):
    """The real thing, from PyPI."""
    python, case = greenlet_python()
    conftest.need("greenlet", python, "scripts/workloads greenlet-3.13 has not been run")
    target = bench.keep(Oracle([python, str(HERE / "switching.py")]))
    tracer = bench.record(target, tier=case.tier)
    said = ask(target, "greenlets")
    assert said == {"found": 0, "collections": [0, 0, ROUNDS]}
    check(bench, target, tracer, said["collections"], case.serves)
