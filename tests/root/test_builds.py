"""CPythons as others build them (scripts/runtimes --list build): each pause's generation, yield, cause, thread and stack."""

import re

import pytest

import building
import conftest
import harness
from test_children import check_late_dlopen
from harness import per_generation
from test_counts import Case, check_clean, check_exact, check_process, check_sums
from test_stacks import told

# The free-threaded ones have tests of their own.
BUILDS = [b for b in conftest.BUILDS if not b.free_threaded]


def incremental(build):
    return (3, 14, 0) <= build.version_tuple <= (3, 14, 4)


def check_incremental(pauses, *books):
    """A pass of generation 1 that only marks is in no book: it has collected nothing."""
    counts = [sum(column) for column in zip(*(b["collections"] for b in books))]
    seen = per_generation(pauses)
    assert (seen[0], seen[2]) == (counts[0], counts[2]) and seen[1] >= counts[1]
    for key in ("collected", "uncollectable"):
        assert per_generation(pauses, key) == [sum(column) for column in zip(*(b[key] for b in books))]


def sums_of(build):
    return check_incremental if incremental(build) else check_sums


def tier_of(build):
    """Which tier serves @build, by what its file still holds."""
    if build.variant != "nousdt" and re.match("ubuntu|debian", build.base):
        return "usdt"
    # unoptimised code has no cheap places where collections end
    if "3.13d" in build.base or incremental(build):
        return "watchpoint"
    return "symbol" if build.variant == "asis" else "call-target"


CASES = [Case(b, {tier_of(b)}) for b in BUILDS]
# With its counters alone to go by.
CASES += [Case(b, {"watchpoint"}, "watchpoint") for b in BUILDS if b.variant == "asis" and tier_of(b) != "watchpoint"]
each_case = conftest.each("case", CASES, "build of those asked for is here")


@pytest.mark.parametrize("name", harness.table_names("build"))
def test_fetched(name):
    if conftest.CHOSEN and name not in conftest.CHOSEN:
        pytest.skip("only %s asked for" % ", ".join(conftest.CHOSEN))
    conftest.need("matrix", name in {b.name for b in conftest.ALL_BUILDS}, "%s could not be fetched" % name)


@each_case
def test_by_hand(bench, case):
    check_exact(bench, case, sums_of(case.runtime))


@each_case
def test_whole_life(bench, case):
    """Collections of its own, none, known stacks, several threads, and those of the exit."""
    target = bench.oracle(case.runtime)
    tracer = bench.record(target, "--stack-min", "0", tier=case.tier)
    automatic = target.ask("auto 70001 told")
    assert target.ask("disabled 30011")["collections"] == [0, 0, 0]
    stacks = target.ask("stack")
    threads = target.ask("threads 5")
    target.send("exit 3")
    assert target.wait() == 3
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_process(records, target, case.serves)
    pauses = sorted(records.of_pid(target.pid), key=lambda p: p["start_ns"])
    assert len(automatic["brackets"]) > 10
    for cause, books in (("automatic", automatic), ("manual", stacks), ("manual", threads)):
        count = len(books["brackets"]) if books is automatic else sum(books["collections"])
        some, pauses = pauses[:count], pauses[count:]
        sums_of(case.runtime)(some, books)
        assert {p["cause"] for p in some} == {cause}
        if books is automatic:
            assert [p["generation"] for p in some] == [b[2] for b in automatic["brackets"]]
            assert {p["tid"] for p in some} == {target.pid}
            assert {tuple(f["function"] for f in p["stack"][-3:]) for p in some} == {("do_auto", "main", "<module>")}
        elif books is stacks:
            assert [told(p) for p in some] == stacks["stacks"]
        else:
            tids = [str(p["tid"]) for p in some]
            assert {tid: tids.count(tid) for tid in tids} == threads["per_thread"]
    # as many as gc.DEBUG_STATS prints there
    exits = 4 if incremental(case.runtime) else 3
    assert [(p["cause"], p["generation"]) for p in pauses] == [("shutdown", 2)] * exits


LIBRARIES = [b for b in BUILDS if b.linkage == "shared" and b.variant == "asis" and "embedded" not in b.base]


@conftest.each("library", LIBRARIES, "build with a libpython is here")
def test_late_dlopen(bench, library):
    """Each C library's linker tells of a libpython that is loaded later."""
    source = harness.SOURCE / "tests/workloads/dlhost.c"
    compiler = "musl-gcc" if "musl" in library.base else "gcc"
    host = building.program(bench.scratch / "dlhost", source, "-ldl", compiler=compiler)
    check_late_dlopen(bench, library, host, sums_of(library))
