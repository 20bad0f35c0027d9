"""No thread can be started to search a library for calls that mark steps: it is tried again, and never
silence. The threads are denied by the pids controller, which root cannot pass over either."""

import os
from pathlib import Path

import pytest

import building
import conftest
import harness
import test_signals

NAME = "user:libsteps:step_once"
CALLS = 701


class Limited:
    """A cgroup that allows only so many threads."""

    def __init__(self, bench):
        roots = [Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")]
        root = next((r for r in roots if (r / "cgroup.procs").exists()), None)
        conftest.need("pids", root, "no cgroups here")
        self.folder = root / ("gctrace-test-%d" % os.getpid())
        self.folder.mkdir()
        if not (self.folder / "pids.max").exists():
            self.close()
            conftest.need("pids", False, "no pids controller here")
        self.events = self.folder / "pids.events"
        bench.keep(self)

    def most(self, count):
        (self.folder / "pids.max").write_text(str(count))

    def take(self, process):
        (self.folder / "cgroup.procs").write_text(str(process.pid))

    def refusals(self):
        return int(self.events.read_text().split()[1])

    def close(self):
        self.folder.rmdir()

    def kill(self):
        """At the end of the test, when its processes are gone."""
        harness.wait_until(lambda: not (self.folder / "cgroup.procs").read_text(), what="an empty cgroup")
        self.close()


@pytest.fixture
def library(tmp_path):
    return building.library(tmp_path / "libsteps.so", harness.HERE / "step_calls.c")


@pytest.fixture
def limited(bench):
    return Limited(bench)


def test_from_the_start(bench, some_runtime, library, limited):
    """The libraries are still searched, before anything is recorded."""
    limited.most(1)
    subject = test_signals.start(bench, some_runtime, steps=library)
    enter = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
    line = ["sh", "-c", enter, limited.folder, os.environ["GCTRACE"]]
    line += ["record", "-p", subject.pid, "-o", bench.file, "--step", "libsteps:step_once"]
    tracer = bench.process(line)
    assert tracer.err.find(lambda l: "tracing" in l), tracer.err.text()
    subject.ask("call", "steps", "once_many", CALLS)
    subject.quit()
    assert tracer.wait() == 0, tracer.err.text()
    assert limited.refusals() > 0
    assert test_signals.Marks(bench.file).total(NAME) == CALLS
    assert bench.report().recording["complete"] is True


def test_later(bench, some_runtime, library, limited):
    """Tried again at each turn."""
    subject = test_signals.start(bench, some_runtime)
    tracer = bench.record(subject, "--step", "libsteps:step_once", "--wait", "-v")
    limited.take(tracer)
    limited.most(1)
    subject.ask("load", "steps", str(library))
    harness.wait_until(lambda: limited.refusals() > 3, what="a second try")
    limited.most("max")
    tracer.attached("step_once", "libsteps.so")
    subject.ask("call", "steps", "once_many", CALLS)
    assert test_signals.finish(bench, subject, tracer).total(NAME) == CALLS


def test_to_the_end(bench, some_runtime, library, limited):
    """The library was never searched: the recording is not complete, and check does not pass it."""
    subject = test_signals.start(bench, some_runtime)
    tracer = bench.record(subject, "--step", "libsteps:step_once", "--wait")
    limited.take(tracer)
    limited.most(1)
    subject.ask("load", "steps", str(library))
    harness.wait_until(lambda: limited.refusals() > 0, what="a try")
    subject.ask("call", "steps", "once_many", CALLS)
    subject.quit()
    tracer.wait()
    records = bench.report()
    assert [d["cause"] for d in records.drops] == ["unprobed-step"]
    assert records.recording["complete"] is False
    assert harness.gctrace("check", bench.file, "--budget", "pause.max<1h").returncode == 4
