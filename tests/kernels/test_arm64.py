"""What gctrace does not do on arm64: it says so, and by which name. Run in an emulated machine by tests/kernels/run."""

import os
import pathlib

from harness import gctrace, wait_until

JAVA = "/usr/lib/jvm/java-17-openjdk-arm64/bin"


def refused(done, *words):
    said = done.stderr.decode()
    assert done.returncode == 3, said
    for word in words:
        assert word in said, said


def record(bench, target, **options):
    return gctrace("record", "-p", target.pid, "-o", bench.file, "-d", "5s", **options)


def test_watchpoint(bench, some_runtime):
    target = bench.oracle(some_runtime)
    done = record(bench, target, env=dict(os.environ, GCTRACE_TIER="watchpoint"))
    refused(done, "watchpoint", "arm64")
    assert target.quit() == 0


def test_hotspot(bench):
    """In a program that waits for a password."""
    target = bench.process([JAVA + "/keytool", "-genkeypair", "-keystore", bench.scratch / "store"])
    maps = pathlib.Path("/proc/%d/maps" % target.pid)
    wait_until(lambda: "libjvm.so" in maps.read_text(), what="the virtual machine's start")
    refused(record(bench, target), str(target.pid), "HotSpot", "arm64")
