"""A process that loads one library after another: the tracer opens none of them twice."""

import collections
import ctypes
import json
import os
import shutil
import struct
import time
from pathlib import Path

import pytest

import building
import conftest
import snippets
from test_children import shared_runtimes
from test_counts import check_sums

HERE = Path(__file__).resolve().parent
COUNT = 307
OPENED, CLOSED = 0x20, 0x10  # IN_OPEN, IN_CLOSE_NOWRITE
LOOK_PAUSE_S = 0.05  # between two looks at a process, at most: user/trace/look.c

with_libpython = conftest.each("shared", shared_runtimes()[-1:], "shared libpython is here")


def many_libraries(folder):
    """COUNT files that are libraries of their own to a linker."""
    source = folder / "many.c"
    source.write_text("int many(void) { return 23; }\n")
    first = building.library(folder / "lib1.so", source)
    for i in range(2, COUNT + 1):
        shutil.copy(first, folder / ("lib%d.so" % i))


class Opens:
    """How often each file of a folder was opened, by any process."""

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        # Closing is watched too, because the kernel merges consecutive openings.
        assert libc.inotify_add_watch(self.fd, str(folder).encode(), OPENED | CLOSED) >= 0

    def count(self):
        found = collections.Counter()
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                os.close(self.fd)
                return found
            while data:
                _, mask, _, length = struct.unpack_from("iIII", data)
                name = data[16 : 16 + length].rstrip(b"\0").decode()
                assert not mask & 0x4000, "inotify's queue ran over"
                found[name] += bool(mask & OPENED)
                data = data[16 + length :]


@with_libpython
def test_no_runtime_yet(bench, shared):
    """Each mapped file might be a runtime, so each is opened: once."""
    many_libraries(bench.scratch)
    host = building.program(bench.scratch / "loads", HERE / "loads.c", "-ldl")
    line = [host, bench.scratch, COUNT, shared.elf, shared.exe, bench.script(shared)]
    target = bench.process(line)
    tracer = bench.record(target, "--wait", "-v")
    opens = Opens(bench.scratch)
    target.send("")
    assert target.out.next() == "loaded"
    target.send("")
    target.out.next()
    tracer.err.find(lambda l: "libpython" in l and " by " in l)
    target.send("collect 23 11 7")
    books = json.loads(target.out.next())
    target.send("quit")
    assert target.wait() == 0
    tracer.finish()

    check_sums(bench.report().of_pid(target.pid, "manual"), books)
    counts = opens.count()
    of_libraries = {n: c for n, c in counts.items() if n.startswith("lib")}
    assert len(of_libraries) == COUNT
    # the linker's own, and ours
    assert max(of_libraries.values()) <= 2, counts.most_common(5)


def test_a_runtime_already(bench, some_runtime):
    """Then further files are opened only if their names suggest it."""
    if some_runtime.in_root:
        pytest.skip("the libraries are built for this system's libc")
    many_libraries(bench.scratch)
    program = (
        "import ctypes, gc, sys\n"
        "gc.disable()\n"
        "print('up', flush=True)\n"
        "sys.stdin.readline()\n"
        "for i in range(1, %d): ctypes.CDLL('%s/lib%%d.so' %% i)\n"
        "for i in range(23): gc.collect()\n"
        "print('done', flush=True)\n"
        "sys.stdin.readline()\n" % (COUNT + 1, bench.scratch)
    )
    target = bench.process([some_runtime.exe, "-c", program], env=some_runtime.environment)
    assert target.out.next() == "up"
    tracer = bench.record(target)
    opens = Opens(bench.scratch)
    target.send("")
    assert target.out.next() == "done", target.err.text()
    assert tracer.interrupt() == 0
    target.send("")
    assert target.wait() == 0
    assert len(bench.report().of_pid(target.pid, "manual")) == 23
    counts = opens.count()
    assert {c for n, c in counts.items() if n.startswith("lib")} == {1}


def test_the_process_has_ended(bench, some_runtime):
    """By the time that the tracer gets to it: it is looked at once, for all of its libraries."""
    if some_runtime.in_root:
        pytest.skip("the libraries are built for this system's libc")
    many_libraries(bench.scratch)
    target = snippets.start(bench, some_runtime)
    tracer = bench.record(target, "-v")
    tracer.stop()
    time.sleep(LOOK_PAUSE_S)  # so that a change of its maps is looked at at once
    load = "import ctypes\nfor i in range(1, %d): ctypes.CDLL('%s/lib%%d.so' %% i)"
    target.run(load % (COUNT + 1, bench.scratch))
    target.run("for i in range(23): gc.collect()")
    target.quit()
    tracer.resume()
    tracer.finish()
    said = [line for line in tracer.err.text().splitlines() if str(target.pid) in line]
    assert len([line for line in said if "debug:" in line]) == 1, said
    assert not any("warning" in line for line in said)
    assert len(bench.report().of_pid(target.pid, "manual")) == 23


@with_libpython
def test_a_runtime_that_cannot_be_probed(bench, shared):
    """It is not tried again for each library that the process loads."""
    many_libraries(bench.scratch)
    program = (
        "import ctypes, sys\n"
        "sys.stdin.readline()\n"
        "for i in range(1, %d): ctypes.CDLL('%s/lib%%d.so' %% i)\n" % (COUNT + 1, bench.scratch)
    )
    opens = Opens(Path(shared.elf).parent)
    tracer = bench.tracer(
        "run", "-o", bench.file, "--", shared.exe, "-c", program, tier="usdt", ready=False
    )
    tracer.err.find(lambda line: "usdt" in line)  # it has been looked at: a program that ends before is unseen
    tracer.send("")
    tracer.wait()
    assert {d["cause"]: d["count"] for d in bench.report().drops} == {"unprobed-runtime": 1}
    assert opens.count()[Path(shared.elf).name] < COUNT
