"""A libpython that comes twice, goes and comes again, or whose code is moved: the process lives, and what was
not seen is missed."""

from pathlib import Path

import pytest

import building
import conftest
import harness
import snippets
from test_children import shared_runtimes

HERE = Path(__file__).resolve().parent
ROUNDS = 23
SCRIPT = "import gc; gc.disable(); [gc.collect(1) for _ in range(%d)]" % ROUNDS


def start(bench, runtime, how):
    program = building.program(bench.scratch / "two_copies", HERE / "two_copies.c", "-ldl")
    target = bench.process([program, runtime.elf, SCRIPT, how], env=runtime.environment)
    assert target.out.next() == "ready", target.err.text()
    return target


def judge(bench, collected):
    """All that was collected is there, or the recording says that it is not."""
    records = bench.report()
    seen = len([p for p in records.pauses if p["cause"] == "manual" and p["generation"] == 1])
    assert seen == collected or records.recording["complete"] is False
    return seen, records


@conftest.each("shared", shared_runtimes(), "shared libpython is here")
def test_two_copies(bench, shared):
    """By dlmopen(): one file at two addresses, with books of their own."""
    target = start(bench, shared, "twice")
    tracer = bench.record(target)
    target.send("")
    assert target.out.next() == "done", target.err.text()
    target.send("")
    assert target.wait() == 0
    tracer.finish()
    seen, _ = judge(bench, 2 * ROUNDS)
    print(seen)


@pytest.mark.parametrize("how", ("again", "before"))
@conftest.each("shared", shared_runtimes(), "shared libpython is here")
def test_closed_and_opened(bench, shared, how):
    """By dlclose() and dlopen() while it is traced."""
    target = start(bench, shared, how)
    tracer = bench.record(target)
    target.send("")
    assert target.out.next() in ("unmapped", "kept")
    assert target.out.next() == "reopened", target.err.text()
    target.send("")
    assert target.out.next() == "done", target.err.text()
    target.send("")
    assert target.wait() == 0
    tracer.finish()
    seen, records = judge(bench, ROUNDS * (2 if how == "again" else 1))
    print(seen, records.drops, records.recording["complete"])


REMAP = "import ctypes; moved = ctypes.CDLL(%r).remap(%r.encode())"


@conftest.each("shared", shared_runtimes(), "shared libpython is here")
def test_code_was_moved(bench, shared):
    """Into anonymous memory, before gctrace comes: no probe fires there, and the books say so."""
    library = building.library(bench.scratch / "remap_text.so", HERE / "remap_text.c")
    target = snippets.start(bench, shared)
    target.run(REMAP % (str(library), Path(shared.elf).name))
    assert target.value("moved") > 0
    tracer = bench.record(target, ready=False)
    status = None
    try:
        tracer.wait_ready()
    except AssertionError:
        status = tracer.wait()
    target.run("for _ in range(%d): gc.collect(1)" % ROUNDS)
    target.quit()
    if status is None:
        tracer.wait()
        records = bench.report()
        assert records.recording["complete"] is False
        assert harness.gctrace("check", bench.file, "--budget", "pause.max<1h").returncode == 4
    else:
        assert status == 3
    print(status, tracer.err.text())
