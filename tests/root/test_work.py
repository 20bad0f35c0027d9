"""What marks say that their thread worked, against the thread's own books of its CPU time."""

import json
import os
import sqlite3
import statistics
import time

import pytest

import building
import harness

STEPS = 397
MARKS = """
select time_ns, work_ns from step_mark m join step_series s on s.id = m.series join step_signal g on g.id = s.signal
where g.name like 'user:%' order by time_ns
"""
MS = 1000000
# What an interrupt can have of the time since the scheduler's last look: docs/steps.md.
TICK = int(time.clock_getres(6) * 1e9)  # CLOCK_MONOTONIC_COARSE goes by ticks
# Between a mark and its book lies the rest of the probe's hit.
HIT = MS // 5 * harness.SLOWNESS


class Subject(harness.Process):
    def __init__(self, argv, **options):
        super().__init__(argv, **options)
        self.answer()

    def answer(self):
        line = self.out.next(60 * harness.SLOWNESS)
        assert line is not None, self.err.text()
        return json.loads(line)

    def ask(self, *command):
        self.send(json.dumps(command))
        return self.answer()


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    return [
        building.library(folder / "libwork.so", harness.HERE / "work_loop.c"),
        building.library(folder / "libcuda.so.1", harness.HERE / "work_cuda.c"),
    ]


class Run:
    """A program that makes steps, under trace."""

    def __init__(self, bench, runtime, libraries):
        if runtime.in_root:
            pytest.skip("the libraries are built for this system's libc")
        argv = [runtime.exe, harness.HERE / "work_subject.py", *libraries]
        self.bench = bench
        self.subject = bench.keep(Subject(argv, env=runtime.environment))
        self.tracer = bench.record(self.subject, "-v", "--step", "libwork:work_step")
        self.tracer.attached("functions that wait")
        self.books = []

    def ask(self, *command):
        self.books.append(self.subject.ask(*command))

    def finish(self):
        """(wall, worked, CPU time, of that in the driver, the same with its calls, what is not known) of each step of each
        command. What is not known is when within the two marks the kernel reads the CPU time, and what of the time taken from
        the thread the scheduler knew then: that of this step, and of the one before since it last looked."""
        self.subject.send(json.dumps(["quit"]))
        assert self.subject.wait() == 0
        self.tracer.finish()
        base = sqlite3.connect(self.bench.file)
        marks = base.execute(MARKS).fetchall()
        assert base.execute("select cause, count from drops").fetchall() == []
        base.close()
        assert len(marks) == sum(len(books) for books in self.books)
        for books in self.books:
            own, marks = marks[: len(books)], marks[len(books) :]
            yield [
                (own[i][0] - own[i - 1][0], difference(own[i][1], own[i - 1][1]))
                + tuple(now - before for now, before in zip(books[i][:3], books[i - 1]))
                + (books[i][3] - books[max(i - 2, 0)][3] + books[i][4] + books[i - 1][4],)
                for i in range(1, len(books))
            ]


def difference(now, before):
    return None if now is None or before is None else now - before


@pytest.fixture
def run(bench, some_runtime, libraries):
    return Run(bench, some_runtime, libraries)


def outside(worked, cpu, spun, gone):
    """By how much the work is not what it can be: the driver's time, with a part of what the calls take."""
    return worked - min(max(worked, cpu - gone), cpu - spun)


def check(steps):
    """The work of each step and of all of them is the CPU time outside the driver's calls. From step to step no error of a mark
    adds up, but one of a call's two ends does."""
    errors = [abs(outside(*books)) for _, *books, _ in steps]
    assert max(error - unknown for error, (*_, unknown) in zip(errors, steps)) < TICK + HIT
    assert statistics.median(errors) < HIT
    _, *books, _ = (sum(column) for column in zip(*steps))
    waits = any(spun for *_, spun, _, _ in steps)
    assert abs(outside(*books)) < TICK + HIT + sum(unknown for *_, unknown in (steps if waits else (steps[0], steps[-1])))


def test_work_alone(run):
    """Each step works three quarters of a tick: the scheduler's own sum is seldom up to date."""
    run.ask("run", STEPS, TICK * 3 // 4, 0, None, 0, 0, 0)
    (steps,) = run.finish()
    check(steps)


def test_sleeps(run):
    run.ask("run", STEPS, MS, 2 * MS, None, 0, 0, 0)
    (steps,) = run.finish()
    check(steps)
    assert sum(wall - worked for wall, worked, *_ in steps) > STEPS * 2 * MS - TICK - HIT


def test_queue(run):
    run.ask("queue", STEPS, MS, 3 * MS)
    (steps,) = run.finish()
    check(steps)
    assert sum(wall for wall, *_ in steps) - sum(worked for _, worked, *_ in steps) > STEPS * MS


@pytest.mark.parametrize(
    "function, spin, nap",
    (
        ("cuStreamSynchronize", 2 * MS, 0),
        ("cuStreamSynchronize", 0, 2 * MS),
        ("cuStreamSynchronize", MS, MS),
        ("cuMemcpyDtoH_v2", MS, 0),
    ),
)
def test_waiting_calls(run, function, spin, nap):
    """Spinning and sleeping in the driver is no work; nor is a call within a call taken off twice."""
    run.ask("run", STEPS, MS, 0, function, spin, nap, 1)
    (steps,) = run.finish()
    check(steps)
    assert sum(spun for *_, spun, _, _ in steps) >= STEPS * spin // 4


def test_polling_is_work(run):
    """A call that is not known to wait is counted as the kernel counts it."""
    run.ask("run", STEPS, MS, 0, "cuStreamQuery", MS, 0, 1)
    (steps,) = run.finish()
    check([(wall, worked, cpu, 0, 0, unknown) for wall, worked, cpu, _, _, unknown in steps])
    assert sum(spun for *_, spun, _, _ in steps) >= STEPS * MS // 4


def test_preempted_while_it_spins(run, bench):
    """Two programs share a processor: half of each spinning call passes off it."""
    cpu = min(os.sched_getaffinity(run.subject.pid))
    os.sched_setaffinity(run.subject.pid, [cpu])
    hog = bench.process(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"])
    run.ask("run", STEPS // 10, 5 * MS, 0, "cuStreamSynchronize", 30 * MS, 0, 1)
    hog.kill()
    (steps,) = run.finish()
    check(steps)
    assert sum(spun for *_, spun, _, _ in steps) < len(steps) * 30 * MS * 3 // 4


def test_storm(run):
    """Calls that come too fast are let go: the program runs on at its own pace, and what it worked is not said."""
    calls = 1000003
    run.ask("run", 7, MS, 0, None, 0, 0, 0)
    run.ask("run", 1, 0, 0, "cuEventSynchronize", 0, 0, calls)
    run.tracer.attached("come too fast", "let go")
    run.ask("run", 7, MS, 0, None, 0, 0, 0)
    run.ask("run", 1, 0, 0, "cuEventSynchronize", 0, 0, calls)
    before, storm, after, again = run.finish()
    assert all(worked > 0 for _, worked, *_ in before)
    assert storm[-1][1] is None or storm[-1][1] > 0
    assert all(worked is None for _, worked, *_ in after)
    assert again[0][2] < storm[0][2] // 2
    assert again[0][1] is None
