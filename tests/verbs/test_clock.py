"""Times of day in reports: by the clock as it was at that moment, not as it was at the start."""

import re
import sqlite3

from recording import BEGIN, MS, Recording, gctrace

NOON = 1763726400 * 10**9  # what Recording gives for BEGIN: 2025-11-21 12:00 UTC
SLEPT = 7 * 3600 * 10**9
UTC = {"TZ": "UTC", "LC_ALL": "C.UTF-8"}


def clock(path, rows):
    with sqlite3.connect(str(path)) as db:
        db.execute("DELETE FROM clock")
        db.executemany("INSERT INTO clock VALUES (?, ?)", rows)
    return path


def recording(path, rows):
    made = Recording(path)
    made.pause(5_000 * MS, 97 * MS)
    made.pause(20_000 * MS, 101 * MS)
    return clock(made.close(), rows)


def test_the_machine_slept_between_two_pauses(tmp_path):
    path = recording(tmp_path / "slept.gct", [(BEGIN, NOON), (BEGIN + 10_000 * MS, NOON + SLEPT + 10**10)])
    text = gctrace("report", path, env=UTC).stdout
    assert "12:00:05.000 (+5.000 s)" in text
    assert "19:00:20.000 (+20.000 s)" in text


def test_the_machine_slept_before_the_first_pause(tmp_path):
    """The first row is older than the recording: tracing began to be set up, the machine slept, then it began."""
    path = recording(tmp_path / "early.gct", [(BEGIN - 500 * MS, NOON), (BEGIN - 100 * MS, NOON + SLEPT)])
    text = gctrace("report", path, env=UTC).stdout
    assert "19:00:05.100 (+5.000 s)" in text
    page = gctrace("report", path, "-f", "html", env=UTC).stdout
    assert '<span class="when">2025-11-21 19:00 UTC</span>' in page
    wall = float(re.search(r'"wall_s":([0-9.e+]+)', page).group(1))
    assert abs(wall - (NOON + SLEPT + 100 * MS) / 1e9) < 1
