"""DL4J's own training under gctrace: its steps against its listener, its System.gc() against who calls."""

import sys

import pytest

import conftest
import training

sys.path.insert(0, str(training.WORKLOADS))

import dl4j_table

# How long before the listener's call a step is marked, pauses apart: usually, and in 99 of 100 steps.
USUAL_NS, LATE_NS = 1_000_000, 10_000_000


@pytest.fixture(autouse=True)
def installed():
    if conftest.CHOSEN:
        pytest.skip("real libraries are for the full suite")
    environment, _ = dl4j_table.folder()
    conftest.need("workloads", environment, "scripts/workloads could not install dl4j")


def check_listener(trained):
    """Each step begins in one of the listener's, near its end, where the parameters are updated."""
    trained.check_steps()
    trained.check_sums()
    assert trained.track["signal"] == "dl4j:update:adam"
    assert trained.track["per_step"] == 1 and trained.track["confidence"] >= 0.7
    late = sorted(trained.late_ns())
    assert late[len(late) // 2] <= USUAL_NS, late[len(late) // 2]
    assert late[len(late) * 99 // 100] <= LATE_NS, late[-len(late) // 50 :]


def check_collections(trained):
    """What the JVM's beans count between two readings is what was seen between them."""
    begin, end = trained.truth.books["begin"], trained.truth.books["end"]
    wanted = {
        name: count[0] - begin["collectors"][name][0] for name, count in end["collectors"].items()
    }
    seen = trained.in_training()
    assert sum(p["full"] is True for p in seen) == wanted["G1 Old Generation"]
    assert sum(p["young"] or 0 for p in seen) == wanted["G1 Young Generation"]
    assert trained.records.recording["complete"] is True
    assert trained.records.drops == []


def test_perceptron(bench):
    """A short step, evaluations in between, which are no steps."""
    trained = dl4j_table.attach(bench, ["-XX:+UseG1GC"], "--steps", 1501, "--epoch", 311)
    check_listener(trained)
    trained.check_evaluation()
    check_collections(trained)
    assert trained.explicit() == []


def test_documented_settings(bench):
    """An LSTM without workspaces, told to collect every 500 ms: DL4J's own manager never does."""
    trained = dl4j_table.attach(
        bench, ["-XX:+UseG1GC"], "--model", "lstm", "--workspaces", "off", "--steps", 211,
        "--periodic", "true", "--window", 500,
    )
    check_listener(trained)
    check_collections(trained)
    assert trained.explicit() == []
    assert trained.truth.steps[-1][1] - trained.truth.steps[0][0] > 3_000_000_000


def test_two_updaters(bench):
    """Two updaters in each step make one step."""
    trained = dl4j_table.attach(bench, ["-XX:+UseG1GC"], "--steps", 503, "--updater", "mixed")
    trained.check_steps()
    assert trained.track["signal"].startswith("dl4j:update:")


def test_periodic_manager(bench):
    """Each call of a manager that collects every 500 ms: its caller's line, its thread, its time."""
    trained = dl4j_table.attach(
        bench, ["-XX:+UseG1GC", dl4j_table.MANAGER], "--steps", 2503, "--periodic", "true",
        "--window", 500,
    )
    check_listener(trained)
    check_collections(trained)
    calls, seen = trained.true_calls(), trained.explicit()
    assert len(calls) >= 5 and len(seen) == len(calls)
    caller = trained.truth.notes["gc_caller"]
    line = trained.truth.line_of("dl4j/PeriodicManager.java", "super.invokeGc();")
    for (begin, end), call in zip(calls, sorted(seen, key=lambda s: s["start_ns"])):
        assert begin <= call["start_ns"] < call["end_ns"] <= end
        assert (end - begin) - call["duration_ns"] < LATE_NS
        assert call["tid"] == caller["tid"] and caller["thread"].startswith(call["thread"])
        assert call["collections"] >= 1
        stack = [f for f in call["stack"] if f["lang"] == "java"]
        asked = next(i for i, f in enumerate(stack) if f["function"].endswith(".invokeGc"))
        assert stack[asked]["function"].endswith("BasicMemoryManager.invokeGc")
        assert stack[asked]["file"] == "BasicMemoryManager.java" and stack[asked]["line"]
        ours = stack[asked + 1]
        assert ours["function"] == "PeriodicManager.invokeGc" and ours["line"] == line
        assert stack[asked + 2]["function"].endswith("DeallocatorServiceThread.run")
    full = [p for p in trained.in_training() if p["full"]]
    assert len(full) == len(calls) and {p["cause"] for p in full} == {"System.gc()"}
    # asked for by a thread of ND4J's, charged to the steps of the training thread
    assert sum(p["overlap_ns"] or 0 for p in full) >= 0.9 * sum(p["duration_ns"] for p in full[:-1])
