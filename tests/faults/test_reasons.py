"""Why nothing could be traced: the reason given is the true one."""

import os
import resource

import pytest

from harness import gctrace

MIB = 1 << 20


def refused(target, *words, **options):
    """The sentence of `record`, which ends with status 3, and what doctor says."""
    done = gctrace("record", "-p", target.pid, "-d", "1s", "-o", "/dev/shm/none.gct", **options)
    said = done.stderr.decode()
    assert done.returncode == 3, said
    assert len(said.splitlines()) == 1 and "no runtime in process" not in said, said
    doctor = gctrace("doctor", "-p", target.pid, **options)
    assert doctor.returncode == 3
    for word in words:
        assert word in said and word in doctor.stdout.decode(), (said, doctor.stdout.decode())
    assert "none in this process" not in doctor.stdout.decode()
    assert not os.path.exists("/dev/shm/none.gct")


@pytest.mark.parametrize("what, limit, words", [
    (resource.RLIMIT_NOFILE, 23, ["only 23 files", "ulimit -n"]),
    (resource.RLIMIT_AS, 47 * MIB, ["only 48128 KiB", "ulimit -v"]),
], ids=["files", "memory"])  # fmt: skip
def test_limit(bench, some_runtime, monkeypatch, what, limit, words):
    """Too few files or too little memory, and no right to ask for more."""
    target = bench.oracle(some_runtime)
    start = bench.scratch / "start"
    start.write_text('#!/bin/sh\nexec setpriv --bounding-set -sys_resource "%s" "$@"\n' % os.environ["GCTRACE"])
    start.chmod(0o755)
    monkeypatch.setenv("GCTRACE", str(start))
    refused(target, *words, preexec_fn=lambda: resource.setrlimit(what, (limit, limit)))


def test_files_are_raised(bench, some_runtime):
    """A soft limit that is too low is raised, and the workload keeps its own."""
    line = "ulimit -Sn 23; exec \"$0\" run -o %s -- %s -c '%s'"
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    argv = ["sh", "-c", line % (bench.file, some_runtime.exe, code), os.environ["GCTRACE"]]
    process = bench.process(argv, env=some_runtime.environment)
    assert process.wait() == 0, process.err.text()
    assert process.out.text() == "23"
    assert bench.report().pauses


def without_sections(source, target):
    content = bytearray(open(source, "rb").read())
    content[0x28:0x30] = bytes(8)  # e_shoff
    content[0x3C:0x40] = bytes(4)  # e_shnum, e_shstrndx
    target.write_bytes(content)
    target.chmod(0o755)
    return target


def test_no_section_headers(bench, some_runtime):
    """It runs as before, but nothing shows where its functions are."""
    elf = some_runtime.elf
    stripped = without_sections(elf, bench.scratch / os.path.basename(elf))
    if some_runtime.linkage == "shared":
        line, env = [some_runtime.exe], {"LD_PRELOAD": str(stripped)}
    else:
        line, env = [stripped], {}
    target = bench.process(line + ["-c", "print(1, flush=True); input()"], env=env)
    assert target.out.next() == "1", target.err.text()
    refused(target, str(stripped), "no section headers")
