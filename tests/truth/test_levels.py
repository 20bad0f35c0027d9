"""How many steps a loop has is right, or said with less than the confidence from which on claims are made."""

import os

import pytest
from gct import gctrace, summary, write_marks
from levels import KNOWN, LEVELS, OFFERED, play, server

SEEDS = int(os.environ.get("GCTRACE_TEST_SEEDS", 100))
CONFIDENT = 0.7


def recorded(loop, name, seed, folder):
    run = play(loop, "%s/%d" % (name, seed))
    path = folder / "run.gct"
    if path.exists():
        path.unlink()
    write_marks(path, run.marks, run.pauses, run.end)
    return path, run


@pytest.mark.parametrize("name", LEVELS)
def test_levels(name, tmp_path):
    wrong, known = [], 0
    for seed in range(SEEDS):
        path, run = recorded(LEVELS[name], name, seed, tmp_path)
        (track,) = summary(path)["tracks"]
        right = track["steps"] == run.steps
        offered = [level["signal"] for level in track["levels"] if level["steps"] == run.steps]
        if name in OFFERED and offered:
            (again,) = summary(path, "--step", offered[0])["tracks"]
            assert again["steps"] == run.steps
            assert offered[0] in track["note"]
            continue
        if track["confidence"] >= CONFIDENT and not right:
            wrong.append((seed, run.steps, track["steps"], track["confidence"], track["note"]))
        known += right and track["confidence"] >= CONFIDENT
    assert wrong == []
    assert known == SEEDS or name not in KNOWN


def test_server(tmp_path):
    """Its requests are no steps by themselves, and as many as it has answered where they are asked for."""
    for seed in range(SEEDS):
        path, run = recorded(server, "server", seed, tmp_path)
        assert summary(path)["tracks"] == []
        (track,) = summary(path, "--step", "http:request")["tracks"]
        assert track["steps"] == run.steps
