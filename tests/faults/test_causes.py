"""Why a collection came: automatic or by hand, whatever the counters say by then."""

import pytest

import conftest
import snippets
from harness import per_generation
from test_counts import FUNCTION_TIERS

# Sixty lists that are made and freed again within one call of C code: what is due comes after it, with
# generation 0 below its threshold. And others that survive.
FREED = """
def freed():
    return sum(map(len, map(list, [map(list, [()] * 60)])))
gc.freeze()
gc.collect()
kept = []
gc.set_threshold(50, 3, 3)
before = gc.get_stats()
gc.enable()
for i in range(211):
    freed()
    kept.append([[] for _ in range(i % 97)])
    freed()
gc.disable()
after = gc.get_stats()
gained = [a["collections"] - b["collections"] for a, b in zip(after, before)]
"""

# Leaves each generation in turn as the one that is due, and then collects it by hand.
BY_HAND = """
def fill(generation):
    gc.disable()
    gc.freeze()
    gc.collect()
    gc.set_threshold(*[(50, 1000, 1000), (50, 2, 1000), (50, 1000, 2)][generation])
    for i in range(3 if generation else 0):
        gc.collect(generation - 1)
    return [[] for _ in range(60)]
kept = []
for i in range(7):
    for generation in (0, 1, 2):
        kept.append(fill(generation))
        %s
        gc.collect(generation)
        gc.disable()
"""
BY_HAND_COUNTS = [7 * (1 + 3), 7 * (1 + 3), 7 * (1 + 3)]

# A callback counts down by freeing objects right before the collection.
CALLBACK = """
spare = [[] for _ in range(997)]
def start(phase, info):
    if phase == "start":
        del spare[-13:]
gc.callbacks.append(start)
gc.set_threshold(50, 3, 3)
before = gc.get_stats()
gc.enable()
for i in range(61):
    freed = [[] for _ in range(31)]
gc.disable()
after = gc.get_stats()
gained = [a["collections"] - b["collections"] for a, b in zip(after, before)]
gc.callbacks.clear()
"""


def watched(bench, runtime, code, tier=None):
    target = snippets.start(bench, runtime, debug=runtime.in_root and runtime.debug != "-")
    target.run("import gc")
    tracer = bench.record(target, tier=tier)
    target.run(code)
    gained = target.value("gained") if "gained" in code else None
    target.quit()
    tracer.finish()
    records = bench.report()
    assert records.drops == [] and records.recording["complete"]
    return records, gained, records.process(target.pid)["tier"]


def cases():
    """Every runtime with its best tier, and each version with only its counters to go by."""
    return [(r, None) for r in conftest.RUNTIMES] + [(r, "watchpoint") for r in conftest.PLAIN]


@conftest.each("case", cases(), "CPython")
def test_by_itself(bench, case):
    """Every automatic collection of every generation is reported as automatic."""
    records, gained, _ = watched(bench, case[0], FREED, case[1])
    by_itself = [p for p in records.pauses if p["cause"] == "automatic"]
    assert per_generation(by_itself) == gained
    assert all(gained), gained
    assert [p["generation"] for p in records.pauses if p["cause"] == "manual"] == [2]


@pytest.mark.parametrize("enabled", ["", "gc.enable()"], ids=["disabled", "enabled"])
def test_by_hand(bench, any_runtime, enabled):
    """Every gc.collect() of any generation is reported as manual, even if one was due anyway."""
    records, _, tier = watched(bench, any_runtime, BY_HAND % (enabled or "pass"))
    manual = [p for p in records.pauses if p["cause"] == "manual"]
    assert per_generation(records.pauses) == BY_HAND_COUNTS
    if tier in FUNCTION_TIERS or not enabled:
        assert len(manual) == len(records.pauses)
    else:  # the counters cannot distinguish a manual collection from the one that is due
        assert len(records.pauses) - len(manual) == 3 * 7


@conftest.each("late", [r for r in conftest.PLAIN if r.minor >= (3, 12)], "CPython 3.12")
def test_callbacks(bench, late):
    """A callback that frees objects does not make a collection look manual."""
    records, gained, tier = watched(bench, late, CALLBACK)
    assert tier in FUNCTION_TIERS
    assert per_generation(records.pauses) == gained and any(gained)
    assert {p["cause"] for p in records.pauses} == {"automatic"}
