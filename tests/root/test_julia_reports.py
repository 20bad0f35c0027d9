"""What reports, the live view, doctor and budgets say of a Julia that really ran."""

import json
import re

import pytest

import conftest
import harness
import julia_harness

JULIAS = [j for j in julia_harness.load_julias() if conftest.chosen(j) or not conftest.CHOSEN]
julias = conftest.each("julia", [j for j in JULIAS if not j.embedded], "Julia with a compiler")

FULL, INCREMENTAL, SLOW = 5, 3, 3
LATE_MS = 50  # that thread 2 reaches no safepoint


@pytest.fixture
def recorded(bench, julia):
    """A recording of collections of each kind, and of a thread that was late."""
    target = julia.books(bench, 2)
    target.ask("state")
    tracer = bench.record(target)
    target.ask("work 200003")
    target.ask("collect 0 %d" % INCREMENTAL)
    target.ask("collect 1 %d" % FULL)
    target.ask("slow %d %d" % (SLOW, LATE_MS))
    target.ask("enable 0")
    target.ask("collect 1 2")
    target.ask("enable 1")
    assert tracer.interrupt() == 0
    return target


def report(bench, *options):
    done = harness.gctrace("report", bench.file, *options)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def rows(text, title):
    """Of a table of the text report: the first word or words of each row → the number behind them."""
    (table,) = [part for part in text.split("\n\n") if part.split("\n")[0].startswith(title)]
    found = re.findall(r"^  (\S+(?: \S+)*?) {2,}(\d+) ", table, re.M)
    return {name: int(number) for name, number in found}


@julias
def test_text(bench, recorded):
    pauses = bench.report().of_pid(recorded.pid)
    text = report(bench)
    classes = rows(text, "Pauses of Julia by class")
    assert classes.pop("all") == len(pauses)
    assert classes == {
        name: len([p for p in pauses if p["class"] == name]) for name in {p["class"] for p in pauses}
    }
    assert classes["asked full"] == FULL
    for part in ("reaching (time to safepoint)", "marking", "sweeping", "finalizers and callbacks"):
        assert re.search(r"^  %s +\d+ " % re.escape(part), text, re.M), part
    assert "\nHeap in use after collections" in text
    late = text.split("\nThreads that pauses had to wait for")[1].split("\n\n")[0]
    assert re.search(r" %d +%d " % (recorded.ready["tids"][1], len(named(pauses, recorded))), late)
    assert re.search(
        r"^  \d+ calls of the collector of process %d collected nothing" % recorded.pid, text, re.M)


def named(pauses, target):
    """Those for which thread 2 was late."""
    return [p for p in pauses if p["late_tid"] == target.ready["tids"][1]]


@julias
def test_json(bench, recorded):
    records = bench.report()
    pauses = records.of_pid(recorded.pid)
    sums = {f["fact"]: f for f in records.summary["facts"]}
    for key in ("ttsp_ns", "core_ns", "mark_ns", "sweep_ns", "post_ns"):
        known = [p[key] for p in pauses if p[key] is not None]
        assert sums[key] == {"runtime": "julia", "fact": key, "known": len(known),
                             "sum_ns": sum(known), "max_ns": max(known)}
    for pause in pauses:
        assert pause["heap_before_bytes"] - pause["live_bytes"] == pause["freed_bytes"]
    assert {p["asked"] for p in pauses} == {"auto", "full", "incremental"}
    assert named(pauses, recorded)
    (process,) = [p for p in records.processes if p["runtime"] == "julia"]
    assert process["idle_calls"] >= 2


@julias
def test_page(bench, recorded):
    page = report(bench, "-f", "html")
    assert "Pauses of Julia by class" in page
    for part in ("asked full", "Marking", "Sweeping", "Finalizers and callbacks"):
        assert part in page


@julias
def test_budgets(bench, recorded):
    """Each is the plain maximum of its fact, and breaks just below that."""
    pauses = bench.report().of_pid(recorded.pid)
    for metric, key in (("ttsp", "ttsp_ns"), ("mark", "mark_ns"), ("sweep", "sweep_ns"), ("post", "post_ns")):
        most = max(p[key] for p in pauses)
        for limit, status in ((most + 1, 0), (most, 99)):
            budget = "%s.max<%dns" % (metric, limit)
            done = harness.gctrace("check", bench.file, "--json", "--budget", budget)
            assert done.returncode == status, (budget, done.stdout, done.stderr)
            (judged,) = [r for r in map(json.loads, done.stdout.decode().splitlines())
                         if r["type"] == "budget"]
            assert judged["outcome"] == ("broken" if status else "kept")
            assert judged["value"] == most
    done = harness.gctrace("check", bench.file, "--budget", "ttsp.p99<5ms,full.count<%d" % (FULL + 1))
    assert done.returncode == 99
    assert b"ttsp.p99" in done.stdout


@julias
def test_live(bench, julia):
    target = julia.books(bench, 2)
    target.ask("state")
    tracer = harness.Tracer(["-p", str(target.pid), "--min-duration", "0"])
    target.ask("collect 1 %d" % FULL)
    target.ask("slow 1 %d" % LATE_MS)
    assert tracer.interrupt() == 0
    lines = tracer.out.text().splitlines()
    (head,) = [l for l in lines if l.startswith("TIME ")]
    assert head.split() == ["TIME", "PID", "COMM", "GC", "DURATION", "REACH", "HEAP", "REASON", "FRAME"]
    full = [l for l in lines if re.search(r" %d julia +full! " % target.pid, l)]
    assert len(full) == FULL
    assert all(re.search(r" \d+[KM]→\d+[KM]  manual ", l) for l in full)


@julias
def test_doctor(bench, julia):
    target = julia.books(bench)
    done = harness.gctrace("doctor", "-p", target.pid)
    text = done.stdout.decode()
    assert done.returncode == 0, text
    assert julia.version in text
    assert "jl_gc_collect" in text
