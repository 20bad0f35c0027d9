"""The imagined runtime of tests/toy, traced for real: what gctrace does for a runtime that no room knows."""

import json
import os
import re
import sqlite3
import subprocess
from pathlib import Path

import pytest

import harness

ROOM = Path(os.environ.get("GCTRACE", "")).parent / "tests" / "toy"
MINOR, MAJOR = 23, 7
LENGTH_US = 500

pytestmark = pytest.mark.skipif(
    not (ROOM / "toy").exists(), reason="gctrace was built without the toy (-Dtoy=true)"
)


@pytest.fixture
def toy(bench):
    return bench.keep(harness.Oracle([ROOM / "toy"]))


def stops(records, process):
    return sorted(records.of_pid(process.pid), key=lambda p: p["start_ns"])


def of_class(pauses):
    return [sum(p["class"] == name for p in pauses) for name in ("minor", "major")]


def facts(path):
    """What the recording holds of each pause: {pause: {key: value}}."""
    found = {}
    with sqlite3.connect(str(path)) as file:
        for pause, key, value in file.execute("SELECT pause, key, value FROM fact"):
            found.setdefault(pause, {})[key] = value
    return found


def check_books(pauses, told, stored):
    """Each stop is one that the toy has told of, in its order, and the other way round."""
    assert of_class(pauses) == [told["minor"], told["major"]]
    assert len(pauses) == len(told["collections"]) == len(stored)
    for pause, (major, mark_ns, swept, start_ns, end_ns) in zip(pauses, told["collections"]):
        assert pause["class"] == ("major" if major else "minor")
        assert pause["full"] is bool(major) and pause["gc"] is True
        assert pause["generation"] is None and pause["cause"] == "manual"
        assert pause["start_ns"] <= start_ns and end_ns <= pause["end_ns"]
        assert stored[pause["id"]] == {"mark_ns": mark_ns, "swept_bytes": swept}
        assert [pause["mark_ns"], pause["swept_bytes"]] == [mark_ns, swept]


def test_each_stop(bench, toy):
    tracer = bench.record(toy)
    told = toy.ask("collect %d %d %d" % (MINOR, MAJOR, LENGTH_US))
    assert [told["minor"], told["major"]] == [MINOR, MAJOR]
    assert toy.quit() == 0
    tracer.finish()

    records = bench.report()
    assert records.recording["complete"] is True and records.drops == []
    process = records.process(toy.pid)
    assert (process["runtime"], process["tier"], process["missed"]) == ("toy", "symbol", 0)
    pauses = stops(records, toy)
    check_books(pauses, told, facts(bench.file))
    assert {p["tid"] for p in pauses} == {toy.pid}


def test_from_the_first_stop(bench):
    done = subprocess.run(
        [os.environ["GCTRACE"], "run", "-o", bench.file, "--", ROOM / "toy"],
        input=b"collect %d %d %d\n" % (MINOR, MAJOR, LENGTH_US),
        stdout=subprocess.PIPE,
        timeout=60 * harness.SLOWNESS,
    )
    assert done.returncode == 0
    told = json.loads(done.stdout.splitlines()[1])
    records = bench.report()
    assert records.recording["complete"] is True and records.drops == []
    check_books(sorted(records.pauses, key=lambda p: p["start_ns"]), told, facts(bench.file))


def test_hidden_collections_are_missed(bench, toy):
    """What only the books hold is said to be missing: before a stop that is seen, and at the end."""
    tracer = bench.record(toy)
    toy.ask("hide 5")
    told = toy.ask("collect 2 1 %d" % LENGTH_US)
    toy.ask("hide 11")
    assert tracer.interrupt() == 0

    assert [told["minor"], told["major"]] == [5 + 2, 1]
    records = bench.report()
    assert records.process(toy.pid)["missed"] == 5 + 11
    assert records.recording["complete"] is False
    assert of_class(stops(records, toy)) == [2, 1]


def test_joined_and_left_within_a_stop(bench, toy):
    """A stop that was under way, one that still is, and the collections between: nothing is missed."""
    toy.ask("stop")
    tracer = bench.record(toy)
    toy.ask("go")
    told = toy.ask("collect %d %d %d" % (MINOR, MAJOR, LENGTH_US))
    toy.ask("stop")
    assert tracer.interrupt() == 0

    records = bench.report()
    assert records.process(toy.pid)["missed"] == 0
    assert records.recording["complete"] is True and records.drops == []
    first, *pauses, last = stops(records, toy)
    if not first.get("begun_before"):  # it may have ended before it was looked at twice
        pauses.insert(0, first)
    assert of_class(pauses) == [MINOR, MAJOR] == [told["minor"], told["major"] - 1]
    assert last["unfinished"] is True and last["class"] == "major" and last["full"] is True
    assert last["mark_ns"] is None and last["swept_bytes"] is None
    assert not any(p.get("unfinished") or p.get("begun_before") for p in pauses)


# What only CPython's reports may say, and what only HotSpot's.
OF_CPYTHON = ("eneration", "GEN", "gen ", "GIL", "nterpreter", "Python", "COLLECTED", "ncollectable")
OF_HOTSPOT = ("afepoint", "JVM", "Java", "REACH", "young")
OF_THE_TOY = ("Stops", "stops", "held", "minor", "major", "marking", "swept", "Toy")


def rendered(path, form, binary=None):
    done = subprocess.run(
        [binary or os.environ["GCTRACE"], "report", path, "-f", form, "-o", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=60 * harness.SLOWNESS,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def page_data(path, binary=None):
    """What the page's script reads."""
    page = rendered(path, "html", binary)
    at = page.index('{"recording"')
    return json.JSONDecoder().raw_decode(page[at:])[0]


def assert_none(words, text):
    assert [word for word in words if word in text] == []


def row(text, name):
    """The cells of the line of a table that begins with @name."""
    (line,) = [l for l in text.splitlines() if l.startswith("  %s " % name)]
    return line.split()[len(name.split()) :]


def recorded(bench, toy):
    tracer = bench.record(toy)
    told = toy.ask("collect %d %d %d" % (MINOR, MAJOR, LENGTH_US))
    assert toy.quit() == 0
    tracer.finish()
    return told


def test_live(bench, toy):
    """A line a stop, under a heading of its own."""
    tracer = bench.tracer("-p", toy.pid, "--min-duration", "0")
    toy.ask("collect %d %d %d" % (MINOR, MAJOR, LENGTH_US))
    assert toy.quit() == 0
    tracer.finish()
    head, *lines = tracer.out.text().splitlines()[: 1 + MINOR + MAJOR]
    assert head.split() == ["TIME", "PID", "COMM", "CLASS", "REASON", "DURATION", "FRAME"]
    classes = [line.split()[3] for line in lines]
    assert [classes.count("minor"), classes.count("major")] == [MINOR, MAJOR]


def test_text(bench, toy):
    recorded(bench, toy)
    text = rendered(bench.file, "text")
    assert text.startswith("Stops held toy (%d) for " % toy.pid)
    assert ": %d stops, longest " % (MINOR + MAJOR) in text.splitlines()[0]
    assert row(text, "minor")[0] == str(MINOR) and row(text, "major")[0] == str(MAJOR)
    assert row(text, "marking")[0] == str(MINOR + MAJOR)
    assert "\nLongest stops of Toy (" in text
    assert_none(OF_CPYTHON + OF_HOTSPOT, text)


def test_json(bench, toy):
    told = recorded(bench, toy)
    summary = harness.report(bench.file).summary
    marks = [mark_ns for _, mark_ns, *_ in told["collections"]]
    swept = [swept for _, _, swept, *_ in told["collections"]]
    assert [(c["runtime"], c["class"], c["pauses"]) for c in summary["classes"]] == [
        ("toy", "minor", MINOR),
        ("toy", "major", MAJOR),
    ]
    facts = {f["fact"]: f for f in summary["facts"]}
    assert {f["known"] for f in facts.values()} == {MINOR + MAJOR}
    assert (facts["mark_ns"]["sum_ns"], facts["mark_ns"]["max_ns"]) == (sum(marks), max(marks))
    assert summary["generations"] == [] and "safepoints" not in summary
    assert_none(OF_CPYTHON + OF_HOTSPOT, summary["verdict"])


def test_page(bench, toy):
    told = recorded(bench, toy)
    data = page_data(bench.file)
    assert {"minor", "major"} <= set(data["classes"])
    longest = sorted(
        (pause["mark_ns"], pause["swept_bytes"]) for table in data["longest"] for pause in table["rows"]
    )
    assert longest == sorted((mark_ns, swept) for _, mark_ns, swept, *_ in told["collections"])
    assert_none(OF_CPYTHON + OF_HOTSPOT, json.dumps(data))


def test_built_without_it(bench, toy):
    """A gctrace that does not know the toy shows what any pause has, in nobody else's words."""
    recorded(bench, toy)
    without = ROOM / "gctrace-without-toy"
    text = rendered(bench.file, "text", without)
    assert row(text, "full")[0] == str(MAJOR) and row(text, "unknown")[0] == str(MINOR)
    records = harness.Records(rendered(bench.file, "json", without))
    for pause in records.pauses:
        assert pause["gc"] is (True if pause["full"] else None)
        assert "mark_ns" not in pause and pause["generation"] is None
    data = page_data(bench.file, without)
    for said in (text, records.summary["verdict"], json.dumps(data)):
        assert_none(OF_CPYTHON + OF_HOTSPOT + OF_THE_TOY, said.replace("toy/toy", ""))


def check(path, budget):
    """The exit status of gctrace check, and what it said."""
    done = harness.gctrace("check", path, "--budget", budget)
    return done.returncode, (done.stdout + done.stderr).decode()


def test_budgets(bench, toy, some_runtime):
    """By what all pauses have, by a metric of its own, and by that where there is no toy."""
    told = recorded(bench, toy)
    longest_ns = max(mark_ns for _, mark_ns, *_ in told["collections"])
    for budget, kept in (
        ("pause.count<=%d" % (MINOR + MAJOR), True),
        ("pause.count<%d" % (MINOR + MAJOR), False),
        ("full.count<=%d" % MAJOR, True),
        ("full.count<%d" % MAJOR, False),
        ("mark.max<=%dns" % longest_ns, True),
        ("mark.max<%dns" % longest_ns, False),
    ):
        assert check(bench.file, budget)[0] == (0 if kept else 99), budget

    python = bench.oracle(some_runtime)
    tracer = bench.record(python)
    python.ask("collect 2 2 2")
    assert python.quit() == 0
    tracer.finish()
    status, said = check(bench.file, "mark.max<1h")
    assert status == 3 and re.search("mark.max needs (a Julia or )?a toy", said)


STEPS, EVERY, SLOW_US = 11 * 13, 11, 20000


def trained(bench, toy):
    """A recording of its training, and what it told of its collections."""
    tracer = bench.record(toy, "--step", "toy:toy_step/1")
    told = toy.ask("train %d %d %d" % (STEPS, EVERY, SLOW_US))
    assert toy.quit() == 0
    tracer.finish()
    return told


def test_steps(bench, toy):
    """Each stop is charged to its step, and each step is of the highest class among its stops."""
    told = trained(bench, toy)
    records = bench.report()
    assert records.recording["complete"] is True and records.drops == []
    check_books(stops(records, toy), told, facts(bench.file))
    steps = sorted((r for r in records.of("step") if r["pid"] == toy.pid), key=lambda s: s["index"])
    assert [s["index"] for s in steps] == list(range(STEPS + 1))  # the last one ends with the toy
    for step in steps:
        slow = step["index"] % EVERY == EVERY - 1
        after = step["index"] % EVERY == 0 and 0 < step["index"] < STEPS
        assert step["class"] == ("major" if slow else "minor" if after else None)
        assert step["pauses"] == (2 if slow else 1 if after else 0)
        assert step["generation"] is None
    for pause in stops(records, toy):
        step = steps[pause["step"]]
        assert step["start_ns"] <= pause["start_ns"] and pause["end_ns"] <= step["end_ns"]
        assert pause["overlap_ns"] == pause["duration_ns"]
        assert [f["function"] for f in pause["stack"]] == ["train", "main"]


def test_slow_steps(bench, toy):
    """What made them slow, where, and what would have helped, in its own words."""
    trained(bench, toy)
    text = rendered(bench.file, "text")
    assert text.startswith("Stops stopped training for ")
    assert "\n  felt   Every %dth step is " % EVERY in text
    assert "\n  cause  Major sweeps: " in text and "\n  where  Triggered in train" in text
    (heading,) = [l for l in text.splitlines() if l.endswith("TRIGGERED IN") and "CLASS" in l]
    assert heading.split()[-3] == "CLASS"
    assert_none(OF_CPYTHON + OF_HOTSPOT, text)

    summary = harness.report(bench.file)
    major_ns = sum(p["duration_ns"] for p in stops(summary, toy) if p["class"] == "major")
    (advice,) = summary.of("advice")
    assert (advice["advice"], advice["title"]) == ("toy-minor-only", "Leave out major sweeps")
    assert 0 < advice["saves_ns"] <= major_ns


def test_flame_graph(bench, toy):
    told = trained(bench, toy)
    folded = rendered(bench.file, "folded")
    leaves = [line.rsplit(" ", 1)[0] for line in folded.splitlines()]
    origin = "toy (%d);main;train;" % toy.pid
    assert sorted(leaves) == [origin + "[major]", origin + "[minor]"]
    picture = rendered(bench.file, "flamegraph")
    for name, count in (("major", told["major"]), ("minor", told["minor"])):
        assert re.search(r"<title>%s, manual\n[^<]* %d pauses</title>" % (name, count), picture)
    assert_none(("gen ",), picture)


def test_it_has_no_generations(bench, toy):
    recorded(bench, toy)
    done = harness.gctrace("report", bench.file, "--min-generation", "1")
    assert done.returncode == 1
    assert b"the stops of Toy have no generations, but classes: minor, major, unknown" in done.stderr


def test_doctor(toy):
    text = harness.gctrace("doctor", "-p", toy.pid).stdout.decode()
    assert "toy 1: %s" % (ROOM / "toy") in text
    assert "symbol               toy_stop, toy_go   <- " in text


def test_beside_cpython(bench, toy, some_runtime):
    """In one recording each runtime's pauses are its own."""
    python = bench.oracle(some_runtime)
    tracer = bench.tracer("record", "-p", toy.pid, "-p", python.pid, "-o", bench.file)
    told = toy.ask("collect %d %d %d" % (MINOR, MAJOR, LENGTH_US))
    books = python.ask("collect 13 11 7")
    assert toy.quit() == 0 and python.quit() == 0
    tracer.finish()

    records = bench.report()
    assert records.recording["complete"] is True and records.drops == []
    assert records.process(toy.pid)["runtime"] == "toy"
    assert records.process(python.pid)["runtime"] == "cpython"
    stored, first = facts(bench.file), stops(records, python)[0]
    assert set(stored.pop(first["id"])) == {"threshold0", "threshold1", "threshold2"}  # which never change
    check_books(stops(records, toy), told, stored)
    assert harness.per_generation(stops(records, python)) == books["collections"]
    text = rendered(bench.file, "text")
    for name, count in (("minor", MINOR), ("major", MAJOR), ("0", 13), ("1", 11), ("2", 7)):
        assert row(text, name)[0] == str(count), name
    assert "\nStops of Toy by class\n" in text
    assert check(bench.file, "full.count<=%d" % (MAJOR + 7))[0] == 0
    assert check(bench.file, "full.count<%d" % (MAJOR + 7))[0] == 99
