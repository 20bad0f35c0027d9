"""A libpython that comes twice, goes and comes again, or whose code is moved: the process lives, and what was
not seen is missed."""

from pathlib import Path

import building
import conftest
import harness
import snippets
from test_children import shared_runtimes

HERE = Path(__file__).resolve().parent
ROUNDS = 23
SCRIPT = """
import gc
def books(): return sum(s["collections"] for s in gc.get_stats())
first = books()
for _ in range(%d): gc.collect(1)
print("books", first, books(), flush=True)
""" % ROUNDS


def start(bench, runtime, how):
    program = building.program(bench.scratch / "two_copies", HERE / "two_copies.c", "-ldl")
    target = bench.process([program, runtime.elf, SCRIPT, how], env=runtime.environment)
    assert target.out.next() == "ready", target.err.text()
    return target


def books(target):
    """One copy's books before and after its calls."""
    word, first, last = target.out.next().split()
    assert word == "books" and int(last) - int(first) == ROUNDS
    return int(first), int(last)


def end(bench, target, tracer, collected):
    """Every collection is there, whatever is known about it."""
    assert target.out.next() == "done", target.err.text()
    target.send("")
    assert target.wait() == 0
    tracer.finish()
    records = bench.report()
    assert records.recording["complete"] is True and not records.drops, tracer.err.text()
    assert not any(p["missed"] for p in records.processes)
    assert len([p for p in records.pauses if p["cause"] != "shutdown"]) == collected


@conftest.each("shared", shared_runtimes(), "shared libpython is here")
def test_two_copies(bench, shared):
    """By dlmopen(): one file at two addresses, with books of their own."""
    target = start(bench, shared, "twice")
    tracer = bench.record(target)
    target.send("")
    books(target), books(target)
    end(bench, target, tracer, 2 * ROUNDS)


@conftest.each("shared", shared_runtimes(), "shared libpython is here")
def test_closed_and_opened(bench, shared):
    """By dlclose() and dlopen() while it is traced, before it was ever started."""
    target = start(bench, shared, "before")
    tracer = bench.record(target)
    target.send("")
    assert target.out.next() in ("unmapped", "kept")
    assert target.out.next() == "reopened", target.err.text()
    target.send("")
    _, last = books(target)
    end(bench, target, tracer, last)


@conftest.each("shared", shared_runtimes(), "shared libpython is here")
def test_used_closed_and_opened(bench, shared):
    target = start(bench, shared, "again")
    tracer = bench.record(target)
    target.send("")
    first, last = books(target)
    assert target.out.next() in ("unmapped", "kept")
    assert target.out.next() == "reopened", target.err.text()
    target.send("")
    _, anew = books(target)
    end(bench, target, tracer, last - first + anew)


REMAP = "import ctypes; moved = ctypes.CDLL(%r).remap(%r.encode())"


@conftest.each("shared", shared_runtimes(), "shared libpython is here")
def test_code_was_moved(bench, shared):
    """Into anonymous memory, before gctrace attaches: no probe fires there, and the books show it."""
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
