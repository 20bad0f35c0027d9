"""What gctrace says that pauses cost is right, or it says that it cannot be told.

For each loop and for all together: the bias is at most 5 % of the time stopped, and 90 to 98 % of the intervals
cover the truth. How far chance may take a share of so many seeds from these limits is computed: of 100
intervals that cover 90 % of truths, 81 or fewer cover theirs once in a hundred times.
"""

import math
import os

import pytest
from gct import knows_work
from loops import BALANCE, LATER, LOOPS, TOLD, UNSEEN
from score import Score, judge, of_drawn

SEEDS = int(os.environ.get("GCTRACE_TEST_SEEDS", 100))
LATER_SEEDS = -(-SEEDS * 3 // 5)
BIAS = 0.05
COVERAGE = 0.90, 0.98  # of intervals that are called 95 %
TOLD_SHARE = 0.9  # of the runs of a loop that must be told
CHANCE = 0.01  # of a verdict against what is within the limits


def at_most(hits, of, share):
    """The chance of so few hits, or fewer."""
    log = math.lgamma
    return sum(
        math.exp(
            log(of + 1) - log(k + 1) - log(of - k + 1) + k * math.log(share) + (of - k) * math.log(1 - share)
        )
        for k in range(hits + 1)
    )


def test_the_tolerance_is_that_of_the_binomial_distribution():
    assert at_most(81, 100, 0.9) < CHANCE < at_most(82, 100, 0.9)
    assert at_most(6, 7, 0.9) == pytest.approx(1 - 0.9**7)


def complaints(score, told):
    """What is wrong with the answers to one loop."""
    if not score.whole:
        yield "not all pauses are charged to steps"
    if told and at_most(score.told, score.seeds, TOLD_SHARE) < CHANCE:
        yield "told in %d of %d" % (score.told, score.seeds)
    if not score.told:
        return
    if abs(score.bias) - 2 * score.error > BIAS:
        yield "bias %.1f ± %.1f %%" % (100 * score.bias, 100 * score.error)
    if at_most(score.covered, score.told, COVERAGE[0]) < CHANCE:
        yield "the truth is in %d of %d intervals" % (score.covered, score.told)


def judge_loop(name, known, seeds, folder):
    if known == "work" and not knows_work():
        pytest.fail("the schema of this gctrace has no step_mark.work_ns")
    score = Score([judge(name, seed, known == "work", folder) for seed in range(seeds)])
    assert list(complaints(score, name in TOLD[known])) == []


def judged(loops):
    """Both kinds of a loop one after the other: what it does is simulated once."""
    return [(known, name) for name in loops for known in ("steps", "work") if name not in UNSEEN[known]]


@pytest.mark.parametrize("known, name", judged(LOOPS))
def test_a_loop(name, known, tmp_path):
    judge_loop(name, known, SEEDS, tmp_path)


@pytest.mark.parametrize("known, name", judged({**LATER, **BALANCE}))
def test_a_later_loop(name, known, tmp_path):
    judge_loop(name, known, LATER_SEEDS, tmp_path)


def judge_all(told):
    """An interval narrower than 10 % of what was stopped does no harm by covering too often, as where the thread never
    waits and nothing is left to chance."""
    hits = [(o.low <= o.truth <= o.high, o.high - o.low > 0.1) for o in told if o.cost is not None]
    covered = sum(hit for hit, _ in hits)
    assert at_most(covered, len(hits), COVERAGE[0]) >= CHANCE
    wide = [hit for hit, wide in hits if wide]
    assert at_most(len(wide) - sum(wide), len(wide), 1 - COVERAGE[1]) >= CHANCE, (
        "%d of %d wide intervals cover the truth: wider than need be" % (sum(wide), len(wide))
    )


@pytest.mark.parametrize("known", ["steps", "work"])
def test_all_loops_together(known, tmp_path):
    """Other seeds than above."""
    seeds = range(SEEDS, SEEDS + -(-SEEDS // 5))
    judge_all([judge(name, seed, known == "work", tmp_path) for name in LOOPS for seed in seeds])


@pytest.mark.parametrize("known", ["steps", "work"])
def test_drawn_loops(known, tmp_path):
    """Loops that nobody chose, one run of each."""
    found = list(of_drawn(range(3 * SEEDS), known == "work", folder=tmp_path).values())
    judge_all(found)
    score = Score(found)
    assert score.whole and abs(score.bias) - 2 * score.error <= BIAS
