"""Functions are probed by sessions, by uprobe_multi links or by perf uprobes: each sees all; and
what a kernel loses that does not always find a thread's state is missed by number."""

import json
import re

import pytest

import conftest
import jvm_check
import test_children
import test_counts
import test_hotspot_places
import test_signals
from harness import file_infos, gctrace
from test_signals import libraries

# What GCTRACE_REFUSE forbids so that no better way than this is taken.
WAYS = {"uprobe sessions": "", "uprobe_multi links": "session", "perf uprobes": "session,multi"}
FEW = conftest.spread(conftest.PLAIN)
one = conftest.each("newest", FEW[-1:], "CPython of those asked for is here")
# A watchpoint is no uprobe.
CASES = [c for c in test_counts.CASES if c.runtime in FEW and c.tier != "watchpoint"]


@pytest.fixture(params=WAYS, ids=lambda way: way.replace(" ", "-"))
def way(request, monkeypatch):
    monkeypatch.setenv("GCTRACE_REFUSE", WAYS[request.param])
    return request.param


def link_types(pid):
    """The kinds of BPF links that a process holds."""
    return {value for _, value in file_infos(pid, "link_type")}


@one
def test_taken(bench, newest, way):
    """No way that is forbidden is taken, and doctor says which is."""
    rows = [json.loads(line) for line in gctrace("doctor", "--json").stdout.splitlines()]
    (taken,) = [row["answer"] for row in rows if row["question"] == "functions probed by"]
    names = list(WAYS)
    assert names.index(taken) >= names.index(way)
    target = bench.oracle(newest)
    tracer = bench.record(target)
    assert any("multi" in kind for kind in link_types(tracer.pid)) is (taken != names[-1])
    assert target.quit() == 0
    tracer.finish()


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_exact(bench, way, case):
    test_counts.test_exact(bench, case)


@one
def test_disabled(bench, way, newest):
    test_counts.test_disabled(bench, newest)


@one
def test_forked_workers(bench, way, newest):
    test_children.test_forked_workers(bench, newest, None)


@one
def test_unrelated_process(bench, way, newest):
    test_children.test_unrelated_process(bench, newest)


def test_late_dlopen(bench, way):
    test_children.test_late_dlopen(bench)


@one
def test_steps(bench, way, newest, libraries):
    test_signals.test_threads_and_children(bench, newest, libraries)


@one
def test_usdt_with_semaphore(bench, way, newest, libraries):
    test_signals.test_usdt_with_semaphore(bench, newest, libraries)


@jvm_check.each("jdk", jvm_check.newest([r for r in jvm_check.PLAIN if r.feature == 17]))
def test_jvm(bench, way, jdk):
    """Safepoints to the nanosecond, and each System.gc() as a stall of its caller."""
    jvm = test_hotspot_places.train(bench, jdk)
    test_hotspot_places.check_round(jvm_check.run(bench, jvm))


@pytest.fixture
def forgetful(way, monkeypatch):
    """One of 97 lookups of a thread's state fails."""
    refused = ",".join(filter(None, [WAYS[way], "task-storage"]))
    monkeypatch.setenv("GCTRACE_REFUSE", refused)


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_lost_states(bench, forgetful, case):
    """What was recorded plus what was missed is what CPython counted, no more, no less."""
    target = bench.oracle(case.runtime, debug=case.debug)
    tracer = bench.record(target, tier=case.tier)
    books = [target.ask(command) for command in ("collect 1009 101 31", "threads 53")]
    assert tracer.interrupt() == 0
    assert target.quit() == 0

    records = bench.report()
    process = records.process(target.pid)
    missed = process["missed"]
    counted = [sum(b["collections"]) for b in books]
    assert counted == [1141, 2915]
    assert len(records.pauses) + missed == sum(counted)
    # of some forty; where an end that is no return creates the state too, or is looked for at two
    # places, nearly none is lost
    assert missed > 0 or process["tier"] == "usdt" or case.runtime.minor >= (3, 13)
    assert records.recording["complete"] is (missed == 0)
    said = gctrace("report", bench.file).stdout.decode()
    assert not missed or re.search(r"INCOMPLETE: %d collections? .* no probe" % missed, said), said


@pytest.mark.parametrize("refused", ["sessions", "sess", "session,frobnicate", "multi,,session"])
@one
def test_unknown_feature(bench, newest, monkeypatch, refused):
    monkeypatch.setenv("GCTRACE_REFUSE", refused)
    target = bench.oracle(newest)
    done = gctrace("record", "-p", target.pid, "-o", bench.file, "-d", "1s")
    (said,) = done.stderr.decode().splitlines()
    assert done.returncode == 3, said
    unknown = [name for name in refused.split(",") if name not in ("session", "multi")]
    assert 'GCTRACE_REFUSE: no feature is called "%s"' % unknown[0] in said
