"""A CPython 3.13 or later whose collector has no place where an end probe would be safe: never a return
probe, but another tier, or a refusal."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import conftest
import test_counts
from harness import gctrace

LOCAL = [
    r
    for r in conftest.PLAIN
    if r.minor >= (3, 13) and r.linkage == "shared" and not r.in_root
]


def tool(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.decode()


def symbol_offset(library, name):
    """Of a function in the file."""
    (vaddr,) = re.findall(r"^(\w+) [tT] %s$" % name, tool("nm", library), re.M)
    for row in re.findall(r"LOAD +(\w+) (\w+) \w+ (\w+) \w+ R E", tool("readelf", "-lW", library)):
        offset, start, size = (int(word, 16) for word in row)
        if start <= int(vaddr, 16) < start + size:
            return int(vaddr, 16) - start + offset
    raise AssertionError("no segment has %s" % vaddr)


@pytest.fixture
def patched(bench, local):
    """The runtime with one jmp of the collector's, where it has found an error, made indirect."""
    target = bench.oracle(local)
    tracer = bench.record(target)
    assert target.quit() == 0
    tracer.finish()
    ends = bench.report().process(target.pid)["probe"]
    (jump,) = re.findall(r"\+(0x\w+) \(jmp\)", ends)
    folder = bench.public_folder()
    library = folder / Path(local.elf).name
    shutil.copy(local.elf, library)
    with open(library, "r+b") as file:
        file.seek(symbol_offset(library, "gc_collect_main") + int(jump, 16))
        assert file.read(1) == b"\xe9"
        file.seek(-1, 1)
        file.write(b"\xff\xe0\x90\x90\x90")  # jmp *%rax
    return {"LD_LIBRARY_PATH": str(folder)}


@conftest.each("local", LOCAL, "shared CPython from 3.13 on is here")
def test_refused(bench, local, patched, monkeypatch):
    target = bench.oracle(local, env=patched)
    for tier in "symbol", "call-target":
        monkeypatch.setenv("GCTRACE_TIER", tier)
        done = gctrace("record", "-p", target.pid, "-o", bench.file, "-d", "1s")
        assert done.returncode == 3
        said = done.stderr.decode()
        assert "no safe place for a probe where" in said
        assert "jumps to where only a run of it tells" in said
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
