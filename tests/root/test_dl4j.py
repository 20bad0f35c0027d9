"""DL4J's own training under gctrace: its steps against its listener, its System.gc() against who calls."""

import bisect
import re
import statistics
import sys

import pytest

import conftest
import jvm_check
import training

sys.path.insert(0, str(training.WORKLOADS))

import dl4j_table

# How long before the listener's call a step is marked, without pauses: in half and in 90 % of the steps.
# (In the others the thread may lose its processor between the two.)
USUAL_NS, LATE_NS = 1_000_000, 10_000_000
BEANS = {
    "young_collections": ("G1 Young Generation", "Copy"),
    "full_collections": ("G1 Old Generation", "MarkSweepCompact"),
}
# The calls come this far apart as long as the window, a collection of 50 to 150 ms and whatever else that
# thread has to do take less together, on a machine three times as slow too.
WINDOW_MS, PERIOD_MS = 101, 701
CALLS = 11
LONGER = 10  # as the advice has it, in two digits


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
    assert {s["tid"] for s in trained.steps} == {trained.tid}
    late = trained.late_ns()
    assert late[len(late) // 2] <= USUAL_NS, late[len(late) // 2]
    assert late[len(late) * 9 // 10] <= LATE_NS, late[-len(late) // 5 :]


def check_collections(trained):
    """What the JVM's beans count between two readings is what was seen between them."""
    begin, end = trained.truth.books["begin"], trained.truth.books["end"]
    seen = trained.in_training()
    for kind in ("young_collections", "full_collections"):
        bean = next(b for b in BEANS[kind] if b in end["collectors"])
        wanted = end["collectors"][bean][0] - begin["collectors"][bean][0]
        assert sum(p[kind] or 0 for p in seen) == wanted, kind
    assert all(p["exact"] for p in seen)
    assert trained.records.recording["complete"] is True
    assert trained.records.drops == []


def count_collections(pauses):
    return sum((p["young_collections"] or 0) + (p["full_collections"] or 0) for p in pauses)


def check_call(trained, span, call):
    """One call of System.gc(): when, who, from where."""
    caller = trained.truth.notes["gc_caller"]
    assert span[0] <= call["start_ns"] < call["end_ns"] <= span[1]
    assert call["tid"] == caller["tid"] and caller["thread"].startswith(call["thread"])
    beside = [p for p in trained.pauses if p["start_ns"] < call["end_ns"] and
              p["end_ns"] > call["start_ns"]]
    inside = [p for p in beside if p["start_ns"] >= call["start_ns"]]
    assert count_collections(inside) <= call["collections"] <= count_collections(beside)
    stack = [f for f in call["stack"] if f["lang"] == "java"]
    asked = next(i for i, f in enumerate(stack) if f["function"].endswith(".invokeGc"))
    assert stack[asked]["function"].endswith("BasicMemoryManager.invokeGc")
    assert stack[asked]["file"] == "BasicMemoryManager.java" and stack[asked]["line"]
    line = trained.truth.line_of("dl4j/PeriodicManager.java", "super.invokeGc();")
    assert stack[asked + 1]["function"] == "PeriodicManager.invokeGc"
    assert stack[asked + 1]["line"] == line
    assert stack[asked + 2]["function"].endswith("DeallocatorServiceThread.run")


def check_caller(trained):
    """All calls together, as the report summarises them."""
    (caller,) = trained.callers()
    spent = [end - begin for begin, end in trained.true_calls()]
    blocked = [c["duration_ns"] for c in trained.calls_in_training()]
    assert statistics.median(spent) - statistics.median(blocked) < USUAL_NS
    assert caller["calls"] == len(trained.calls) and caller["training"] is False
    assert caller["collected"] == sum(c["collections"] > 0 for c in trained.calls)
    assert caller["idle"] == caller["calls"] - caller["collected"] and caller["unknown"] == 0
    jvm_check.check_rhythm(caller, trained.calls)
    assert caller["who"]["function"] == "PeriodicManager.invokeGc"
    assert caller["caller"]["function"].endswith("BasicMemoryManager.invokeGc")
    assert caller["blocked_ns"] == sum(c["duration_ns"] for c in trained.calls)


def check_charged(trained):
    """A collection that ND4J's service thread asks for is charged to the step that it stopped."""
    starts = [s["start_ns"] for s in trained.steps]
    full = [p for p in trained.in_training() if p["full"]]
    inside = [p for p in full if starts[0] <= p["start_ns"] < p["end_ns"] <= starts[-1]]
    # all but those before the first step is over by the listener, or after the last one began by it
    first, last = trained.truth.steps[0], trained.truth.steps[-1]
    between = [p for p in full if first[1] <= p["start_ns"] and p["end_ns"] <= last[0]]
    assert between and not [p for p in between if p not in inside]
    for pause in inside:
        assert pause["tid"] == trained.truth.notes["gc_caller"]["tid"] != trained.tid
        step = trained.steps[bisect.bisect_right(starts, pause["start_ns"]) - 1]
        # the thread may reach the next step's updater meanwhile: native code goes on
        within = min(pause["end_ns"], step["end_ns"]) - pause["start_ns"]
        assert pause["step"] == step["index"] and step["tid"] == trained.tid
        assert step["pauses"] >= 1 and step["pause_ns"] >= within
        assert pause["overlap_ns"] == pause["duration_ns"]
        # a share of an estimate of the whole track, in which chance has a part: how good it is, tests/truth says
        if trained.track["cost_source"] != "untold" and within == pause["duration_ns"]:
            assert abs(pause["cost_ns"] * step["pause_ns"] - step["cost_ns"] * within) <= step["pause_ns"]


def check_advice(trained):
    """What to change about the calls, in numbers based on them."""
    advice = {a["advice"]: a for a in trained.records.of("advice")}
    (caller,) = trained.callers()
    assert ("gc-window" in advice) is caller["regular"]
    if not caller["regular"]:
        return
    window = advice["gc-window"]
    told = int(re.search(r"setAutoGcWindow\((\d+)\)", window["line"]).group(1))
    assert told == float("%.2g" % (LONGER * caller["rest_ns"] / 1e6)), window
    assert 0 <= window["saves_low_ns"] <= window["saves_ns"] <= window["saves_high_ns"]
    assert window["saves_high_ns"] <= trained.track["overlap_ns"]
    assert "%d calls in BasicMemoryManager.invokeGc" % caller["calls"] in window["estimate"]
    assert ", one each " in window["estimate"] or " after each" in window["estimate"]
    assert "1.0.0-M2.1" in window["risk"]
    # what acts on this caller alone comes before what acts on all of the JVM
    order = [a["advice"] for a in trained.records.of("advice")]
    broad = [order.index(a) for a in ("explicit-off", "explicit-concurrent") if a in order]
    assert all(order.index(a) < first for first in broad for a in ("gc-window", "gc-toggle") if a in order)
    assert caller["thread"] in window["estimate"] and window["risk"]


def check_evaluations(trained):
    """No step falls into an evaluation, except for the guessed end of the last one before it."""
    spans = [(s["start_ns"], s["end_ns"]) for s in trained.steps]
    assert len(trained.truth.phases["evaluation"]) == 3
    for phase in trained.truth.phases["evaluation"]:
        covered = sum(training.shared(phase, span) for span in spans)
        assert covered <= 3 * trained.track["p50_ns"] < 0.5 * (phase[1] - phase[0]), covered


def test_perceptron(bench):
    """A short step, with evaluations in between, which are not steps."""
    trained = dl4j_table.attach(bench, [dl4j_table.G1], "--steps", 1009, "--epoch", 311)
    check_listener(trained)
    check_evaluations(trained)
    check_collections(trained)
    assert trained.calls == [] and trained.callers() == []


def test_documented_settings(bench):
    """An LSTM without workspaces, told to collect every 500 ms: DL4J's own manager never does."""
    trained = dl4j_table.attach(
        bench, [dl4j_table.G1], "--model", "lstm", "--workspaces", "off", "--steps", 151,
        "--periodic", "true", "--window", 500,
    )
    check_listener(trained)
    check_collections(trained)
    assert trained.calls == []
    assert "gc-window" not in {a["advice"] for a in trained.records.of("advice")}
    assert trained.truth.steps[-1][1] - trained.truth.steps[0][0] > 3_000_000_000


def test_two_updaters(bench):
    """Two updaters in each step make one step."""
    trained = dl4j_table.attach(bench, [dl4j_table.G1], "--steps", 503, "--updater", "mixed")
    trained.check_steps()
    assert trained.track["signal"].startswith("dl4j:update:")


def test_periodic_manager(bench):
    """A manager that does collect: each call, its line, its thread, its steps, and the advice."""
    # Serial: its full collections cost most of all, so that the advice is about them
    flags = [dl4j_table.SERIAL, dl4j_table.MANAGER, "-Dperiod=%d" % PERIOD_MS]
    trained = dl4j_table.attach(
        bench, flags, "--steps", 100003, "--calls", CALLS, "--periodic", "true",
        "--window", WINDOW_MS,
    )
    check_listener(trained)
    check_collections(trained)
    calls, seen = trained.true_calls(), trained.calls_in_training()
    assert len(calls) >= CALLS - 1 and len(seen) == len(calls)
    for span, call in zip(calls, seen):
        check_call(trained, span, call)
    full = [p for p in trained.in_training() if p["full"]]
    assert {p["cause"] for p in full} == {"System.gc()"}
    for call in seen:
        held = [p for p in full if call["start_ns"] <= p["start_ns"] < call["end_ns"]]
        others = [p for p in trained.pauses if p["young_collections"] and not p["full"] and
                  p["start_ns"] < call["end_ns"] and p["end_ns"] > call["start_ns"]]
        # HotSpot drops a call that meets a JNI critical section, or that another collection overtakes
        assert len(held) == 1 or not held and (not call["collections"] or others), call
    assert full
    for pause in full:
        held = [c for c in seen if c["start_ns"] <= pause["start_ns"] < c["end_ns"]]
        assert len(held) == 1 and pause["tid"] == held[0]["tid"]
    check_caller(trained)
    check_charged(trained)
    check_advice(trained)


def test_memory_limit(bench):
    """JavaCPP at its limit of memory calls System.gc() in the thread that trains: line and cost."""
    flags = [dl4j_table.SERIAL, "-Dorg.bytedeco.javacpp.maxphysicalbytes=350m"]  # without: 650 MB
    trained = dl4j_table.attach(
        bench, flags, "--model", "lstm", "--workspaces", "off", "--steps", 151)
    trained.check_steps()
    check_collections(trained)
    assert trained.calls_in_training()
    for call in trained.calls_in_training():
        assert call["tid"] == trained.tid and call["collections"] >= 1
        functions = [f["function"] for f in call["stack"] if f["lang"] == "java"]
        limit = functions.index("org.bytedeco.javacpp.Pointer.deallocator")
        assert functions.index("Train.run") > limit
    (caller,) = trained.callers()
    assert caller["caller"]["function"] == "org.bytedeco.javacpp.Pointer.deallocator"
    assert caller["training"] is True
    stopped = [p for p in trained.in_training() if p["cause"] == "System.gc()"]
    assert sum(p["overlap_ns"] or 0 for p in stopped) >= 0.9 * sum(p["duration_ns"] for p in stopped)
