"""Free-threaded CPythons (3.13t and later): the books of their collector, stacks of all threads, and when each collection stops the
others, against what those saw themselves."""

from pathlib import Path

import conftest
from harness import per_generation, wait_until
from test_counts import Case, check_brackets, check_clean, check_order, check_process, check_sums
from test_stacks import told

BUILDS = [b for b in conftest.BUILDS if b.free_threaded]
TIERS = {"symbol", "call-target"}


def has_copy(build):
    """Whether the compiler made a copy of the collector for PyGC_Collect(), which calls that one then."""
    whole = next(b for b in conftest.ALL_BUILDS if b.base == build.base and b.variant == "asis")
    return b"gc_collect_main.constprop" in Path(whole.exe).read_bytes()


def best(build):
    """By what its file still holds: 3.13t exports nothing by which places could be found where its collector ends."""
    if build.variant == "asis":
        return "symbol"
    return "call-target" if build.minor >= (3, 14) and not has_copy(build) else "watchpoint"


CASES = [Case(b, {best(b)}) for b in BUILDS]
CASES += [Case(b, {"watchpoint"}, "watchpoint") for b in BUILDS if b.variant == "asis"]
LACKING = "free-threaded build of those asked for is here"
each_case = conftest.each("case", CASES, LACKING)
# Those whose stops can be told.
each_known = conftest.each("case", [c for c in CASES if c.serves & TIERS], LACKING)


def knows(case):
    """Whether the cause and the stops are known: a watchpoint sees neither arguments nor calls."""
    return bool(case.serves & TIERS)


def begin(bench, case, env=None):
    target = bench.oracle(case.runtime, env=env)
    return target, bench.record(target, "--stack-min", "0", tier=case.tier)


def end(bench, case, target, tracer):
    tracer.finish()
    records = bench.report()
    check_clean(records)
    process = check_process(records, target, case.serves)
    assert process["runtime_version"] == case.runtime.version + "t"
    pauses = sorted(records.of_pid(target.pid), key=lambda p: p["start_ns"])
    return pauses


def check_causes(case, pauses, cause):
    assert {p["cause"] for p in pauses} == {cause if knows(case) else None}


def parts(pause):
    return [pause[key] for key in ("reach_ns", "stopped_ns", "alone_ns")]


def check_parts(case, pauses):
    """The parts make the pause, and the two stops lie in it one after the other."""
    for pause in pauses:
        if not knows(case):
            assert "stopped_ns" not in pause
            continue
        assert sum(parts(pause)) == pause["duration_ns"]
        first, second = stops(pause)
        assert pause["reach_ns"] == pause["first_reach_ns"] + pause["second_reach_ns"]
        assert pause["start_ns"] <= first[0] <= first[1] <= second[0] <= second[1] <= pause["end_ns"]
        assert first[1] - first[0] + second[1] - second[0] == pause["reach_ns"] + pause["stopped_ns"]


def check_turns(case, pauses):
    """One collection at a time. A watchpoint's trap comes after the write: the next thread's may come before the last one's."""
    if knows(case):
        check_order(pauses)
        return
    for before, after in zip(pauses, pauses[1:]):
        assert before["end_ns"] <= after["start_ns"] or before["tid"] != after["tid"]
        assert before["start_ns"] < after["start_ns"] and before["end_ns"] < after["end_ns"]


def stops(pause):
    """When others are asked to stop, and when they may go on."""
    found = []
    for which in ("first", "second"):
        start = pause["start_ns"] + pause[which + "_at_ns"]
        found.append((start, start + pause[which + "_ns"]))
    return found


@each_case
def test_by_hand(bench, case):
    target, tracer = begin(bench, case)
    quiet = target.ask("collect 23 11 7")
    timed = target.ask("bracket 23 11 7")
    assert target.quit() == 0
    pauses = end(bench, case, target, tracer)
    check_order(pauses)
    assert len(pauses) == 82
    check_sums(pauses, quiet, timed)
    check_causes(case, pauses, "manual")
    check_parts(case, pauses)
    assert {p["tid"] for p in pauses} == {target.pid}
    check_brackets(pauses[41:], timed["brackets"], {"start"} if knows(case) else {"start", "stop"})


@each_case
def test_whole_life(bench, case):
    """Collections of its own and none, known stacks, names, those of the exit."""
    target, tracer = begin(bench, case)
    automatic = target.ask("auto 300007 told")
    assert target.ask("disabled 30011")["collections"] == [0, 0, 0]
    stacks = target.ask("stack")
    aside = target.ask("deep_aside 300")
    nested = target.ask("nested 7")
    target.send("exit 3")
    assert target.wait() == 3
    pauses = end(bench, case, target, tracer)
    check_order(pauses)
    assert len(automatic["brackets"]) > 2
    books = [automatic, stacks, aside, nested]
    check_sums(pauses[:-3], *books)
    some = [pauses[: len(automatic["brackets"])], pauses[-26:-11], pauses[-11:-10], pauses[-10:-3]]
    assert sum(len(s) for s in some) == len(pauses) - 3
    check_causes(case, some[0], "automatic")
    assert [p["generation"] for p in some[0]] == [b[2] for b in automatic["brackets"]] == [0] * len(some[0])
    assert {tuple(f["function"] for f in p["stack"][-3:]) for p in some[0]} == {("do_auto", "main", "<module>")}
    for pause, frames in zip(some[1], stacks["stacks"]):
        assert told(pause) == frames
    assert some[2][0]["tid"] == aside["ran_in"] != target.pid
    assert told({"stack": some[2][0]["stack"][:127]}) == aside["stacks"][0][:127]
    for manual in some[1:]:
        check_causes(case, manual, "manual")
    check_causes(case, pauses[-3:], "shutdown")
    assert [p["generation"] for p in pauses[-3:]] == [2] * 3


@each_case
def test_several_collect(bench, case):
    """Seven threads that all collect as often as they can: most calls lose to another thread's, and are no pauses."""
    target, tracer = begin(bench, case)
    books = [target.ask("threads 7") for _ in range(3)]
    assert target.quit() == 0
    pauses = end(bench, case, target, tracer)
    check_turns(case, pauses)
    check_sums(pauses, *books)
    tids = {str(p["tid"]) for p in pauses}
    assert tids <= {tid for b in books for tid in b["per_thread"]} and len(tids) > 1
    check_causes(case, pauses, "manual")
    check_parts(case, pauses)


@each_known
def test_stops(bench, case):
    """No other thread looks at the clock while all are said to stand still; and it sleeps for hardly longer than that."""
    target, tracer = begin(bench, case)
    told_by = target.ask("gaps 7 20")
    assert target.quit() == 0
    pauses = end(bench, case, target, tracer)
    check_order(pauses)
    check_sums(pauses, told_by)
    check_parts(case, pauses)
    felt = []
    for pause, (before, after) in zip(pauses, told_by["calls"]):
        assert before <= pause["start_ns"] and pause["end_ns"] <= after
        # the finalizer, in which others run
        assert pause["alone_ns"] >= 20_000_000
        start, stop = stops(pause)[0]
        still = start + pause["first_reach_ns"], stop
        held = [g for g in told_by["gaps"] if g[0] <= still[0] and stop <= g[1]]
        assert still[1] - still[0] > 1_000_000 and len(held) == 1
        felt.append(held[0][2] - (stop - start))
    # it sleeps on where the collecting thread loses its processor as it lets others go: not always
    assert min(felt) < 1_000_000


@each_known
def test_gil(bench, case):
    """With its GIL on it stops others for as long as any CPython does."""
    target, tracer = begin(bench, case, env={"PYTHON_GIL": "1"})
    books = target.ask("collect 5 3 2")
    assert target.quit() == 0
    pauses = end(bench, case, target, tracer)
    check_order(pauses)
    check_sums(pauses, books)
    for pause in pauses:
        assert parts(pause) == [0, pause["duration_ns"], 0]


@each_case
def test_processes(bench, case):
    """Forked children, and interpreters of their own."""
    target, tracer = begin(bench, case)
    books = target.ask("fork fork 2 5 3 2")
    inner = target.ask("subinterpreters 5 3 2")
    assert target.quit() == 0
    tracer.finish()
    records = bench.report()
    for worker in books["workers"]:
        check_sums(records.of_pid(worker["pid"]), worker)
    if knows(case):
        # each interpreter begins, ends and imports with collections of its own
        counted = [inner["collections"]] + inner["others"]
        seen = per_generation([p for p in records.of_pid(target.pid) if p["cause"] != "automatic"])
        assert all(a >= sum(column) for a, column in zip(seen, zip(*counted)))


@each_known
def test_left(bench, case):
    """A process that is killed in a collection, between its two stops: it lasted at least so long."""
    target, tracer = begin(bench, case)
    books = target.ask("collect 2 3 5")
    marker = bench.scratch / "marker"
    target.send("stuck %s" % marker)
    wait_until(marker.exists)
    target.popen.kill()
    target.wait()
    tracer.finish()
    pauses = sorted(bench.report().of_pid(target.pid), key=lambda p: p["start_ns"])
    check_sums(pauses[:-1], books)
    assert pauses[-1]["unfinished"] and "stopped_ns" not in pauses[-1]
