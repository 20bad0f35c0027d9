"""What collections cost in real loops that run ahead of Python, against the same work without collections.

tests/bench/cost_truth.py is the long form; simulated loops are in tests/truth.
"""

import pytest

import conftest
import paired

TORCH = pytest.mark.skipif(
    not paired.has_torch(), reason="scripts/workloads could not install Debian's python3-torch"
)


def loops():
    for name, (argv, _) in paired.LOOPS.items():
        yield pytest.param(name, marks=[TORCH] if argv[0].startswith("torch") else [], id=name)


@pytest.mark.realtime
@conftest.full_only
@pytest.mark.parametrize("name", loops())
def test_the_cost_is_that_of_the_clock(bench, name):
    """Within 5 % of what was stopped, as in tests/truth, but for what chance does to so few runs: to the intervals
    that gctrace states, and to the truth itself, for runs without collections differ, too."""
    runs = paired.measure(bench, name, 3, "--every", 31)
    for run in runs:
        assert run.pauses == run.collections > 0
    told = [run for run in runs if run.told]
    if not name.endswith("ranks"):  # of these it may be untold: who waits for whom is not recorded
        assert told == runs, "\n".join(map(str, runs))
    off, error = paired.bias(told) if told else (0, 0)
    assert abs(off) <= 0.05 + 3 * error, "\n".join(map(str, runs))
