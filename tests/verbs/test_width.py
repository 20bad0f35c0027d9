"""On a terminal a report fits the width and has a little colour; in a pipe neither changes a byte."""

import fcntl
import os
import pathlib
import re
import sqlite3
import struct
import subprocess
import termios

import pytest

from recording import gctrace

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
NAMES = ["busy", "jvm", "steps", "cutoff"]
SGR = re.compile(r"\033\[[0-9;]*m")


@pytest.fixture(params=NAMES)
def recording(request, tmp_path):
    path = tmp_path / (request.param + ".gct")
    db = sqlite3.connect(str(path))
    db.executescript(gctrace("schema", "sql").stdout)
    db.executescript((GOLDEN / (request.param + ".sql")).read_text())
    db.commit()
    db.close()
    return path


def on_terminal(columns, *args, **environment):
    """What @args print on a terminal of that width."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
    env.update({"TERM": "xterm", **environment})
    line = [os.environ["GCTRACE"]] + [str(a) for a in args]
    child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=theirs, env=env)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # EIO: the other side is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    assert child.wait() == 0
    return said.decode().replace("\r\n", "\n")


def squeezed(text):
    return " ".join(text.split())


@pytest.mark.parametrize("columns", [80, 101, 173])
def test_lines_fit(recording, columns):
    piped = gctrace("report", recording).stdout
    shown = SGR.sub("", on_terminal(columns, "report", recording))
    assert max(len(line) for line in shown.splitlines()) <= columns
    # the answer is wrapped, not cut
    assert squeezed(shown).startswith(squeezed(piped.splitlines()[0]))
    # paths keep their ends
    for line in piped.splitlines():
        if re.search(r"/\S+\.py:\d+$", line):
            assert line.rsplit("/", 1)[1] in shown


def test_a_wide_terminal_changes_nothing(recording):
    piped = gctrace("report", recording).stdout
    assert SGR.sub("", on_terminal(5000, "report", recording)) == piped


def test_colour(recording):
    shown = on_terminal(200, "report", recording)
    assert shown.startswith("\033[1m") and shown.count("\033[0m") == len(SGR.findall(shown)) / 2
    for line in shown.splitlines():
        assert ("INCOMPLETE" in line[:20]) == line.startswith("\033[1;31m"), line


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_colour(recording, environment):
    assert "\033" not in on_terminal(80, "report", recording, **environment)


def test_a_pipe_is_no_terminal(recording):
    env = dict(os.environ, COLUMNS="60", TERM="xterm")
    done = gctrace("report", recording, env=env)
    assert "\033" not in done.stdout
    golden = (GOLDEN / (recording.stem + ".txt")).read_text().splitlines()
    assert max(map(len, done.stdout.splitlines())) == max(map(len, golden))
