"""Ranks that wait for each other in a real MPI, which polls: that is CPU time and no work, by the ranks' own books."""

import collections
import json
import os
import sqlite3
import statistics
import time
from pathlib import Path

import pytest

import building
import conftest
import harness
import training

STEPS = 53
TICK = int(time.clock_getres(6) * 1e9)  # CLOCK_MONOTONIC_COARSE goes by ticks
# What the program's way into MPI and out again usually takes of a step, with the probes that are hit there.
HIT = 1000000 // 5 * harness.SLOWNESS
WAITED = 2 * STEPS * HIT

# Of these the name says all; others come down to several: allreduce, recv (which first asks how large), Wait.
CALLS = "Allreduce allreduce Reduce_scatter_block Scan Barrier Bcast Wait Waitall Recv recv Sendrecv_replace Ssend Fence"

MPIS = [e for e in training.load_environments() if e.kind in ("mpich", "openmpi")]
mpis = pytest.mark.parametrize("mpi", MPIS or [None], ids=str)


class Ranks:
    """An MPI program, under trace."""

    def __init__(self, bench, mpi, ranks):
        conftest.need("workloads", mpi, "scripts/workloads mpich-3.11 has not been run, nor openmpi-3.11")
        self.bench, self.asked = bench, []
        library = building.library(bench.scratch / "libwork.so", harness.HERE / "work_loop.c")
        large = ["-DLARGE_COUNTS"] if mpi.kind == "mpich" else []
        inside = building.library(bench.scratch / "libinside.so", *large, harness.HERE / "mpi_inside.c")
        many = ["--oversubscribe"] if mpi.kind == "openmpi" else []
        self.process = bench.process(
            [Path(mpi.python).parent / "mpiexec", *many, "-n", ranks, mpi.python, harness.HERE / "mpi_subject.py",
             library, inside, bench.scratch],
            env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_osc": "^ucx"},
        )
        ready = self.process.out.next(60)
        assert ready and ready.startswith("READY"), self.process.err.text()
        self.pids = [int(word) for word in ready.split()[1:]]
        targets = [word for pid in self.pids for word in ("-p", pid)]
        self.tracer = bench.tracer("record", *targets, "-o", bench.file, "-v", "--step", "libwork:work_step")
        self.tracer.attached("functions that wait")

    def ask(self, function):
        self.asked.append(function)
        self.process.send("%s %d" % (function, STEPS))
        assert self.process.out.next(60) == "DONE", self.process.err.text()

    def ask_until_waited(self, function):
        """Again where other programs had the processors meanwhile: ranks that poll give way to them, and so use less."""
        in_mpi = [0] * len(self.pids)
        for _ in range(23):
            self.ask(function)
            for rank in range(len(in_mpi)):
                book = json.loads((self.bench.scratch / str(rank)).read_text().splitlines()[-1])
                in_mpi[rank] += book[-1][1] - book[0][1]
            if min(in_mpi[1:]) > WAITED:
                return

    def finish(self):
        """Of each rank and function: (work by its marks, by its books, CPU time in MPI, what is not known) of each step."""
        self.process.send("quit")
        assert self.process.wait() == 0, self.process.err.text()
        self.tracer.finish()
        base = sqlite3.connect(self.bench.file)
        assert base.execute("select cause, count from drops").fetchall() == []
        for rank, pid in enumerate(self.pids):
            marks = [work for work, in base.execute(
                "select m.work_ns from step_mark m join step_series s on s.id = m.series"
                " join process p on p.id = s.process where p.pid = ? order by m.time_ns", (pid,))]
            with open(self.bench.scratch / str(rank)) as file:
                books = [json.loads(line) for line in file]
            assert len(marks) == sum(map(len, books)) == len(self.asked) * (STEPS + 1)
            for function, book in zip(self.asked, books):
                own, marks = marks[: len(book)], marks[len(book) :]
                yield rank, function, steps_of(own, book)
        base.close()


def steps_of(marks, books):
    """Between one mark and the next. What is not known is where in the way into MPI and out again its calls begin, when within
    the two marks the kernel reads the CPU time, and what of the time taken from the thread the scheduler knew then: that
    of this step, and of the one before since it last looked."""
    found = []
    for i in range(1, len(marks)):
        cpu, in_mpi, way, _, _ = (now - before for now, before in zip(books[i], books[i - 1]))
        taken = books[i][3] - books[max(i - 2, 0)][3]
        unknown = way + taken + books[i][4] + books[i - 1][4]
        found.append((marks[i] - marks[i - 1], cpu - in_mpi, in_mpi, unknown))
    return found


def check(rank, function, steps):
    errors = [work - own for work, own, *_ in steps]
    beyond = [abs(error) - unknown for error, (*_, unknown) in zip(errors, steps)]
    assert statistics.median(map(abs, errors)) < HIT, (rank, function)
    assert max(beyond) < TICK + HIT, (rank, function)
    assert abs(sum(errors)) < STEPS * HIT + sum(unknown for *_, unknown in steps), (rank, function)


def waited(found):
    """In MPI the ranks that are not late used more of a processor than all that a check lets pass."""
    in_mpi = collections.Counter()
    for rank, function, steps in found:
        in_mpi[rank, function] += sum(ns for _, _, ns, _ in steps)
    return all(ns > WAITED for (rank, _), ns in in_mpi.items() if rank)


@mpis
def test_waiting_calls(bench, mpi):
    ranks = Ranks(bench, mpi, 2)
    for function in CALLS.split():
        ranks.ask_until_waited(function)
    found = list(ranks.finish())
    for rank, function, steps in found:
        check(rank, function, steps)
    assert waited(found)


@mpis
def test_more_ranks_than_processors(bench, mpi):
    """They yield their processor to each other within the calls."""
    ranks = Ranks(bench, mpi, max(4, 2 * os.cpu_count()))
    ranks.ask("Allreduce")
    for rank, function, steps in ranks.finish():
        check(rank, function, steps)
