"""A runtime whose memory is not laid out as its version claims is never mistaken for a quiet one."""

import os
import re
import shutil
import subprocess

import pytest

import conftest
import snippets
from harness import gctrace

COLLECT = "import gc, os; gc.disable(); [gc.collect() for _ in range(23)]; os._exit(0)"


def shared():
    """Runtimes in a library that names its version, 3.11 and later."""
    return [r for r in conftest.PLAIN if r.linkage == "shared" and r.minor >= (3, 11)]


def symbol(path, name):
    listed = subprocess.run(["nm", "-D", "-S", path], stdout=subprocess.PIPE, check=True)
    found = re.search(r"^([0-9a-f]+) .* %s$" % name, listed.stdout.decode(), re.M)
    return int(found.group(1), 16)


def segment(path, vaddr):
    """The file offset of a virtual address."""
    listed = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, check=True)
    for line in re.findall(r"^\s+LOAD(.*)$", listed.stdout.decode(), re.M):
        offset, start, _, size = (int(n, 16) for n in line.split()[:4])
        if start <= vaddr < start + size:
            return vaddr - start + offset
    raise AssertionError("%#x is in no segment of %s" % (vaddr, path))


def pretender(bench, runtime, minor):
    """An environment in which @runtime's library claims another version and is otherwise the same."""
    name = "libpython%d.%d.so.1.0" % runtime.minor
    library = os.path.join(os.path.dirname(os.path.dirname(runtime.exe)), "lib", name)
    fake = bench.scratch / name
    shutil.copy(library, fake)
    with open(fake, "r+b") as file:
        file.seek(segment(fake, symbol(fake, "Py_Version")) + 2)
        assert file.read(1)[0] == runtime.minor[1]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([minor]))
    return {"LD_LIBRARY_PATH": str(bench.scratch)}


@pytest.mark.parametrize("step", [-1, 1])
@conftest.each("library", shared(), "CPython in a library")
def test_refused(bench, library, step):
    """Every verb refuses it and names it."""
    minor = library.minor[1] + step
    target = snippets.start(bench, library, pretender(bench, library, minor))
    for verb in (["record", "-o", bench.file], []):
        done = gctrace(*verb, "-p", target.pid, "-d", "1s")
        said = done.stderr.decode()
        assert done.returncode == 3, said
        assert "CPython 3.%d" % minor in said and str(bench.scratch) in said, said
    assert gctrace("doctor", "-p", target.pid).returncode == 3


@pytest.mark.parametrize("when", ["run", "child"])
@conftest.each("library", shared()[-1:], "CPython in a library")
def test_incomplete(bench, library, when):
    """It appears when tracing has begun: the recording is incomplete, and says why."""
    environment = pretender(bench, library, library.minor[1] - 1)
    line = [library.exe, "-S", "-c", COLLECT]
    if when == "run":
        done = gctrace("run", "-o", bench.file, "--", *line, env=dict(os.environ, **environment))
        assert done.returncode == 0, done.stderr.decode()
    else:
        target = snippets.start(bench, library)
        tracer = bench.record(target)
        target.run("import subprocess; subprocess.run(%r, env=%r)" % (line, environment))
        target.quit()
        tracer.finish()
    records = bench.report()
    assert not records.recording["complete"]
    assert {d["cause"] for d in records.drops} <= {"layout-unknown", "unprobed-runtime"}
    assert all(d["remedy"] for d in records.drops)
    text = gctrace("report", bench.file).stdout.decode()
    assert "INCOMPLETE" in text and "look elsewhere" not in text


CALLS_IN_VAIN = """
import time
class Slow(Cycle):
    def __del__(self):
        ready.set()
        for thread in threads:
            thread.join()
def call():
    ready.wait()
    for i in range(29):
        gc.collect()
ready = threading.Event()
threads = [threading.Thread(target=call) for _ in range(2)]
for thread in threads:
    thread.start()
Slow(); gc.collect()
# And automatic calls that find nothing to do: freed again before they come.
gc.enable()
for i in range(97):
    made = [[] for _ in range(3001)]; del made
gc.disable()
"""


def test_calls_in_vain(bench, runtime):
    """Calls that rightly do nothing are not taken for a wrong layout."""
    target = snippets.start(bench, runtime)
    tracer = bench.record(target)
    target.run(CALLS_IN_VAIN)
    target.quit()
    tracer.finish()
    records = bench.report()
    assert records.recording["complete"] and not records.drops, records.drops
    assert [p["generation"] for p in records.pauses if p["cause"] == "manual"] == [2]


TAKEN_BACK = """
import ctypes, struct
def full_collections():
    'Where the count of them is: three numbers a generation lie side by side.'
    stats = [struct.pack("3n", *map(s.get, ("collections", "collected", "uncollectable"))) for s in gc.get_stats()]
    get = ctypes.pythonapi.PyInterpreterState_Get
    get.restype = ctypes.c_void_p
    at = ctypes.string_at(get(), 8192).index(b"".join(stats))
    return ctypes.c_ssize_t.from_address(get() + at + 2 * 3 * 8)
class Taker(Cycle):
    def __del__(self):
        count.value -= 1
for i in range(7):
    gc.collect()
count = full_collections()
for i in range(23):
    Taker(); gc.collect()
"""


def counted():
    """Runtimes whose counters lie in an array, in the interpreter."""
    return [r for r in conftest.PLAIN if (3, 9) <= r.minor <= (3, 14)]


@conftest.each("plain", counted(), "CPython from 3.9 to 3.14")
def test_moved_now_and_then(bench, plain):
    """Counters that moved for seven calls, and for twenty-three they did not: no complete recording of seven pauses."""
    target = snippets.start(bench, plain)
    tracer = bench.record(target)
    target.run(TAKEN_BACK)
    target.quit()
    tracer.finish()
    records = bench.report()
    assert not records.recording["complete"]
    assert {d["cause"]: d["count"] for d in records.drops}["layout-unknown"] == 1, records.drops
    # The last call may seem to go on until the end.
    assert [p["cause"] for p in records.pauses if p["collected"] is not None] == 7 * ["manual"]
