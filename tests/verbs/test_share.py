"""pause.share is the same in report, check and diff, and the report says where its own share differs."""

import json

import pytest

from recording import MS, Recording, gctrace

AUTOMATIC, SHUTDOWN = 1, 3
S = 1000 * MS


@pytest.fixture
def leaving(tmp_path):
    """10 s with pauses of 14.4 %, and of 3.5 % more at the interpreter's exit."""
    made = Recording(tmp_path / "leaving.gct")
    made.pause(1 * S, 1440 * MS, generation=2, cause=AUTOMATIC)
    made.pause(9 * S, 350 * MS, generation=2, cause=SHUTDOWN)
    return made.close(10 * S)


def measured(path, budget):
    done = gctrace("check", path, "--budget", budget, "--json")
    return json.loads(done.stdout.splitlines()[0])


def test_both_figures_are_named(leaving):
    verdict = gctrace("report", leaving).stdout.split("\n\n")[0]
    assert "(17.9 %)" in verdict.splitlines()[0]
    assert "Without the collection at the interpreter's exit: 14.4 % (pause.share)." in verdict


def test_check_says_of_what(leaving):
    found = measured(leaving, "pause.share<20%")
    assert found["outcome"] == "kept" and found["value"] == pytest.approx(0.144)
    assert "4711" in found["basis"] and "1 at an interpreter's exit not counted" in found["basis"]
    text = gctrace("check", leaving, "--budget", "pause.share<20%").stdout
    assert "1 at an interpreter's exit not counted" in text


def test_diff_means_the_same(leaving, tmp_path):
    done = gctrace("diff", leaving, leaving, "--json")
    shares = [json.loads(line) for line in done.stdout.splitlines() if "pause.share" in line]
    assert [s["before"] for s in shares if s.get("name") == "pause.share"] == [pytest.approx(0.144)]


def test_one_figure_where_there_is_one(tmp_path):
    made = Recording(tmp_path / "one.gct")
    made.pause(1 * S, 1440 * MS, generation=2, cause=AUTOMATIC)
    path = made.close(10 * S)
    verdict = gctrace("report", path).stdout.split("\n\n")[0]
    assert "(14.4 %)" in verdict.splitlines()[0] and "pause.share" not in verdict
    assert not measured(path, "pause.max<1h")["basis"]
