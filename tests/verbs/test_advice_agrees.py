"""What is advised agrees with what is said: over recordings of many kinds, nothing contradicts the rest of the report."""

import glob
import itertools
import json
import os

import pytest

from recording import BEGIN, MS, Recording, gctrace

MUCH = 0.05  # of the time: pauses that take so much are not called nothing
SOME = 0.01  # ATTRIB_OUTSIDE: so much elsewhere and "look elsewhere" is wrong
GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")


def shares(summary):
    """Of each process's training time what pauses took of it."""
    return [track["overlap_ns"] / track["time_ns"] for track in summary["tracks"] if track["time_ns"]]


def contradictions(lines):
    """Sentences; none where the report agrees with itself."""
    summary, advice = lines[-1], [r for r in lines if r["type"] == "advice"]
    alone = [r for r in advice if r["title"] == "Leave the collector alone"]
    saving = [r for r in advice if r["saves_ns"]]
    span = summary["span_ns"] or 1
    told = "was lost, so there is nothing to gain"
    if len({(r["advice"], r["line"], r["title"]) for r in advice}) != len(advice):
        yield "advised twice"
    if any(r["advice"] == "nothing" for r in advice) and len(advice) > 1:
        yield "nothing and something"
    if alone and summary["pause_ns"] > MUCH * span and told not in alone[0]["estimate"]:
        yield "leave alone what takes much"
    if alone and summary["elsewhere_ns"] > MUCH * span:
        yield "leave alone, and processes without steps pause for long"
    if "look elsewhere" in summary["verdict"] and saving:
        yield "look elsewhere, and advice"
    if "look elsewhere" in summary["verdict"] and summary["elsewhere_ns"] > SOME * span:
        yield "look elsewhere, and processes without steps pause"
    if ("look elsewhere" in summary["verdict"] and max(shares(summary), default=0) > MUCH
            and told not in alone[0]["estimate"]):
        yield "look elsewhere, and steps pause"
    for r in saving:
        if not r["saves_low_ns"] <= r["saves_ns"] <= r["saves_high_ns"] or (r["worse_ns"] and r["saves_low_ns"]):
            yield "a saving outside its own range"
        if "interval" in r["estimate"] + r["risk"] + r["title"]:
            yield "a range that is called an interval"


def second_process(made, start, length):
    """One without steps, no child of the other, which pauses once."""
    made.db.execute("INSERT INTO process VALUES (2, 4712, 4712, 1, 'helper', NULL, ?, NULL)", (BEGIN,))
    made.db.execute(
        "INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed)"
        " VALUES (2, 2, 'cpython', '3.11.2', 'symbol', NULL, 'gc_collect_main', ?, 0)", (BEGIN,))
    made.pause(start, length, generation=2, collected=10, heap_objects=200000, heap_pending=20000)
    made.db.execute("UPDATE pause SET runtime = 2, tid = 4712 WHERE id = (SELECT max(id) FROM pause)")


# Of a loop of 211 steps of 10 ms: (ms that a full collection takes, every how many steps); a pause after the loop; one of
# another process; what they freed.
INSIDE = ((0, 0), (50, 53), (0.2, 2))
OUTSIDE = (0, 300)
OTHER = (0, 5, 700)
COLLECTED = (0, 90000)


def record(path, inside, outside, other, collected):
    made = Recording(path)
    series, now = made.signal("torch:record", "Optimizer.step#Adam.step"), 0
    length, every = int(inside[0] * MS), inside[1]
    for i in range(211):
        made.mark(series, now)
        step = 10 * MS + (i * 7919 % 101 - 50) * 1000
        if every and i % every == every - 1:
            made.pause(now + step // 2, length, generation=2, collected=collected, heap_objects=300000, heap_pending=80000)
            step += length
        now += step
    made.mark(series, now)
    if outside:
        made.pause(now + 20 * MS, outside * MS, generation=2, collected=collected, heap_objects=300000, heap_pending=80000)
    if other:
        second_process(made, now // 3, other * MS)
    made.close(max(now, made.end) + 40 * MS)
    return path


@pytest.mark.parametrize("inside,outside,other,collected", itertools.product(INSIDE, OUTSIDE, OTHER, COLLECTED))
def test_made_up_recordings(tmp_path, inside, outside, other, collected):
    done = gctrace("report", record(tmp_path / "made.gct", inside, outside, other, collected), "-f", "json")
    assert done.returncode == 0, done.stderr
    assert not list(contradictions([json.loads(line) for line in done.stdout.splitlines()]))


@pytest.mark.parametrize("path", sorted(glob.glob(os.path.join(GOLDEN, "*.json"))), ids=os.path.basename)
def test_golden_reports(path):
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    assert not list(contradictions(lines))
