"""Between the collector's probes and those of the steps: nothing at an attach, little at a dlopen, and
the report says from when on steps were seen."""

import re
import sqlite3
import time
from pathlib import Path

import pytest

import building
from harness import gctrace
from test_signals import Marks, finish, start

HERE = Path(__file__).resolve().parent
SIGNAL = "xgboost:update"
NAMES, NAME_BYTES = 100003, 240  # of functions that are no signal


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return building.library(tmp_path_factory.mktemp("gap") / "libxgboost.so", HERE / "rounds.c")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A library whose .symtab has 24 MB of names, and jaxlib's jitted call last among them."""
    folder = tmp_path_factory.mktemp("large")
    source = folder / "names.s"
    tail = "x" * (NAME_BYTES - 6)
    with source.open("w") as stream:
        stream.write(".text\n")
        for i in range(NAMES):
            stream.write("f%06d%s:\n.type f%06d%s,@function\nnop\n" % (i, tail, i, tail))
        stream.write(".type PjitFunction_tp_vectorcall,@function\n")
        stream.write("PjitFunction_tp_vectorcall: push %rbp\npop %rbp\nret\n")
        stream.write('.section .note.GNU-stack,"",@progbits\n')
    return building.library(folder / "libjax_common.so", source)


def attached_ns(file):
    """When the collector's probes were in place, and the signal's."""
    base = sqlite3.connect(file)
    (runtime,) = base.execute("select min(attached_ns) from runtime").fetchone()
    (signal,) = base.execute("select attached_ns from step_signal where name = ?", [SIGNAL])
    base.close()
    return runtime, signal[0]


def track_of(bench, subject):
    records = bench.report()
    assert records.recording["complete"] and not records.drops
    (track,) = records.summary["tracks"]
    assert track["pid"] == subject.pid
    return track, records.summary["verdict"]


def test_attach(bench, some_runtime, library):
    """Attached to a running process: no pause is recorded before steps are."""
    subject = start(bench, some_runtime, xgboost=library)
    tracer = bench.record(subject)
    subject.ask("call", "xgboost", "rounds", 211, 100)
    marks = finish(bench, subject, tracer)
    assert marks.total(SIGNAL) == 211
    runtime, signal = attached_ns(bench.file)
    assert 0 < signal < runtime
    track, verdict = track_of(bench, subject)
    assert track["steps"] == 211 and track["seen_ns"] is None and track["unseen"] == 0
    assert "seen from" not in verdict


def test_later_library(bench, some_runtime, library):
    """Loaded under trace: its first steps may be missing, but not a fifth of a second of them."""
    subject = start(bench, some_runtime)
    tracer = bench.record(subject)
    subject.ask("collect", 7)
    time.sleep(0.02)  # later than the collector's probes by more than a moment
    subject.ask("load", "xgboost", str(library))
    subject.ask("call", "xgboost", "rounds", 101, 5000)
    for _ in range(37):  # so that most of the pauses' time is in steps: only then do these speak for the process
        subject.ask("collect", 3)
        subject.ask("call", "xgboost", "rounds", 7, 100)
    marks = finish(bench, subject, tracer)
    assert 101 - 19 + 37 * 7 <= marks.total(SIGNAL) <= 101 + 37 * 7
    runtime, signal = attached_ns(bench.file)
    assert signal >= runtime + 10000000
    track, verdict = track_of(bench, subject)
    assert track["seen_ns"] == signal
    assert track["unseen"] == 7 and track["outside"] >= 7
    assert re.search(r", seen from [0-9.]+ m?s on, nothing dropped", verdict)
    said = gctrace("report", bench.file).stdout.decode()
    assert "steps are seen from" in said
    assert "before steps could be seen: 7 pauses" in said


def test_never_called(bench, some_runtime, library):
    """"No step was seen" is said about the time in which one could have been."""
    subject = start(bench, some_runtime)
    tracer = bench.record(subject, "-v")
    time.sleep(0.02)
    subject.ask("load", "xgboost", str(library))
    tracer.err.find(lambda line: SIGNAL in line)
    finish(bench, subject, tracer)
    note = bench.report().summary["step_note"]
    assert re.search(r"1 place was probed and none was called after [0-9.]+ m?s, when", note)


def test_memory(bench, some_runtime, large):
    """A large library is read in passing, not held in memory."""
    subject = start(bench, some_runtime)
    tracer = bench.record(subject, "-v")
    Path("/proc/%d/clear_refs" % tracer.pid).write_text("5")  # VmHWM begins anew
    before = building.memory_kib(tracer.pid, "VmRSS")
    subject.ask("load", "jax", str(large))
    tracer.err.find(lambda line: "jax:pjit" in line)
    peak = building.memory_kib(tracer.pid, "VmHWM")
    finish(bench, subject, tracer)
    assert peak - before < 16 * 1024 < NAMES * NAME_BYTES / 1024
    assert "jax:pjit" in Marks(bench.file).signals
