"""report and check on a recording of two JVMs: what --gc-only leaves out, budgets of safepoints."""

import json
import pathlib
import sqlite3

import pytest

from recording import gctrace

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "jvm.sql"
# Of its 11 pauses: ThreadDump, ICBufferFull and a metadata operation that collected nothing.
PAUSES, WITHOUT_COLLECTION, COLLECTED_NS, OTHER_NS = 11, 3, 113_795_679, 40_813_000
KEPT, BLIND, BROKEN = 0, 3, 99


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "jvm.gct"
    db = sqlite3.connect(str(path))
    db.executescript(gctrace("schema", "sql").stdout)
    db.executescript(GOLDEN.read_text())
    db.commit()
    db.close()
    return path


def records(path, *options):
    done = gctrace("report", path, "-f", "json", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_type(kind, lines):
    return [line for line in lines if line["type"] == kind]


def test_gc_only_leaves_safepoints_out_of_lists_and_totals(recording):
    everything, collections = records(recording), records(recording, "--gc-only")
    assert len(of_type("pause", everything)) == PAUSES
    left = of_type("pause", collections)
    assert len(left) == PAUSES - WITHOUT_COLLECTION
    assert all(pause["gc"] is not False for pause in left)
    before, after = everything[-1], collections[-1]
    assert (before["pauses"], after["pauses"]) == (PAUSES, PAUSES - WITHOUT_COLLECTION)
    assert before["pause_ns"] == COLLECTED_NS + OTHER_NS
    assert after["pause_ns"] == COLLECTED_NS
    assert after["left_out"] == WITHOUT_COLLECTION


def test_stalls_and_phases_are_in_no_total(recording):
    lines = records(recording)
    stalls, phases = of_type("stall", lines), of_type("phase", lines)
    assert (len(stalls), len(phases)) == (9, 3)
    assert sum(s["duration_ns"] for s in stalls) > lines[-1]["pause_ns"]
    assert lines[-1]["pause_ns"] == sum(p["duration_ns"] for p in of_type("pause", lines))


def test_the_longest_is_named(recording):
    """A budget of a part of safepoints names the one with the longest part, which was not the longest."""
    def said(budget):
        return gctrace("check", recording, "--budget", budget).stdout

    assert "; the longest, of 61.00 ms (G1CollectFull), began" in said("pause.max<1ms")
    db = sqlite3.connect(str(recording))
    db.execute("UPDATE safepoint SET ttsp_ns = 0 WHERE ttsp_ns IS NULL")
    db.commit()
    db.close()
    assert "ttsp.max is 31.00 ms, not below 1.000 ms; the longest, in a safepoint of 31.10 ms (ICBufferFull), began" in said("ttsp.max<1ms")


def test_a_share_of_one_process_beside_a_line_of_all(recording):
    """What one line of code triggered in both JVMs may be more than one of them paused at all: whose it is is said."""
    said = gctrace("check", recording, "--budget", "pause.share<0.1%").stdout
    assert "pause.share is 1.5 %, not below 0.10 % in java (pid 4711); in all processes " in said


@pytest.mark.parametrize("budget, options, status", [
    ("pause.count<12", [], KEPT),
    ("pause.count<9", [], BROKEN),
    ("pause.count<9", ["--gc-only"], KEPT),
    ("stall.max<2s", [], KEPT),
    ("stall.max<1s", [], BROKEN),
    ("ttsp.max<32ms", [], BLIND),  # not known for one pause
    ("full.count<2", [], KEPT),
    ("full.count<1", [], BROKEN),
])
def test_budgets(recording, budget, options, status):
    done = gctrace("check", recording, "--budget", budget, *options)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("budget, options, status", [
    ("ttsp.max<32ms", [], KEPT),
    ("ttsp.max<31ms", [], BROKEN),
    ("ttsp.max<31ms", ["--gc-only"], KEPT),  # the long one was not a collection's
])
def test_budgets_of_times_to_safepoint(recording, budget, options, status):
    db = sqlite3.connect(str(recording))
    unknown = "SELECT pause FROM safepoint WHERE ttsp_ns IS NULL"
    assert db.execute("DELETE FROM pause WHERE id IN (%s)" % unknown).rowcount == 1
    db.execute("DELETE FROM safepoint WHERE ttsp_ns IS NULL")
    db.commit()
    db.close()
    done = gctrace("check", recording, "--budget", budget, *options)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)


def test_python_has_no_time_to_safepoint(tmp_path):
    from recording import training

    done = gctrace("check", training(tmp_path / "python.gct"), "--budget", "ttsp.max<1s")
    assert done.returncode == BLIND, (done.returncode, done.stdout)


def test_the_text_says_what_was_left_out(recording):
    done = gctrace("report", recording, "--gc-only")
    assert done.returncode == 0
    assert "ThreadDump" not in done.stdout
    assert "3 safepoints" in done.stdout
    assert "ThreadDump" in gctrace("report", recording).stdout
