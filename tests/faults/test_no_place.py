"""A CPython whose collector has no place where an end probe would be safe. From 3.13 on: never a return
probe, but another tier, or a refusal. Up to 3.12: a return probe, and doctor says so."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import conftest
import test_counts
from harness import gctrace

SHARED = [r for r in conftest.PLAIN if r.linkage == "shared" and not r.in_root]
LOCAL = [r for r in SHARED if r.minor >= (3, 13)]
OLDER = [r for r in SHARED if (3, 9) <= r.minor < (3, 13)]  # 3.8 has two collectors


def tool(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.decode()


def symbol_vaddr(library, name):
    (vaddr,) = re.findall(r"^(\w+) [tT] %s$" % name, tool("nm", library), re.M)
    return int(vaddr, 16)


def symbol_offset(library, name):
    """The offset of a function in the file."""
    vaddr = symbol_vaddr(library, name)
    for row in re.findall(r"LOAD +(\w+) (\w+) \w+ (\w+) \w+ R E", tool("readelf", "-lW", library)):
        offset, start, size = (int(word, 16) for word in row)
        if start <= vaddr < start + size:
            return vaddr - start + offset
    raise AssertionError("no segment has %#x" % vaddr)


def copy_library(bench, runtime):
    """The runtime's library, to be patched, and how it is loaded instead."""
    folder = bench.public_folder()
    library = folder / Path(runtime.elf).name
    shutil.copy(runtime.elf, library)
    return library, {"LD_LIBRARY_PATH": str(folder)}


@pytest.fixture
def patched(bench, local):
    """The runtime with one of the collector's jmps, on its error path, made indirect."""
    target = bench.oracle(local)
    tracer = bench.record(target)
    assert target.quit() == 0
    tracer.finish()
    ends = bench.report().process(target.pid)["probe"]
    (jump,) = re.findall(r"\+(0x\w+) \(jmp\)", ends)
    library, environment = copy_library(bench, local)
    with open(library, "r+b") as file:
        file.seek(symbol_offset(library, "gc_collect_main") + int(jump, 16))
        assert file.read(1) == b"\xe9"
        file.seek(-1, 1)
        file.write(b"\xff\xe0\x90\x90\x90")  # jmp *%rax
    return environment


@conftest.each("local", LOCAL, "shared CPython from 3.13 on is here")
def test_refused(bench, local, patched, monkeypatch):
    target = bench.oracle(local, env=patched)
    for tier in "symbol", "call-target":
        monkeypatch.setenv("GCTRACE_TIER", tier)
        done = gctrace("record", "-p", target.pid, "-o", bench.file, "-d", "1s")
        assert done.returncode == 3
        said = done.stderr.decode()
        assert "no safe place for a probe where" in said
        assert "jumps to an address known only at run time" in said
    assert target.quit() == 0


@conftest.each("local", LOCAL, "shared CPython from 3.13 on is here")
def test_another_tier(bench, local, patched):
    target = bench.oracle(local, env=patched)
    tracer = bench.record(target)
    books = target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()
    records = bench.report()
    test_counts.check_clean(records)
    test_counts.check_process(records, target, {"watchpoint"})
    test_counts.check_sums(records.of_pid(target.pid), books)


@conftest.each("older", OLDER, "shared CPython 3.9 to 3.12 is here")
def test_return_probe(bench, older):
    """A function that nobody calls jumps to the collector, which may thus return to another place."""
    library, environment = copy_library(bench, older)
    collector = "collect" if older.minor == (3, 9) else "gc_collect_main"
    beside = "PyErr_ProgramText"
    distance = symbol_vaddr(library, collector) - symbol_vaddr(library, beside) - 5
    with open(library, "r+b") as file:
        file.seek(symbol_offset(library, beside))
        file.write(b"\xe9" + distance.to_bytes(4, "little", signed=True))
    target = bench.oracle(older, env=environment)
    told = gctrace("doctor", "-p", target.pid).stdout.decode()
    tracer = bench.record(target)
    books = target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()
    records = bench.report()
    test_counts.check_clean(records)
    probe = test_counts.check_process(records, target, {"symbol"})["probe"]
    assert probe.endswith("; ends at its return") and probe in told
    test_counts.check_sums(records.of_pid(target.pid), books)
