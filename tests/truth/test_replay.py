"""What gctrace says that a pause cost a GPU is what the same program loses by it in a replay of real GPUs' work."""

import collections
import copy
import json
import os
import pathlib
import random

import gct
import pytest
import replay

TRACES = pathlib.Path(__file__).resolve().parents[3] / "shared/data/kineto"  # beside the project, where it is developed
LABEL = "Optimizer.step#Adam.step"
BEGIN = 1_000_000_000_000
EXACT = 10_000
PLACES = 31 if int(os.environ.get("GCTRACE_TEST_SEEDS", 100)) >= 100 else 7
Rank = collections.namedtuple("Rank", "pauses marks end other loaded")


# The first two wait for their host most of the time, the others for their GPU.
@pytest.fixture(scope="module", params=[("alexnet", 1), ("nccl_data", 1), ("nccl_data", 5), ("nccl_data", 20)])
def program(request):
    name, slower = request.param
    path = TRACES / (name + ".json.gz")
    if not path.exists():
        pytest.skip("%s is not here: traces of real GPUs are not part of the project" % path)
    return replay.Program(path, slower)


def judged(program, pauses, folder):
    """The pauses' records, and the track."""
    played = replay.play(program, pauses)
    end = max(played.end, played.host) + 1
    marks = [BEGIN + end * i // 31 + (i * 7919 % 131) * 1000 for i in range(31)]
    placed = [pause._replace(start=BEGIN + pause.start) for pause in pauses]
    recording, trace = folder / "run.gct", folder / "trace.json"
    for path in (recording, trace):
        if path.exists():
            path.unlink()
    gct.write(recording, [Rank(placed, marks, BEGIN + end, False, 0)], False)
    replay.write(trace, program, played, BEGIN, gct.REALTIME - (marks[0] - gct.BEFORE), gct.PID, marks, LABEL)
    records = [json.loads(line) for line in
               gct.gctrace("report", recording, "-f", "json", "--gpu", trace).splitlines()]
    (track,) = records[-1]["tracks"]
    return [r for r in records if r["type"] == "pause"], track


def test_a_pause_anywhere(program, tmp_path):
    """The truth is between the ends, and where these are together the cost is exact."""
    chance = random.Random(1)
    base = replay.play(program)
    first, last = base.works[0][0], base.works[-1][0]
    wrong = []
    for _ in range(PLACES):
        pause = replay.Pause(chance.randrange(first, last), int(100_000 * 5000 ** chance.random()), 2)
        (record,), track = judged(program, [pause], tmp_path)
        truth = replay.lost(program, [pause])
        low, high = track["cost_low_ns"], track["cost_high_ns"]
        if track["cost_source"] != "measured" or not low - EXACT <= truth <= high + EXACT:
            wrong.append((pause, truth, record["cost_ns"], low, high))
    assert wrong == []


def test_many_pauses(program, tmp_path):
    """Their costs add up to what all of them cost together. Side by side, streams hide too much of each other for that."""
    program = copy.copy(program).on_one_stream()
    chance = random.Random(2)
    base = replay.play(program)
    at, end = base.works[0][0], base.works[-1][0]
    pauses = []
    while at < end and len(pauses) < 97:
        pauses.append(replay.Pause(at, int(100_000 * 100 ** chance.random()), 2))
        at += pauses[-1].length + chance.randrange((end - base.works[0][0]) // 97)
    records, track = judged(program, pauses, tmp_path)
    assert sum(record["cost_ns"] for record in records) == track["cost_ns"]
    truth = replay.lost(program, pauses)
    assert track["cost_low_ns"] - EXACT <= truth <= track["cost_high_ns"] + EXACT
