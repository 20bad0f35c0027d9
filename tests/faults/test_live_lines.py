"""A person can read the live view: long pauses have lines, all others are counted."""

import os
import re

import snippets
from harness import report

SHORT, LONG = 3001, 3
SCRIPT = """
import gc, sys
gc.disable()
kept = [[] for _ in range(400000)]
gc.collect()
print("ready", flush=True)
sys.stdin.readline()
for i in range(%d):
    gc.collect(0)
for i in range(%d):
    gc.collect()
""" % (SHORT, LONG)
LINE = re.compile(r"^\d\d:\d\d:\d\d\.\d{3} +\d+ \S+ +[012] \S+ +([0-9.]+) (ns|µs|ms|s) ")
LEFT_OUT = re.compile(r"^\d\d:\d\d:\d\d\.\d{3} +… (\d+) more pauses?, .* in all, longest ")
UNIT_NS = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}


def lived(bench, runtime, *options):
    """The text of a live session with SCRIPT, and the pauses that it recorded."""
    target = bench.process(runtime.start_line("-c") + [SCRIPT], env=runtime.environment)
    assert target.out.next() == "ready"
    tracer = bench.tracer("-p", target.pid, "-o", bench.file, *options)
    target.send("")
    assert target.wait() == 0
    tracer.finish()
    text = tracer.out.text()
    shown = [float(m[1]) * UNIT_NS[m[2]] for m in map(LINE.match, text.splitlines()) if m]
    counted = [int(m[1]) for m in map(LEFT_OUT.match, text.splitlines()) if m]
    manual = [p for p in report(bench.file).pauses if p["cause"] == "manual"]
    assert len(manual) == SHORT + LONG
    return text, shown, counted, report(bench.file).pauses


def test_the_long_ones_and_a_count(bench, some_runtime):
    text, shown, counted, pauses = lived(bench, some_runtime)
    assert len(shown) + sum(counted) == len(pauses)
    assert min(shown) >= 999_500  # as it is rounded for a line
    assert len(shown) >= LONG and len(counted) >= 1
    span_s = (pauses[-1]["end_ns"] - pauses[0]["end_ns"]) / 1e9
    assert len(counted) <= span_s + 2
    assert text.count("--min-duration 0 shows each") == 1


COLLECT = "began.append(time.monotonic_ns()); gc.collect(); ended.append(time.monotonic_ns())"


def test_the_reader_leaves(bench, some_runtime):
    """`| head -1` is not an error: with nobody to read it the session ends, and the recording is whole until then."""
    target = snippets.start(bench, some_runtime)
    target.run("kept, began, ended = [[] for _ in range(400000)], [], []")  # so many that each collection has a line
    line = '"$0" -p "$1" -o "$2" | head -1'
    tracer = bench.process(["bash", "-c", "set -o pipefail; " + line, os.environ["GCTRACE"], str(target.pid), str(bench.file)])
    while "Ctrl-C ends it" not in tracer.err.next():
        pass
    while tracer.popen.poll() is None:
        target.run(COLLECT)
    assert tracer.wait() == 0
    assert "error" not in tracer.err.text()
    records = report(bench.file)
    assert records.recording["complete"] is True and records.drops == []
    assert records.process(target.pid)["missed"] == 0
    assert records.pauses
    for pause, began, ended in zip(records.pauses, target.value("began"), target.value("ended")):
        assert began <= pause["start_ns"] and pause["end_ns"] <= ended


def test_all_if_asked(bench, some_runtime):
    text, shown, counted, pauses = lived(bench, some_runtime, "--min-duration", "0")
    assert (len(shown), counted) == (len(pauses), [])


def test_from_what_the_user_says(bench, some_runtime):
    text, shown, counted, pauses = lived(bench, some_runtime, "--min-duration", "50us")
    assert len(shown) == sum(p["duration_ns"] >= 50_000 for p in pauses)
    assert len(shown) + sum(counted) == len(pauses)


def test_verbose_is_readable(bench, some_runtime):
    """-v says what was probed and why, not what libbpf does meanwhile."""
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("-v", "-p", target.pid, "-o", bench.file)
    target.quit()
    tracer.finish()
    said = tracer.err.text().splitlines()
    assert any("debug:" in line for line in said)
    assert len(said) < 60 and not [line for line in said if "libbpf" in line]
