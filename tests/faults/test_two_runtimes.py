"""A CPython that holds a Julia whose collector cannot be probed: the CPython is traced, and nothing claims that the
process was quiet otherwise."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import building
import conftest
import julia_harness
import snippets
from harness import gctrace, per_generation

PYTHONS = [r for r in conftest.spread(conftest.PLAIN) if not r.in_root]
JULIAS = [
    j
    for j in julia_harness.load_julias()
    if j.embedded and j.variant == "asis" and conftest.chosen(j)
]

BOOT = """
import ctypes
julia = ctypes.PyDLL(%r, mode=os.RTLD_NOW)
julia.jl_init_options()
handles_signals = ctypes.addressof(ctypes.c_char.in_dll(julia, "jl_options")) + 152
ctypes.c_char.from_address(handles_signals).value = 1
julia.jl_init_with_image_handle(ctypes.c_void_p(julia._handle))
julia.jl_gc_unsafe_enter.restype = ctypes.c_int8
julia.jl_gc_unsafe_enter()
os.set_blocking(0, True) # Julia's own I/O never waits in read(2)
"""

COLLECT = """
for generation, count in enumerate((23, 11, 7)):
    for i in range(count):
        Cycle(); gc.collect(generation)
        julia and julia.jl_gc_collect(1)
"""


class Julia:
    """A copy of an embedded Julia that works, and of which gctrace cannot tell where it collects."""

    def __init__(self, bench, julia, way):
        inside = Path(julia.root + julia.exe).parent.parent
        self.folder = bench.scratch / "julia"
        shutil.copytree(inside, self.folder, copy_function=os.symlink)
        self.image = str(self.folder / "lib" / Path(julia.exe).name)
        self.code = self.folder / "lib/julia" / Path(julia.elf).name
        self.code.unlink()
        shutil.copy(julia.root + julia.elf, self.code)
        self.boot = BOOT % self.image
        if way == "mmtk":
            self.why = "MMTk"
            source = bench.scratch / "empty.c"
            source.write_text("")
            beside = building.library(self.folder / "libmmtk_julia.so", source)
            # before it: a Julia comes with its collector
            self.boot = "import ctypes; ctypes.CDLL(%r)\n" % str(beside) + self.boot
        else:
            self.why = "nothing says where the collector begins and ends"
            self.forget_frames()

    def forget_frames(self):
        """Its .eh_frame is all zeros."""
        out = subprocess.run(["readelf", "-SW", self.code], stdout=subprocess.PIPE, check=True)
        found = re.search(r" \.eh_frame +\w+ +\w+ (\w+) (\w+)", out.stdout.decode())
        offset, size = (int(word, 16) for word in found.groups())
        with open(self.code, "r+b") as file:
            file.seek(offset)
            file.write(bytes(size))


@pytest.fixture(params=["no-frames", "mmtk"])
def unknown(bench, julia, request):
    return Julia(bench, julia, request.param)


def check_said(text, pid, unknown):
    """Once, in a line of the log or of the report."""
    (line,) = [line for line in text.splitlines() if "are not known" in line]
    for word in ("pauses of process %d are not known" % pid, str(unknown.code), unknown.why):
        assert word in line, line


def check_blind(bench, pid, unknown):
    """The recording says what it lacks, in every form, and no budget passes on it."""
    records = bench.report()
    assert records.recording["complete"] is False
    (drop,) = records.drops
    assert (drop["cause"], drop["count"]) == ("unprobed-runtime", 1)
    check_said(drop["remedy"], pid, unknown)
    text = gctrace("report", bench.file).stdout.decode()
    assert "INCOMPLETE: 1 event lost (unprobed-runtime)" in text
    assert "look elsewhere" not in text and "nothing to gain" not in text
    check_said(text, pid, unknown)
    page = gctrace("report", bench.file, "-f", "html").stdout.decode()
    assert str(unknown.code) in page
    for budget in ("pause.max<60s", "pause.share<99%", "pause.count<100000"):
        assert gctrace("check", bench.file, "--budget", budget).returncode == 4
    return records


@conftest.each("python", PYTHONS, "CPython outside of a root")
@conftest.each("julia", JULIAS, "embedded Julia")
def test_beside(bench, python, unknown):
    target = snippets.start(bench, python)
    target.run(unknown.boot)
    told = gctrace("doctor", "-p", target.pid)
    assert told.returncode == 0 and unknown.why in told.stdout.decode(), told.stdout.decode()
    tracer = bench.record(target)
    before = snippets.books(target)
    target.run(COLLECT)
    after = snippets.books(target)
    target.quit()
    tracer.finish()
    check_said(tracer.err.text(), target.pid, unknown)
    records = check_blind(bench, target.pid, unknown)
    pauses = records.of_pid(target.pid)
    assert per_generation(pauses) == [a - b for a, b in zip(after, before)] == [23, 11, 7]
    assert [p["runtime"] for p in records.processes if p["pid"] == target.pid] == ["cpython"]


@conftest.each("python", PYTHONS, "CPython outside of a root")
@conftest.each("julia", JULIAS, "embedded Julia")
def test_loaded_later(bench, python, unknown):
    """Told when it comes, and not again for the libraries that come after it."""
    target = snippets.start(bench, python)
    target.run("julia = None")
    tracer = bench.record(target)
    target.run(COLLECT)
    target.run(unknown.boot)
    assert tracer.err.find(lambda line: "are not known" in line)
    target.run("import sqlite3, decimal")
    target.run(COLLECT)
    target.quit()
    tracer.finish()
    check_said(tracer.err.text(), target.pid, unknown)
    pauses = check_blind(bench, target.pid, unknown).of_pid(target.pid)
    assert per_generation(pauses) == [46, 22, 14]


@conftest.each("python", PYTHONS, "CPython outside of a root")
@conftest.each("julia", JULIAS, "embedded Julia")
@pytest.mark.parametrize("when", ["before", "after"])
def test_child(bench, python, julia, when):
    """A child that has nothing else, forked before the attach or after it."""
    unknown = Julia(bench, julia, "no-frames")
    program = building.program(
        bench.scratch / "embed", julia_harness.PROGRAMS / "embed.c", "-ldl", "-lpthread"
    )
    begin = """
import subprocess
julia = None
child = subprocess.Popen([%r, %r], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
"""
    begin %= (str(program), unknown.image)
    target = snippets.start(bench, python)
    target.run("julia = None")
    if when == "before":
        target.run(begin)
    tracer = bench.record(target)
    if when == "after":
        target.run(begin)
    assert tracer.err.find(lambda line: "are not known" in line)
    target.run(COLLECT)
    child = target.value("child.pid")
    target.run("child.communicate()")
    target.quit()
    tracer.finish()
    check_said(tracer.err.text(), child, unknown)
    pauses = check_blind(bench, child, unknown).of_pid(target.pid)
    assert per_generation(pauses) == [23, 11, 7]


@conftest.each("julia", JULIAS, "embedded Julia")
def test_alone(bench, julia):
    """Refused, by the reason; under `run` the workload goes on, and the log says why nothing was traced."""
    unknown = Julia(bench, julia, "no-frames")
    program = building.program(
        bench.scratch / "embed", julia_harness.PROGRAMS / "embed.c", "-ldl", "-lpthread"
    )
    target = bench.process([program, unknown.image])
    assert "ready" in target.out.next()
    done = gctrace("record", "-p", target.pid, "-o", bench.file, "-d", "5s")
    (line,) = done.stderr.decode().splitlines()
    assert done.returncode == 3 and unknown.why in line and str(unknown.code) in line
    assert gctrace("doctor", "-p", target.pid).returncode == 3

    tracer = bench.tracer("run", "-o", bench.file, "--", program, unknown.image, ready=False)
    tracer.out.find(lambda line: "ready" in line)
    tracer.send("quit")
    assert tracer.wait() == 0
    said = tracer.err.text()
    assert "nothing was traced: pauses of process" in said and unknown.why in said, said
