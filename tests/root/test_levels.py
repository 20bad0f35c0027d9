"""Loops whose iteration is not one call of the optimizer: their steps are right, or not claimed."""

import sqlite3

import pytest

import training

CONFIDENT = 0.7
ENVIRONMENTS = training.load_environments()


def environment(kind):
    """The lightest that has @kind."""
    found = sorted((e for e in ENVIRONMENTS if e.kind == kind), key=lambda e: (e.name != "torch-debian", e.minor))
    if not found:
        pytest.skip("scripts/workloads could not install %s" % kind)
    return found[0]


def run(bench, kind, loop, steps, *args, **more):
    return training.run(bench, environment(kind), "levels.py", "--loop", loop, "--steps", steps, *args, **more)


def check_offer(trained, marks):
    """The steps are not claimed, and what is offered instead is the loop's own iteration."""
    track = trained.track
    assert track["confidence"] < CONFIDENT
    offered = "%s/%d" % (track["signal"], marks)
    assert "--step %s (%d steps)" % (offered, len(trained.truth.steps)) in track["note"]
    told = trained.again("--step", offered)
    assert told.track["confidence"] == 1
    assert len(told.steps) == len(trained.truth.steps)
    exact, invented = told.boundaries()
    assert (exact, invented) == (len(trained.truth.steps), 0)


@pytest.mark.parametrize("args", [(), ("--by-hand",)], ids=["losses", "by hand"])
@pytest.mark.parametrize("loop, updates", [("sac", 3), ("wgan", 2), ("distillation", 2)])
def test_in_turn(bench, loop, updates, args):
    """Each network learns once an iteration."""
    trained = run(bench, "torch", loop, 300, *args)
    assert len(trained.truth.steps) == 300
    check_offer(trained, updates)


@pytest.mark.parametrize("args", [(), ("--by-hand",)], ids=["losses", "by hand"])
def test_delayed(bench, args):
    """An actor that learns every second time: neither the updates nor their rounds are the iterations, but the critic's are."""
    trained = run(bench, "torch", "td3", 300, *args)
    assert len(trained.steps) == 450
    assert trained.track["confidence"] < CONFIDENT
    assert "/3 (150 steps)" in trained.track["note"]
    offered = "%s/most" % trained.track["signal"]
    assert "--step %s (300 steps)" % offered in trained.track["note"]
    told = trained.again("--step", offered)
    assert told.track["confidence"] == 1
    assert len(told.steps) == 300
    assert told.boundaries() == (300, 0)


def updates_known(trained):
    """Of how many updates it is recorded what they write to."""
    with sqlite3.connect(str(trained.file)) as db:
        return db.execute(
            "select count(*) from step_mark where series in (select s.id from step_series s"
            " join step_signal g on g.id = s.signal where g.name = 'torch:learner')").fetchone()[0]


KINDS = {
    "SGD": [], "SGD, groups": ["--groups"], "SGD, foreach": ["--foreach"], "SGD, momentum": ["--momentum", 0.9],
    "Adam": [], "Adam, groups": ["--groups"], "Adam, foreach": ["--foreach"], "AdamW": [],
    "AdamW, foreach": ["--foreach", "--groups"], "RMSprop": [], "RMSprop, foreach": ["--foreach", "--momentum", 0.9],
    "Adagrad": [], "NAdam, foreach": ["--foreach"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_alike(bench, kind):
    """Networks of one shape that learn in one loop differ only in what their optimizers write to; one alone is known."""
    more = ["--optimizer", kind.split(",")[0], *KINDS[kind]]
    both = run(bench, "torch", "alike", 101, *more)
    check_offer(both, 2)
    assert updates_known(both) == 202  # one mark each, of the many writes
    alone = run(bench, "torch", "alike", 103, "--networks", 1, *more, name="alone")
    assert alone.track["confidence"] > 0.9
    assert len(alone.steps) == len(alone.truth.steps) == 103
    assert alone.boundaries() == (103, 0)
    assert updates_known(alone) == 103


def test_alike_let_go(bench):
    """More writes than are watched for long: those that were seen suffice."""
    trained = run(bench, "torch", "alike", 3001, "--networks", 3)
    assert updates_known(trained) > 12  # how many depends on the speed of the machine
    check_offer(trained, 3)


def test_minibatches(bench):
    """PPO: 32 minibatches learn from what was played before them, which is an iteration."""
    trained = run(bench, "torch", "ppo", 23)
    assert len(trained.truth.steps) == 23
    assert len(trained.steps) == 23 * 32
    assert trained.track["confidence"] < CONFIDENT
    offered = "%s/32" % trained.track["signal"]
    assert "after every 32 of them comes other work" in trained.track["note"]
    assert "--step %s (23 steps)" % offered in trained.track["note"]
    assert len(trained.again("--step", offered).steps) == 23


def test_products_in_turn(bench):
    """Two products of NumPy, ten times an iteration."""
    trained = run(bench, "torch", "products", 211)
    assert len(trained.truth.steps) == 211
    assert len(trained.steps) == 2110
    assert trained.track["confidence"] < CONFIDENT
    assert "--step blas:gemm/M" in trained.track["note"]
    assert len(trained.again("--step", "blas:gemm/20").steps) == 211


def test_boosters_in_turn(bench):
    """xgb.cv: a round has one update of each booster."""
    trained = run(bench, "xgboost", "xgb-cv", 101)
    assert len(trained.truth.steps) == len(trained.steps) == 101
    assert trained.boundaries() == (101, 0)
    assert trained.track["confidence"] > 0.9
    assert trained.track["per_step"] == 5
