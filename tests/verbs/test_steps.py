"""Steps in reports: chosen automatically, chosen again at report time, and refused where there are none."""

import json

import pytest

from recording import MS, Recording, gctrace, training


def records(path, *options):
    done = gctrace("report", path, "-f", "json", *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of(kind, lines):
    return [r for r in lines if r["type"] == kind]


@pytest.fixture
def spiky(tmp_path):
    return training(tmp_path / "spiky.gct", every=53)


def test_steps_and_their_costs(spiky):
    lines = records(spiky)
    steps, pauses = of("step", lines), of("pause", lines)
    assert len(steps) == 211 and len(pauses) == 3
    assert [p["step"] for p in pauses] == [52, 105, 158]
    for pause in pauses:
        step = steps[pause["step"]]
        assert step["start_ns"] <= pause["start_ns"] and pause["end_ns"] <= step["end_ns"]
        assert pause["overlap_ns"] == step["pause_ns"] == 50 * MS
        assert step["cost_ns"] == pytest.approx(50 * MS, rel=0.02)
        assert step["generation"] == 2
    assert sum(s["pause_ns"] for s in steps) == 150 * MS
    last = lines[-1]
    assert last["type"] == "summary" and last["steps"] == 211
    assert "Optimizer.step" in last["step_signal"] and last["confidence"] > 0.9
    assert last["tracks"][0]["cost_ns"] == pytest.approx(150 * MS, rel=0.02)
    assert "53rd" in last["verdict"] and "train.py:41" in last["verdict"]


def test_every_record_follows_the_schema(spiky):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(gctrace("schema", "json").stdout)
    validator = jsonschema.validators.validator_for(schema)(schema)
    for one in records(spiky):
        validator.validate(one)


def test_a_clean_negative(tmp_path):
    path = training(tmp_path / "clean.gct")
    lines = records(path)
    assert "look elsewhere" in lines[-1]["verdict"]
    assert [a["advice"] for a in of("advice", lines)] == ["nothing"]


def test_a_slow_step_is_exonerated(tmp_path):
    made = Recording(tmp_path / "slow.gct")
    series = made.signal("torch:record", "Optimizer.step#Adam.step")
    now = 0
    for i in range(101):
        made.mark(series, now)
        now += 1700 * MS if i == 47 else 10 * MS
    made.close(now)
    lines = records(made.path)
    assert of("step", lines)[47]["duration_ns"] == 1700 * MS
    assert of("step", lines)[47]["cost_ns"] == 0
    assert "another reason than GC" in lines[-1]["verdict"]


def test_a_pause_across_a_boundary_is_split(tmp_path):
    made = Recording(tmp_path / "split.gct")
    series = made.signal("torch:record", "Optimizer.step#Adam.step")
    for i in range(31):
        made.mark(series, i * 10 * MS)
    made.pause(107 * MS, 5 * MS)
    made.close(310 * MS)
    steps = of("step", records(made.path))
    assert [s["pause_ns"] for s in steps[9:13]] == [0, 3 * MS, 2 * MS, 0]


def test_pauses_before_the_first_step_are_outside(tmp_path):
    made = Recording(tmp_path / "outside.gct")
    series = made.signal("torch:record", "Optimizer.step#Adam.step")
    made.pause(7 * MS, 11 * MS)
    for i in range(31):
        made.mark(series, 500 * MS + i * 10 * MS)
    made.close(810 * MS)
    lines = records(made.path)
    assert of("pause", lines)[0]["step"] is None
    track = lines[-1]["tracks"][0]
    assert track["outside"] == 1 and track["outside_ns"] == 11 * MS and track["overlap_ns"] == 0


def test_another_n_at_report_time(spiky):
    lines = records(spiky, "--step", "torch:record/2")
    assert len(of("step", lines)) == 106  # the last is half a one
    assert lines[-1]["tracks"][0]["per_step"] == 2


def test_windows_are_inferred(spiky):
    lines = records(spiky, "--step", "window:100ms")
    assert {s["source"] for s in of("step", lines)} == {"inferred"}
    assert all(s["duration_ns"] == 100 * MS for s in of("step", lines)[:-1])


def test_none(spiky):
    lines = records(spiky, "--step", "none")
    assert not of("step", lines) and lines[-1]["steps"] is None


def test_an_unknown_signal_names_those_there_are(spiky):
    done = gctrace("report", spiky, "--step", "torch:backwards")
    assert done.returncode == 1
    assert "torch:record" in done.stderr


@pytest.mark.parametrize("text", ["window:", "window:0s", "torch:backward/0", ""])
def test_a_bad_step_is_a_usage_error(spiky, text):
    done = gctrace("report", spiky, "--step", text)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_a_picture_of_stacks_takes_no_step(spiky):
    assert gctrace("report", spiky, "-f", "folded", "--step", "none").returncode == 2


def test_no_signal_is_said(tmp_path):
    made = Recording(tmp_path / "none.gct")
    made.pause(5 * MS, 7 * MS, generation=2)
    made.close(10**9)
    assert "no step signal" in records(made.path)[-1]["verdict"].lower()


def test_candidates_of_a_recording(spiky):
    done = gctrace("doctor", "--steps", spiky)
    assert done.returncode == 0, done.stderr
    chosen = [l for l in done.stdout.splitlines() if l.startswith("*")]
    assert len(chosen) == 1 and "Optimizer.step#Adam.step" in chosen[0] and "211" in chosen[0]
