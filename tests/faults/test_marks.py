"""Calls that may mark steps: none are probed if none are wanted, and a day of them fits on the disk."""

import sqlite3

from harness import gctrace
from test_signals import finish, libraries, start  # noqa: F401: a fixture


def test_none_are_asked_for(bench, some_runtime, libraries):  # noqa: F811
    subject = start(bench, some_runtime, nccl=libraries["libnccl"])
    tracer = bench.record(subject, "--step", "none")
    subject.ask("call", "nccl", "ncclAllReduce", 1)
    subject.ask("collect", 23)
    marks = finish(bench, subject, tracer)
    assert marks.signals == {} and marks.marks == [] and marks.manual == 23


def test_as_many_as_fit(bench, some_runtime, libraries):  # noqa: F811
    """The recording says until when steps are known, and is complete: no pause is missing."""
    subject = start(bench, some_runtime, steps=libraries["steps"])
    tracer = bench.record(subject, "--step", "libsteps:step_once", env={"GCTRACE_MARKS": "499"})
    subject.ask("call", "steps", "once_many", 1009)
    assert tracer.err.find(lambda line: "no more are" in line)
    subject.ask("call", "steps", "once_many", 503)  # the probe is gone
    subject.ask("collect", 23)
    marks = finish(bench, subject, tracer)
    assert len(marks.marks) == 499 and marks.manual == 23
    assert 499 < marks.signals["user:libsteps:step_once"]["hits"] <= 1009

    records = bench.report()
    assert records.recording["complete"] is True
    with sqlite3.connect(bench.file) as db:
        (until,) = db.execute("SELECT value FROM meta WHERE key = 'steps_until_ns'").fetchone()
    assert records.recording["steps_until_ns"] == int(until) > marks.marks[-1][1]
    assert "no step is known" in gctrace("report", bench.file).stdout.decode()
