"""What gctrace does not do on arm64: it says so, and by which name. Run in an emulated machine by tests/kernels/run."""

import os
import pathlib
import subprocess
import sys
import time

import pytest

KEYTOOL = "/usr/lib/jvm/java-17-openjdk-arm64/bin/keytool"
START_S = 300


@pytest.fixture
def start():
    started = []

    def begin(*words):
        started.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()


def check_refusal(target, file, words, **environment):
    done = subprocess.run(
        [os.environ["GCTRACE"], "record", "-p", str(target.pid), "-d", "5s", "-o", file],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=dict(os.environ, **environment),
        timeout=120,
    )
    said = done.stderr.decode()
    assert done.returncode == 3, said
    for word in words:
        assert word in said, said
    assert not file.exists()
    assert target.poll() is None


def test_last_resort(start, tmp_path):
    target = start(sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(3600)")
    assert target.stdout.readline() == b"ready\n"
    check_refusal(target, tmp_path / "x.gct", ["watchpoint", "arm64"], GCTRACE_TIER="watchpoint")


def test_hotspot(start, tmp_path):
    """In a program that waits for a password."""
    target = start(KEYTOOL, "-genkeypair", "-keystore", str(tmp_path / "store"))
    maps = pathlib.Path("/proc/%d/maps" % target.pid)
    end = time.monotonic() + START_S
    while "libjvm.so" not in maps.read_text():
        assert time.monotonic() < end and target.poll() is None
        time.sleep(0.1)
    check_refusal(target, tmp_path / "x.gct", [str(target.pid), "HotSpot", "arm64"])
