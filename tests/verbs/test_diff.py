"""gctrace diff: a fix that helped, one that did not, and a regression."""

import json

import pytest

from recording import MS, Recording, gctrace, training

SAME, BROKEN = 0, 99


@pytest.fixture
def spiky(tmp_path):
    return training(tmp_path / "spiky.gct", every=23)


@pytest.fixture
def quiet(tmp_path):
    return training(tmp_path / "quiet.gct")


def figures(done):
    records = [json.loads(line) for line in done.stdout.splitlines()]
    return {r["name"]: r for r in records if r["type"] == "comparison"}, records[-1]


def test_a_fix_that_helped(spiky, quiet):
    done = gctrace("diff", spiky, quiet, "--json")
    assert done.returncode == SAME, done.stderr
    found, last = figures(done)
    mean = found["step.mean"]
    # 9 of 211 steps had 50 ms more: a mean of 12.13 ms before, 10 after
    assert mean["before"] == pytest.approx((211 * 10 + 9 * 50) / 211 * MS, rel=0.01)
    assert mean["after"] == pytest.approx(10 * MS, rel=0.01)
    assert mean["low"] <= mean["change"] <= mean["high"] < 0
    assert last["comparable"] and "helped" in last["verdict"]


def test_a_regression_exits_99(spiky, quiet):
    assert gctrace("diff", quiet, spiky).returncode == BROKEN
    assert gctrace("diff", quiet, spiky, "--tolerance", "400%").returncode == SAME


def test_no_difference(quiet, tmp_path):
    other = training(tmp_path / "other.gct", steps=199)
    done = gctrace("diff", quiet, other, "--json")
    assert done.returncode == SAME
    found, _ = figures(done)
    assert found["step.median"]["change"] == pytest.approx(0, abs=0.01)


def test_without_steps_only_pauses_are_compared(tmp_path):
    paths = []
    for name, length in (("a", 40), ("b", 80)):
        made = Recording(tmp_path / (name + ".gct"))
        for i in range(7):
            made.pause(i * 100 * MS, length * MS, generation=2)
        paths.append(made.close(10**9))
    found, last = figures(gctrace("diff", *paths, "--json"))
    assert not last["comparable"]
    assert not any(n.startswith("step.") and f["before"] is not None for n, f in found.items())
    assert found["pause.max"]["change"] == pytest.approx(1.0)


def test_json_follows_the_schema(spiky, quiet):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(gctrace("schema", "json").stdout)
    found, last = figures(gctrace("diff", spiky, quiet, "--json"))
    assert found
    for one in [*found.values(), last]:
        jsonschema.validate(one, schema)


def test_two_recordings_are_needed(spiky):
    assert gctrace("diff", spiky).returncode == 2
    assert gctrace("diff", spiky, "none.gct").returncode == 1
    assert gctrace("diff", spiky, spiky, "--tolerance", "much").returncode == 2


def warming_up(path, slow):
    """211 steps of 10 ms, the first `slow` of them of 100 ms; a pause of 5 ms in every 7th."""
    made = Recording(path)
    series, now = made.signal("torch:record", "Optimizer.step#Adam.step"), 0
    for i in range(211):
        made.mark(series, now)
        now += (100 if i < slow else 10) * MS + (i * 7919 % 101 - 50) * 1000
        if i % 7 == 6:
            made.pause(now - 6 * MS, 5 * MS, generation=2)
    return made.close(now)


def test_a_warm_up_is_said(tmp_path):
    """Its means differ from those of report and check for the same file."""
    cold, warm = warming_up(tmp_path / "cold.gct", 3), warming_up(tmp_path / "warm.gct", 0)
    done = gctrace("diff", cold, warm)
    assert "leave out the first steps, 3 before and 0 after" in done.stdout
    last = json.loads(gctrace("diff", cold, warm, "--json").stdout.splitlines()[-1])
    assert (last["warm_up_before"], last["warm_up_after"]) == (3, 0)
    assert "warm-up" not in gctrace("diff", warm, warm).stdout
