"""A kernel that lacks what gctrace is built on: each verb that would trace refuses, in a sentence that
says what is missing, and leaves nothing behind. Run in a guest by tests/kernels/run."""

import os
import re
import subprocess
import sys

import pytest

# What may be named: a kernel's number, or the part of BPF that is not there.
NAMES_WHAT_LACKS = re.compile(r"\b[4-9]\.\d+\b|\bbpf_\w+")


def gctrace(*args):
    return subprocess.run(
        [os.environ["GCTRACE"], *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=120,
    )


@pytest.fixture
def target():
    program = "import time; print('ready', flush=True); time.sleep(3600)"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    yield process
    process.kill()
    process.wait()


def check_refusal(done):
    said = done.stderr.decode()
    assert done.returncode in (1, 3), (done.returncode, said)
    lines = said.splitlines()
    assert len(lines) == 1 and lines[0].startswith("gctrace: error: "), said
    assert NAMES_WHAT_LACKS.search(said), said


def test_record(target, tmp_path):
    file = tmp_path / "x.gct"
    check_refusal(gctrace("record", "-p", target.pid, "-d", "1s", "-o", file))
    assert not file.exists()


def test_live(target):
    check_refusal(gctrace("-p", target.pid, "-d", "1s"))


def test_run(tmp_path):
    """The program must not have been run untraced."""
    marker = tmp_path / "marker"
    check_refusal(gctrace("run", "-o", tmp_path / "x.gct", "--", "/usr/bin/touch", marker))
    assert not marker.exists()


def test_doctor():
    done = gctrace("doctor")
    said = done.stdout.decode()
    assert done.returncode == 3, said
    assert os.uname().release in said
    blocks = said[said.index("\nNO ") :] if "\nNO " in said else ""
    assert NAMES_WHAT_LACKS.search(blocks), said
