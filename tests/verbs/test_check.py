"""gctrace check: what passes, what breaks, and what must never pass."""

import json
import re
import xml.etree.ElementTree

import pytest

from recording import MS, Recording, gctrace, training

KEPT, BLIND, INCOMPLETE, BROKEN = 0, 3, 4, 99


def check(path, *budgets, extra=()):
    options = [o for b in budgets for o in ("--budget", b)]
    return gctrace("check", path, *options, *extra)


@pytest.fixture
def spiky(tmp_path):
    return training(tmp_path / "spiky.gct", every=53)


@pytest.fixture
def quiet(tmp_path):
    return training(tmp_path / "quiet.gct")


@pytest.mark.parametrize("budget, status", [
    ("pause.max<100ms", KEPT),
    ("pause.max<49ms", BROKEN),
    ("pause.max<=50ms", KEPT),
    ("pause.max<50ms", BROKEN),
    ("pause.count<4", KEPT),  # 211 steps, one in 53 of them: 3
    ("pause.count<3", BROKEN),
    ("step.stopped.max<60ms", KEPT),
    ("step.stopped.max<40ms", BROKEN),
    ("stopped.share<50%", KEPT),
    ("stopped.share<1%", BROKEN),
    ("step.cost.max<60ms", KEPT),
    ("step.cost.max<40ms", BROKEN),
    ("cost.share<50%", KEPT),
    ("cost.share<1%", BROKEN),
    ("cost.counterfactual<50%", KEPT),
    ("cost.counterfactual<1%", BROKEN),
    ("step.count>=211", KEPT),
    ("step.count>=223", BROKEN),
])
def test_one_budget(spiky, budget, status):
    done = check(spiky, budget)
    assert done.returncode == status, done.stdout + done.stderr


def test_one_broken_of_many(spiky):
    assert check(spiky, "pause.max<100ms", "pause.p99<1s", "pause.max<49ms").returncode == BROKEN
    assert check(spiky, "pause.max<100ms,pause.max<49ms").returncode == BROKEN
    assert check(spiky, "pause.max<100ms,pause.p99<1s").returncode == KEPT


def test_a_breach_says_what_and_where(spiky):
    done = check(spiky, "pause.max<49ms")
    assert "50" in done.stdout and "train.py:41" in done.stdout


def test_a_cost_says_how_it_is_known(spiky):
    """Measured or estimated, with what was stopped beside it: whoever set a limit for the one sees the other."""
    done = check(spiky, "cost.share<50%")
    assert re.search(r"kept +cost\.share<50% .*(measured|estimated).*; stopped\.share is 6\.6 %", done.stdout)
    done = check(spiky, "cost.share<1%")
    assert re.search(r"cost\.share is \d\.\d % \((measured|estimated).*\), not below 1\.0 %", done.stdout)


@pytest.mark.parametrize("budget, instead", [
    ("cost.share<99%", "stopped.share: 33.3 %"),
    ("cost.total<1h", "stopped.total: 1.055 s"),
    ("step.cost.max<1h", "step.stopped.max: 5.000 ms"),
])
def test_what_cannot_be_told_never_passes(tmp_path, budget, instead):
    """With as long a pause in every step there is no step to compare with: what was stopped can be judged."""
    dense = training(tmp_path / "dense.gct", every=1, pause=5 * MS)
    done = check(dense, budget)
    assert done.returncode == INCOMPLETE, done.stdout
    assert re.search(r"refused .* cannot be told of python3 \(pid 4711\): .* What can be judged is ", done.stdout)
    assert instead in done.stdout
    assert check(dense, budget, "stopped.share<34%").returncode == INCOMPLETE
    assert check(dense, budget, "stopped.share<33%").returncode == BROKEN
    assert check(dense, "stopped.share<34%").returncode == KEPT


def test_no_pause_at_all_is_a_pass(quiet):
    assert check(quiet, "pause.max<1ms", "stopped.share<0.1%", "cost.share<0.1%").returncode == KEPT


def test_blind_never_passes(tmp_path):
    made = Recording(tmp_path / "blind.gct", runtime=False)
    done = check(made.close(10**9), "pause.max<1h")
    assert done.returncode == BLIND
    assert "refused" in done.stdout


def test_incomplete_never_passes_but_a_breach_is_one(tmp_path):
    made = Recording(tmp_path / "lossy.gct")
    made.pause(5, 50 * MS, generation=2)
    made.drop("ring-full", 3)
    path = made.close()
    assert check(path, "pause.max<100ms").returncode == INCOMPLETE
    assert check(path, "pause.max<49ms").returncode == BROKEN


def test_the_longest_is_named(tmp_path):
    made = Recording(tmp_path / "run.gct")
    made.pause(5, 50 * MS, generation=2)
    assert "; the longest, of 50.00 ms (generation 2), began" in check(made.close(), "full.count<1").stdout


def test_step_budgets_need_steps(tmp_path):
    made = Recording(tmp_path / "stepless.gct")
    made.pause(5, 50 * MS, generation=2)
    path = made.close()
    assert check(path, "step.stopped.max<1h", "step.cost.max<1h").returncode == BLIND
    assert check(path, "pause.max<1h").returncode == KEPT


def test_step_budgets_need_confidence(tmp_path):
    path = training(tmp_path / "short.gct", steps=3, every=2)
    done = check(path, "step.cost.max<1h")
    assert done.returncode == BLIND
    assert "confidence" in done.stdout


def test_windows_are_no_steps(spiky):
    done = check(spiky, "step.cost.max<1h", extra=["--step", "window:100ms"])
    assert done.returncode == BLIND


@pytest.mark.parametrize("budget, said", [
    ("pause.mx<10ms", "pause.max"),
    ("step.cost.maximum<10ms", "step.cost.max"),
    ("pause.max<10furlongs", "furlongs"),
    ("pause.max<10", "unit"),
    ("pause.max<20%", "%"),
    ("pause.max", "<"),
    ("", ""),
])
def test_bad_budgets_are_usage_errors(spiky, budget, said):
    done = check(spiky, budget)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_a_budget(spiky):
    done = gctrace("check", spiky)
    assert done.returncode == 2 and "--budget" in done.stderr


def test_json_follows_the_schema(spiky):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(gctrace("schema", "json").stdout)
    done = check(spiky, "pause.max<49ms", "pause.p99<1s", extra=["--json"])
    records = [json.loads(line) for line in done.stdout.splitlines()]
    for one in records:
        jsonschema.validate(one, schema)
    assert [r["outcome"] for r in records[:2]] == ["broken", "kept"]
    assert records[0]["value"] == 50 * MS
    assert records[-1] == {"type": "check", "kept": 1, "broken": 1, "refused": 0,
                           "missing": None, "status": BROKEN}


def test_junit(spiky, tmp_path):
    out = tmp_path / "gc.xml"
    done = check(spiky, "pause.max<49ms", "pause.p99<1s", extra=["--junit", out])
    assert done.returncode == BROKEN
    suite = xml.etree.ElementTree.parse(out).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "0")
    cases = {c.get("name"): c for c in suite.iter("testcase")}
    assert cases["pause.max<49ms"].find("failure").get("message")
    assert cases["pause.p99<1s"].find("failure") is None


def test_junit_that_cannot_be_written(spiky, tmp_path):
    done = check(spiky, "pause.p99<1s", extra=["--junit", tmp_path / "none" / "gc.xml"])
    assert done.returncode == 1
    assert "gc.xml" in done.stderr


def test_no_such_recording(tmp_path):
    done = check(tmp_path / "none.gct", "pause.max<1s")
    assert done.returncode == 1 and "none.gct" in done.stderr
