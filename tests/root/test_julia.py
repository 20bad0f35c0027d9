"""Julia's collections against its own books: each counted once, with the times and bytes that gc_num has."""

import os

import pytest

import conftest
import harness
import julia_harness

LATE_NS = 1_000_000  # a wait from which on the late thread is named

ALL = julia_harness.load_julias()
CHOSEN = [j for j in ALL if conftest.chosen(j) or not conftest.CHOSEN]
WITH_COMPILER = [j for j in CHOSEN if not j.embedded]
EMBEDDED = [j for j in CHOSEN if j.embedded]

julias = conftest.each("julia", CHOSEN, "Julia")
full_julias = conftest.each("julia", WITH_COMPILER, "Julia with a compiler")
embedded_julias = conftest.each("julia", EMBEDDED, "embedded Julia")


class Watched:
    """A traced Julia, with its books at the begin."""

    def __init__(self, bench, julia, oracle, *options, **more):
        self.bench, self.julia, self.oracle = bench, julia, oracle
        self.before = oracle.ask("state")
        self.tracer = bench.record(oracle, *options, **more)

    def ask(self, command):
        return self.oracle.ask(command)

    def end(self):
        """The pauses, and how much the books grew while they were seen."""
        counted = julia_harness.difference(self.oracle.ask("state"), self.before)
        assert self.tracer.interrupt() == 0
        records = self.bench.report()
        assert records.drops == []
        assert records.recording["complete"] is True
        process = records.process(self.oracle.pid)
        assert (process["runtime"], process["missed"]) == ("julia", 0)
        assert process["runtime_path"] == os.path.realpath(self.julia.root + self.julia.elf)
        self.idle_calls = process["idle_calls"]
        self.disabled_calls = process["disabled_calls"]
        pauses = sorted(records.of_pid(self.oracle.pid), key=lambda p: p["start_ns"])
        julia_harness.check_apart(pauses)
        return pauses, counted


def asked(pauses, how):
    return [p for p in pauses if p["asked"] == how]


@julias
def test_asked_for(bench, julia):
    """11 incremental and 7 full ones that were asked for, as what they were asked for."""
    watched = Watched(bench, julia, julia.books(bench))
    incremental, full = (2, 1) if julia.embedded else (0, 1)
    watched.ask("collect %d 11" % incremental)
    watched.ask("collect %d 7" % full)
    pauses, counted = watched.end()
    julia_harness.check(pauses, counted, julia.embedded)
    own = 0 if julia.embedded else 3  # the program's own, one an answer
    assert len(asked(pauses, "incremental")) == 11 + own
    assert len(asked(pauses, "full")) == 7
    assert watched.idle_calls == watched.disabled_calls == 0
    assert all(p["cause"] == "manual" for p in pauses if p["asked"] != "auto")
    assert {p["class"] for p in asked(pauses, "full")} <= {"asked full", "asked incremental"}
    assert {p["tid"] for p in pauses} == {watched.oracle.pid}


@full_julias
def test_allocation(bench, julia):
    watched = Watched(bench, julia, julia.books(bench))
    watched.ask("work 200003")
    pauses, counted = watched.end()
    julia_harness.check(pauses, counted, False)
    automatic = asked(pauses, "auto")
    assert len(automatic) >= 5
    assert {p["class"] for p in automatic} <= {"incremental", "full"}
    assert {p["cause"] for p in automatic} == {"automatic"}


@full_julias
@pytest.mark.parametrize("threads", [2, 4])
def test_allocation_in_threads(bench, julia, threads):
    oracle = julia.books(bench, threads)
    assert len(set(oracle.ready["tids"])) == threads
    watched = Watched(bench, julia, oracle)
    watched.ask("threads 50021")
    pauses, counted = watched.end()
    julia_harness.check(pauses, counted, False)
    assert {p["tid"] for p in pauses} <= set(oracle.ready["tids"])


@embedded_julias
@pytest.mark.parametrize("threads", [1, 4, 6])
def test_embedded_threads(bench, julia, threads):
    """Most calls of the collector lose to another thread's: a pause is counted where one collected."""
    watched = Watched(bench, julia, julia.books(bench))
    told = watched.ask("work %d 401 2003" % threads)
    pauses, counted = watched.end()
    # jl_gc_live_bytes() of 1.13 loses count of what threads allocated
    julia_harness.check(pauses, counted, True, threads == 1)
    assert {p["tid"] for p in pauses} <= set(told["tids"])
    assert {p["asked"] for p in pauses} == {"auto"}
    assert len(pauses) >= 7
    assert (watched.idle_calls == 0) is (threads == 1)
    assert watched.disabled_calls == 0


@embedded_julias
def test_collector_threads(bench, julia):
    """Two threads mark, one sweeps: times are those of the thread that asked for it."""
    oracle = julia.books(bench, env={"JULIA_NUM_GC_THREADS": "2,1"})
    watched = Watched(bench, julia, oracle)
    watched.ask("work 3 401 30011")
    watched.ask("collect 1 5")
    pauses, counted = watched.end()
    julia_harness.check(pauses, counted, True, False)


@full_julias
def test_finalizers(bench, julia):
    """300,007 finalizers: their time is in the pause, though not in Julia's own books."""
    watched = Watched(bench, julia, julia.books(bench))
    told = watched.ask("finalize 300007 0")
    pauses, counted = watched.end()
    julia_harness.check(pauses, counted, False)
    assert told["finalized"] in (300006, 300007)  # the last one made may still be held
    worst = max(pauses, key=lambda p: p["post_ns"])
    assert worst["post_ns"] >= 30_000_000  # of one of them alone


@full_julias
def test_collections_in_finalizers(bench, julia):
    """Of 1,009 finalizers 10 collect, too. Each is a pause of its own, and none is counted twice."""
    watched = Watched(bench, julia, julia.books(bench))
    told = watched.ask("finalize 1009 97")
    pauses, counted = watched.end()
    julia_harness.check(pauses, counted, False)
    assert told["finalized"] in (1008, 1009)
    assert len(asked(pauses, "full")) == 1
    assert len(asked(pauses, "incremental")) == 10 + 2


@full_julias
def test_slow_thread(bench, julia):
    """A thread that computes for 50 ms without a safepoint: the wait is told, and who made the others wait."""
    oracle = julia.books(bench, 2)
    oracle.ask("slow 1 5")  # compiled by then, so that it has names
    watched = Watched(bench, julia, oracle)
    told = watched.ask("slow 7 50")
    pauses, counted = watched.end()
    julia_harness.check(pauses, counted, False)
    assert len(told["slow"]) == 7
    for called_ns, until_ns, returned_ns in told["slow"]:
        (pause,) = [p for p in pauses if called_ns <= p["start_ns"] < returned_ns]
        assert pause["end_ns"] <= returned_ns
        assert pause["start_ns"] + pause["ttsp_ns"] >= until_ns
        if until_ns > pause["start_ns"] + LATE_NS:
            assert pause["late_tid"] == oracle.ready["tids"][1]
            assert pause["late_stack"][0]["function"] == "safepoint"


@julias
def test_disabled(bench, julia):
    """GC.enable(false): calls that collect nothing are no pauses. One thread's never lose to another's."""
    watched = Watched(bench, julia, julia.books(bench))
    watched.ask("enable 0")
    watched.ask("collect 1 13")
    watched.ask("work 1 101 3" if julia.embedded else "work 20011")
    middle = watched.ask("state")
    assert middle["pauses"] - watched.before["pauses"] <= 1
    watched.ask("enable 1")
    pauses, counted = watched.end()
    assert len(pauses) == counted["pauses"] <= 4
    # those asked for, and one at least that allocation made
    assert watched.idle_calls >= 13 + 1
    assert watched.disabled_calls == watched.idle_calls
    text = harness.gctrace("report", bench.file).stdout.decode()
    assert "%d collected nothing: it was disabled.\n" % watched.oracle.pid in text


@julias
def test_disabled_now_and_then(bench, julia):
    """7 and 11 calls that find it disabled, and 23 between them that do not: as many of each are told."""
    watched = Watched(bench, julia, julia.books(bench))
    for on, calls in ((0, 7), (1, 23), (0, 11), (1, 5)):
        watched.ask("enable %d" % on)
        watched.ask("collect 1 %d" % calls)
    pauses, counted = watched.end()
    assert len(pauses) == counted["pauses"]
    assert len(asked(pauses, "full")) == 23 + 5
    # each answer of Julia's own program is a call, too: those to "enable 0" and to the "collect" after it find it disabled
    assert watched.disabled_calls == watched.idle_calls == 7 + 11 + (0 if julia.embedded else 2 * 2)


@embedded_julias
def test_disabled_in_threads(bench, julia):
    """Disabled, no call of any thread loses to another's; then they lose to each other, and none finds it disabled."""
    watched = Watched(bench, julia, julia.books(bench))
    watched.ask("enable 0")
    watched.ask("work 4 101 3")
    watched.ask("enable 1")
    watched.ask("collect 1 3")
    pauses, counted = watched.end()
    assert len(pauses) == counted["pauses"]
    assert watched.disabled_calls == watched.idle_calls > 0


STORM = 4999


@julias
def test_storm(bench, julia):
    """Collections back to back, thousands a second: each is recorded, and its times add up to the nanosecond."""
    # room for all: with both processors busy the reader may not get one until the storm is over
    watched = Watched(bench, julia, julia.books(bench), "--buffer", "64M")
    watched.ask("collect %d %d" % (2 if julia.embedded else 0, STORM))
    pauses, counted = watched.end()
    julia_harness.check(pauses, counted, julia.embedded)
    own = 0 if julia.embedded else 2  # the program's own, one an answer
    assert len(asked(pauses, "incremental")) == len(pauses) == STORM + own
    assert watched.idle_calls == 0


@julias
def test_storm_in_a_small_ring(bench, julia):
    """What the ring had no room for is counted, as a drop and as missed, and nothing is counted twice."""
    # of the shortest pauses no stack is sent, so that each record that is lost is a pause's
    options = ("--buffer", "4096", "--stack-min", "1h")
    watched = Watched(bench, julia, julia.books(bench), *options)
    tracer = watched.tracer
    tracer.stop()
    watched.ask("collect %d %d" % (2 if julia.embedded else 0, STORM))
    tracer.resume()
    told = watched.ask("state")
    assert tracer.interrupt() == 0
    records = bench.report()
    pauses = records.of_pid(watched.oracle.pid)
    counted = julia_harness.difference(told, watched.before)["pauses"]
    assert counted == STORM + (0 if julia.embedded else 2)
    assert records.recording["complete"] is False
    (drop,) = records.drops
    lost = drop["count"]
    assert drop["cause"] == "ring-full" and 0 < lost < counted
    assert len(pauses) + lost == counted
    assert records.process(watched.oracle.pid)["missed"] == lost
    assert all(p["core_ns"] > 0 for p in pauses)
    julia_harness.check_apart(pauses)


@julias
def test_storm_of_refusals(bench, julia):
    """GC.enable(false): of calls that collect nothing none is a pause, and each is counted."""
    watched = Watched(bench, julia, julia.books(bench))
    watched.ask("enable 0")
    told = watched.ask("collect 1 %d" % STORM)
    assert told["pauses"] == watched.before["pauses"]
    watched.ask("enable 1")
    pauses, counted = watched.end()
    own = 0 if julia.embedded else 2  # the program's own, one an answer: refused, and collected
    assert watched.idle_calls == STORM + own
    assert len(pauses) == counted["pauses"] == own


@full_julias
def test_exit_in_a_finalizer(bench, julia):
    watched = Watched(bench, julia, julia.books(bench))
    watched.oracle.send("exit_in_finalizer")
    assert watched.oracle.wait() == 0
    watched.tracer.finish()
    records = bench.report()
    assert records.drops == []
    *before, last = sorted(records.of_pid(watched.oracle.pid), key=lambda p: p["start_ns"])
    assert last["unfinished"] is True and last["asked"] == "full"
    assert last["core_ns"] > 0 and last["duration_ns"] >= last["core_ns"]
    assert not any(p.get("unfinished") for p in before)


@full_julias
def test_workers(bench, julia):
    """julia -p: workers are processes of their own, and followed."""
    program = julia.place_program(bench, "Workers.jl")
    oracle = bench.keep(harness.Oracle(julia.argv(["-p", 2, program])))
    tracer = bench.record(oracle)
    told = oracle.ask("collect 5")
    assert tracer.interrupt() == 0
    records = bench.report()
    assert records.drops == []
    for pid, before, after in told["workers"]:
        assert len([p for p in records.of_pid(pid) if p["asked"] == "full"]) == 5
        assert len(records.of_pid(pid)) >= after - before


def started(bench, julia, *start):
    """`gctrace run` of a Julia that nobody foresees, as @start loads or starts it, once it is probed."""
    run = [os.environ["GCTRACE"], "run", "-v", "-o", bench.file, "--", *start]
    oracle = julia.books(bench, prefix=run)
    oracle.attached(": %s by " % julia.version)
    return oracle


@julias
def test_from_the_first_collection(bench, julia):
    """gctrace run: all that the books hold is seen, or came before the probes and is counted as missed."""
    oracle = started(bench, julia)
    oracle.ask("collect 1 5")
    told = oracle.ask("state")
    assert oracle.quit() == 0
    records = bench.report()
    (process,) = [p for p in records.processes if p["runtime"] == "julia"]
    seen = records.of_pid(process["pid"])
    assert told["pauses"] <= len(seen) + process["missed"] <= told["pauses"] + 1
    assert len(asked(seen, "full")) >= 5


@full_julias
def test_training(bench, julia):
    """Each step that its own books call slow has the pauses that made it so, and no other step has one."""
    program = julia.place_program(bench, "Train.jl")
    oracle = bench.keep(harness.Oracle(julia.argv([program, 401, 300_007])))
    tracer = bench.record(oracle)
    told = oracle.ask("go")
    assert tracer.interrupt() == 0
    records = bench.report()
    assert records.drops == [] and records.process(oracle.pid)["missed"] == 0
    pauses = records.of_pid(oracle.pid)
    assert len(told["steps"]) == 401
    for begin, end, collections, full, total_ns in told["steps"]:
        inside = [p for p in pauses if begin <= p["start_ns"] < end]
        assert len(inside) == collections
        assert sum(p["full_sweeps"] for p in inside) == full
        assert sum(p["core_ns"] for p in inside) == total_ns
        assert all(p["end_ns"] <= end for p in inside)
    assert 3 <= sum(bool(step[2]) for step in told["steps"]) < 200


SITES = ("call", "collected", "finalize", "marked", "over", "stopped")
OWN = {"on_julia_" + name for name in (*SITES, "exec", "exit", "safepoint")}


@full_julias
def test_others_do_not_pay(bench, some_runtime, julia):
    """No program of Julia's is loaded, and its tracepoints are free, until the session has its first Julia."""
    target = bench.oracle(some_runtime)
    tracer = bench.record(target)
    held = harness.programs_of(tracer.pid)
    assert "on_exit" in held and not any("julia" in name for name in held)
    target.ask("collect 5 3 2")
    oracle = julia.books(bench)
    other = bench.tracer("record", "-p", oracle.pid, "-o", bench.scratch / "julia.gct")
    held = harness.programs_of(other.pid)
    assert {name for name in held if "julia" in name} == {name[:15] for name in OWN}
    assert target.quit() == 0
    tracer.finish()
    assert bench.report().drops == []


@full_julias
def test_first_julia_comes_late(bench, julia):
    """Its programs come to a session that follows processes by then: a pause is still told before its process's end."""
    oracle = started(bench, julia, "sh", "-c", '"$@"', "sh")
    oracle.ask("collect 1 3")
    told = oracle.ask("state")
    oracle.send("exit_in_finalizer")
    assert oracle.wait() == 0
    records = bench.report()
    (process,) = [p for p in records.processes if p["runtime"] == "julia"]
    assert [drop["cause"] for drop in records.drops] == ["late-probes"] * bool(process["missed"])
    *before, last = sorted(records.of_pid(process["pid"]), key=lambda p: p["start_ns"])
    assert len(before) + process["missed"] >= told["pauses"]
    assert len(asked(before, "full")) >= 3
    assert last["unfinished"] is True and last["asked"] == "full" and process["exit_ns"] >= last["end_ns"]


@julias
@pytest.mark.parametrize("refused", ["session", "session,multi"])
def test_ways(bench, julia, refused, monkeypatch):
    monkeypatch.setenv("GCTRACE_REFUSE", refused)
    test_asked_for(bench, julia)


@embedded_julias
def test_lost_states(bench, julia, monkeypatch):
    """A kernel that does not always find a thread's state: what is lost for it is missed, by number."""
    oracle = julia.books(bench)
    before = oracle.ask("state")
    monkeypatch.setenv("GCTRACE_REFUSE", "task-storage")
    tracer = bench.record(oracle)
    oracle.ask("collect 2 1009")
    counted = julia_harness.difference(oracle.ask("state"), before)
    assert tracer.interrupt() == 0
    records = bench.report()
    assert records.recording["complete"] is False
    pauses = records.of_pid(oracle.pid)
    missed = records.process(oracle.pid)["missed"]
    assert counted["pauses"] == 1009
    assert len(pauses) < 1009 and len(pauses) + missed == 1009
    assert not any(p.get("unfinished") for p in pauses)
    julia_harness.check_apart(pauses)


def without_ends(bench, julia, monkeypatch, command):
    """Pauses, missed, counted: of what Julia collects where no end finds its thread's state."""
    oracle = julia.books(bench)
    before = oracle.ask("state")
    monkeypatch.setenv("GCTRACE_REFUSE", "task-storage-at-ends")
    tracer = bench.record(oracle)
    oracle.ask(command)
    counted = julia_harness.difference(oracle.ask("state"), before)["pauses"]
    assert tracer.interrupt() == 0
    records = bench.report()
    pauses, missed = records.of_pid(oracle.pid), records.process(oracle.pid)["missed"]
    assert records.recording["complete"] is False
    assert not any(p.get("unfinished") for p in pauses)
    assert len(pauses) + missed == counted
    julia_harness.check_apart(pauses)
    return pauses, missed, {d["cause"]: d["count"] for d in records.drops}


@julias
def test_lost_ends(bench, julia, monkeypatch):
    """A pause whose end is lost has ended: the last one is not said to go on, and each is missed."""
    pauses, missed, drops = without_ends(bench, julia, monkeypatch, "collect 1 7")
    assert pauses == [] and missed >= 7
    assert drops == {"thread-state": missed}


@embedded_julias
def test_lost_ends_of_threads(bench, julia, monkeypatch):
    """Nor are they left unfinished by the threads that had them, which exit."""
    pauses, missed, drops = without_ends(bench, julia, monkeypatch, "work 4 401 2003")
    assert pauses == [] and missed >= 7
    assert drops == {"thread-state": missed}


@full_julias
def test_lost_ends_in_finalizers(bench, julia, monkeypatch):
    """A collection in a finalizer ends the pause before it, so that the last one's end alone is lost."""
    pauses, missed, drops = without_ends(bench, julia, monkeypatch, "finalize 1009 97")
    assert len(asked(pauses, "full")) == 1
    assert len(asked(pauses, "incremental")) == 10 - 1
    assert drops == {"thread-state": missed}
