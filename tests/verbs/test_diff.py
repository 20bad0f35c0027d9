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
    # the worst steps take 60 ms instead of 10
    assert gctrace("diff", quiet, spiky, "--tolerance", "490%").returncode == BROKEN
    assert gctrace("diff", quiet, spiky, "--tolerance", "510%").returncode == SAME


def test_formats(spiky, quiet, tmp_path):
    """What the page shows is in tests/browser/test_html_diff.py."""
    text, page = tmp_path / "diff.txt", tmp_path / "diff.html"
    plain = gctrace("diff", spiky, quiet)
    assert plain.stdout == gctrace("diff", spiky, quiet, "-f", "text").stdout
    assert gctrace("diff", spiky, quiet, "--json").stdout == gctrace("diff", spiky, quiet, "-f", "json").stdout
    assert gctrace("diff", spiky, quiet, "-o", text).stdout == "" and text.read_text() == plain.stdout
    assert gctrace("diff", quiet, spiky, "-f", "html", "-o", page).returncode == BROKEN
    assert page.read_text().startswith("<!DOCTYPE html>") and page.read_text().count("<iframe ") == 2
    done = gctrace("diff", spiky, quiet, "-f", "flamegraph")
    assert (done.returncode, done.stdout) == (2, "") and "text, json, html" in done.stderr
    assert gctrace("diff", spiky, quiet, "-o", quiet).returncode != 0  # never over a recording


def test_no_difference(quiet, tmp_path):
    other = training(tmp_path / "other.gct", steps=199)
    done = gctrace("diff", quiet, other, "--json")
    assert done.returncode == SAME
    found, _ = figures(done)
    assert found["step.median"]["change"] == pytest.approx(0, abs=0.01)


def several(tmp_path, name, lengths):
    return [training(tmp_path / ("%s%d.gct" % (name, i)), step=int(ms * MS)) for i, ms in enumerate(lengths)]


def test_several_runs_a_side(tmp_path):
    """Means over the runs, an interval of what they vary, and the files on their sides of the dashes."""
    before = several(tmp_path, "b", (10.0, 10.1, 9.9))
    after = several(tmp_path, "a", (11.0, 11.1))
    for late in ("--json", "-fjson", "--"):
        done = gctrace("diff", "--run-to-run", "1%", *before, "--", *after, late)
        assert done.returncode == 2 and f" {late} stands behind the --, where there are only" in done.stderr
    done = gctrace("diff", before[0], "--run-to-run", "1%", *before[1:], "--json", "--", *after)
    assert done.returncode == BROKEN, done.stderr
    found, last = figures(done)
    mean = found["step.mean"]
    assert mean["before"] == pytest.approx(10.0 * MS, rel=0.001)
    assert mean["after"] == pytest.approx(11.05 * MS, rel=0.001)
    assert 0.08 < mean["low"] < mean["change"] < mean["high"] < 0.13
    assert (mean["judged"], mean["breach"], last["answer"], last["confidence"]) == ("worse", True, "worse", 0.9)
    assert last["files_before"] == [str(b) for b in before] and last["files_after"] == [str(a) for a in after]
    shown = gctrace("diff", *before, "--", *after).stdout
    assert "90 % INTERVAL" in shown and "chance between runs" in shown
    for wrong in (before, [*before, "--"], ["--", *before]):
        assert gctrace("diff", *wrong).returncode == 2


def test_one_against_one_says_what_it_cannot_see(quiet, tmp_path):
    """Seven per cent are no more than two runs differ by; what would have been seen, and what to do, is said."""
    slower = training(tmp_path / "slower.gct", step=int(10.7 * MS))
    done = gctrace("diff", quiet, slower)
    assert done.returncode == SAME
    assert done.stdout.startswith("Inconclusive: the mean step changed by +7.0 %, which may be chance")
    assert "gctrace diff a1 a2 a3 -- b1 b2 b3" in done.stdout
    assert "Chance between runs is not in the intervals" in done.stdout
    assert gctrace("diff", quiet, slower, "--run-to-run", "0.5%").returncode == BROKEN
    assert gctrace("diff", quiet, slower, "--run-to-run", "much").returncode == 2
    same = gctrace("diff", quiet, quiet, "--run-to-run", "0.5%")
    assert same.stdout.startswith("No difference: the mean step changed by +0.0 %")


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
