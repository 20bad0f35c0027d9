"""Every pause against CPython's own books: gc.get_stats() and the times that gc.callbacks saw."""

import collections

import pytest

import conftest
from harness import per_generation, table_names

FUNCTION_TIERS = {"symbol", "debugfile", "call-target"}


class Case:
    """A runtime, how it is started, the tier asked for and those that may serve."""

    def __init__(self, runtime, serves, tier=None, debug=False):
        self.runtime, self.serves, self.tier, self.debug = runtime, serves, tier, debug
        how = tier or ("debugfile" if debug else "best")
        self.name = "%s-%s" % (runtime.name, how)

    def __repr__(self):
        return self.name


def best_tiers(runtime):
    """What may serve @runtime when nothing is forced, by what its file still holds."""
    if runtime.variant == "asis" and runtime.linkage == "shared":
        return {"symbol"}
    if runtime.variant == "asis" and not runtime.in_root and runtime.debug != "-":
        return {"debugfile"}
    if runtime.linkage == "static" and runtime.variant != "nousdt":
        return {"usdt"}
    # 3.8 has two clones of which a caller's code shows only one: its counts would be wrong
    return {"watchpoint"} if runtime.minor == (3, 8) else {"call-target"}


def cases():
    for runtime in conftest.RUNTIMES:
        yield Case(runtime, best_tiers(runtime))
        if runtime.variant != "asis":
            continue
        if runtime.in_root and runtime.debug != "-":
            yield Case(runtime, {"debugfile"}, debug=True)
        for tier in ("usdt", "call-target", "watchpoint"):
            if tier == "usdt" and runtime.linkage == "shared":
                continue
            if tier == "call-target" and runtime.minor == (3, 8):
                continue
            if {tier} != best_tiers(runtime):
                yield Case(runtime, {tier}, tier)


CASES = list(cases())


@pytest.mark.parametrize("name", table_names())
def test_fetched(name):
    """The matrix is complete, or this says what is missing from it."""
    if conftest.CHOSEN and name not in conftest.CHOSEN:
        pytest.skip("only %s asked for" % ", ".join(conftest.CHOSEN))
    conftest.need(
        "matrix", name in {r.name for r in conftest.ALL}, "%s could not be fetched" % name
    )


def check_process(records, target, serves):
    process = records.process(target.pid)
    assert process["runtime"] == "cpython"
    assert process["tier"] in serves, process
    assert not process.get("missed")
    return process


def check_sums(pauses, *books):
    """Counts, collected and uncollectable of each generation are those of the books together."""
    for key, ours in (
        ("collections", None),
        ("collected", "collected"),
        ("uncollectable", "uncollectable"),
    ):
        wanted = [sum(column) for column in zip(*(b[key] for b in books))]
        assert per_generation(pauses, ours) == wanted, key


def check_clean(records):
    assert records.recording["complete"] is True
    assert records.recording["drops"] == 0
    assert records.drops == []


def check_order(pauses):
    """One thread's pauses follow one another."""
    for pause in pauses:
        assert pause["end_ns"] - pause["start_ns"] == pause["duration_ns"] >= 0
    for before, after in zip(pauses, pauses[1:]):
        assert before["end_ns"] <= after["start_ns"]


def check_brackets(pauses, brackets, holds):
    """Pairs pauses and callbacks by order; @holds: which of the callbacks are within the pause."""
    assert [p["generation"] for p in pauses] == [b[2] for b in brackets]
    for pause, (start, stop, _) in zip(pauses, brackets):
        assert pause["start_ns"] <= pause["end_ns"] and start <= stop
        assert (pause["start_ns"] <= start) is ("start" in holds)
        assert (stop <= pause["end_ns"]) is ("stop" in holds)
        assert start <= pause["end_ns"] and pause["start_ns"] <= stop


def callbacks_within(tier, minor):
    """From 3.13 on the function tiers end a pause where the counters have moved: before "stop"."""
    if tier == "watchpoint":
        return {"start", "stop"}
    return {"start"} if tier in FUNCTION_TIERS and minor >= (3, 13) else set()


def check_exact(bench, case, sums=check_sums):
    """Collections of each generation by hand, against the books and the callbacks: nothing else is in the recording."""
    target = bench.oracle(case.runtime, debug=case.debug)
    tracer = bench.record(target, tier=case.tier)
    quiet = target.ask("collect 23 11 7")
    timed = target.ask("bracket 23 11 7")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    process = check_process(records, target, case.serves)
    # before 3.11 a file does not export which patch release it is
    wanted = {case.runtime.version}
    if case.runtime.minor < (3, 11):
        wanted.add("%d.%d" % case.runtime.minor)
    assert process["runtime_version"] in wanted
    pauses = sorted(records.of_pid(target.pid), key=lambda p: p["start_ns"])
    assert len(pauses) == 82
    sums(pauses, quiet, timed)
    check_order(pauses)
    assert {p["tid"] for p in pauses} == {target.pid}
    assert {p["cause"] for p in pauses} == {"manual"}
    assert [p["generation"] for p in pauses[:41]] == [b[2] for b in timed["brackets"]]
    holds = callbacks_within(process["tier"], case.runtime.minor)
    check_brackets(pauses[41:], timed["brackets"], holds)
    assert records.summary["pauses"] == 82
    assert records.summary["pause_ns"] == sum(p["duration_ns"] for p in pauses)


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_exact(bench, case):
    check_exact(bench, case)


def test_automatic(bench, any_runtime):
    target = bench.oracle(any_runtime)
    tracer = bench.record(target)
    books = target.ask("auto 30011")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_process(records, target, best_tiers(any_runtime))
    assert sum(books["collections"]) > 10
    check_sums(records.of_pid(target.pid), books)
    assert {p["cause"] for p in records.pauses} == {"automatic"}


def test_disabled(bench, runtime):
    target = bench.oracle(runtime)
    tracer = bench.record(target)
    books = target.ask("disabled 30011")
    assert books["collections"] == [0, 0, 0]
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_process(records, target, best_tiers(runtime))
    assert records.pauses == []
    assert records.summary["pauses"] == 0


def test_threads(bench, runtime):
    target = bench.oracle(runtime)
    tracer = bench.record(target)
    books = target.ask("threads 5")
    assert target.quit() == 0
    tracer.finish()

    pauses = bench.report().of_pid(target.pid)
    check_sums(pauses, books)
    seen = {}
    for pause in pauses:
        seen[str(pause["tid"])] = seen.get(str(pause["tid"]), 0) + 1
    assert seen == books["per_thread"]


def test_threads_by_watchpoint(bench, some_runtime):
    """A watchpoint sits on threads one by one; new ones must not escape it."""
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, tier="watchpoint")
    books = target.ask("threads 5")
    assert target.quit() == 0
    tracer.finish()
    check_sums(bench.report().of_pid(target.pid), books)


@pytest.mark.parametrize("tier", [None, "watchpoint"], ids=["best", "watchpoint"])
def test_nested(bench, runtime, tier):
    """gc.collect() in a finalizer is refused by CPython: no collection, so no pause."""
    target = bench.oracle(runtime)
    tracer = bench.record(target, tier=tier)
    books = target.ask("nested 7")
    assert books["collections"] == [0, 0, 7] and books["inner"] == 14
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(target.pid), books)


def test_finalizer(bench, runtime):
    """Finalizers are inside the pause, and one that sleeps gives the GIL to another thread."""
    target = bench.oracle(runtime)
    tracer = bench.record(target)
    quiet = target.ask("collect 5 3 2")
    slow = target.ask("finalizer 20")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    pauses = records.of_pid(target.pid)
    check_sums(pauses, quiet, slow)
    assert pauses[-1]["duration_ns"] >= 40_000_000
    assert pauses[-1]["slept"] is True
    assert not any(p.get("slept") for p in pauses[:-1])


def test_finalizer_alone(bench, some_runtime):
    """A finalizer that sleeps though no other thread wants the GIL."""
    target = bench.oracle(some_runtime)
    tracer = bench.record(target)
    books = target.ask("finalizer 20 alone")
    assert target.quit() == 0
    tracer.finish()

    (pause,) = bench.report().of_pid(target.pid)
    check_sums([pause], books)
    assert pause["duration_ns"] >= 40_000_000
    assert pause["slept"] is True


def test_shutdown(bench, runtime):
    """The collections of an ordinary exit, which no code of the target can count."""
    target = bench.oracle(runtime)
    tracer = bench.record(target)
    books = target.ask("collect 5 3 2")
    target.send("exit 3")
    assert target.wait() == 3
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(target.pid, "manual"), books)
    last = records.of_pid(target.pid, "shutdown")
    assert [p["generation"] for p in last] == [2] * (2 if runtime.minor < (3, 10) else 3)
    assert len(records.pauses) == 10 + len(last)


BEST_OR_USDT = [c for c in CASES if c.tier in (None, "usdt") and c.runtime.variant == "asis"]


@pytest.mark.parametrize("case", BEST_OR_USDT, ids=[c.name for c in BEST_OR_USDT])
def test_interpreters(bench, case):
    """Each interpreter collects for itself (3.9+), and the pauses say which did."""
    runtime = case.runtime
    target = bench.oracle(runtime, debug=case.debug)
    tracer = bench.record(target, tier=case.tier)
    books = target.ask("subinterpreters 5 3 2")
    if "unsupported" in books:
        pytest.skip(books["unsupported"])
    assert target.quit() == 0
    tracer.finish()

    pauses = bench.report().of_pid(target.pid, "manual")
    counted = [books["collections"]] + books["others"]
    assert per_generation(pauses) == [sum(column) for column in zip(*counted)]
    if runtime.minor < (3, 9):
        return
    seen = {}
    for pause in pauses:
        seen.setdefault(pause["interpreter"], []).append(pause)
    assert sorted(per_generation(some) for some in seen.values()) == sorted(counted)


def test_successive_interpreters(bench, some_runtime):
    """251 interpreters, one after the other, most of them where one has just ended: each collects for itself."""
    target = bench.oracle(some_runtime)
    tracer = bench.record(target)
    books = target.ask("successive 251 3")
    if "unsupported" in books:
        pytest.skip(books["unsupported"])
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_process(records, target, best_tiers(some_runtime))
    assert len(books["others"]) == 251 and sum(books["others"]) >= 251 * 4 - 1
    pauses = records.of_pid(target.pid)
    young = [p for p in pauses if p["generation"] == 0]
    # 3.8 has one collector for all: what the main interpreter counts is the sum
    own = books["collections"][0]
    assert len(young) == own + (sum(books["others"]) if some_runtime.minor >= (3, 9) else 0)
    # and says which it was, though many had one address
    seen = collections.Counter(p["interpreter"] for p in young)
    del seen[0]
    assert len(seen) == 251
    if some_runtime.minor >= (3, 9):
        assert [seen[number] for number in sorted(seen)] == books["others"]


def test_two_targets(bench, some_runtime):
    targets = [bench.oracle(some_runtime) for _ in range(2)]
    tracer = bench.record(targets[0], "-p", targets[1].pid)
    books = [target.ask("collect %d 3 2" % n) for n, target in zip((5, 7), targets)]
    # one target's end is not the end of the recording
    assert targets[0].quit() == 0
    more = targets[1].ask("collect 11 0 0")
    assert targets[1].quit() == 0
    tracer.finish()

    records = bench.report()
    check_sums(records.of_pid(targets[0].pid), books[0])
    check_sums(records.of_pid(targets[1].pid), books[1], more)


def test_storm_loses_nothing(bench, some_runtime):
    target = bench.oracle(some_runtime)
    tracer = bench.record(target)
    books = target.ask("sleepless 0.3")
    assert target.quit() == 0
    tracer.finish()

    records = bench.report()
    check_clean(records)
    check_sums(records.of_pid(target.pid), books)
