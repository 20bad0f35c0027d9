"""No report is out of proportion to its recording, whatever the file holds; docs/gct-schema.md has the bound.

In: recordings made by hand, in which much names one long thing. Out: the size of each report.
"""

import json
import os
import sqlite3
import subprocess

import pytest
from recording import Recording, gctrace

REPORTS = [
    ["report"],
    ["report", "-f", "json"],
    ["report", "-f", "html"],
    ["report", "-f", "folded"],
    ["report", "-f", "flamegraph"],
    ["check", "--budget", "pause.p99 < 1ns"],
    ["check", "--json", "--budget", "pause.p99 < 1ns"],
]
FIXED = 18 << 20  # the 16 MiB of shared text; the page's own script and the picture's
PER_BYTE = 256 + 44  # and what else a pause's record holds: 550 bytes and the innermost frames, for 20 to 50

COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
PAUSES = COUNT + (
    "INSERT INTO pause (start_ns, duration_ns, runtime, tid, interpreter, cause, flags, stack) "
    "SELECT 1000000000 + i * 2000, 1000, 1, 0, %s, 0, %d, %s FROM n;"
)


def chain(depth, letters, char="y"):
    """A stack of `depth` frames, each of which has names of so many letters."""
    return (
        "DELETE FROM stack; DELETE FROM frame; DELETE FROM string;"
        + COUNT % 3 + "INSERT INTO string SELECT i, printf('%%.%dc', char(%d)) || i FROM n;" % (letters, ord(char))
        + COUNT % 3 + "INSERT INTO frame SELECT i, i, i, 41, 1 FROM n;"
        + COUNT % depth + "INSERT INTO stack SELECT i, i - 1, i % 3 + 1 FROM n;"
    )


CRAFTED = {
    "one stack": chain(120, 110) + PAUSES % (3001, "0", 0, "120"),
    "one long name": chain(1, 4000, "\x01") + PAUSES % (3001, "0", 0, "1"),
    "a stack within a stack": chain(9001, 20) + PAUSES % (9001, "0", 0, "i"),
    "interpreters": chain(500, 60) + PAUSES % (3001, "i", 0, "500"),
    "command lines": "UPDATE process SET cmdline = CAST(printf('%.16000c', char(1)) AS BLOB);"
    + COUNT % 67 + "INSERT OR IGNORE INTO process SELECT i, i, i, 1, 'p', (SELECT cmdline FROM process), 1, NULL FROM n;"
    + COUNT % 4001 + "INSERT OR IGNORE INTO runtime (id, process, kind, version, tier, attached_ns, missed)"
    " SELECT i, (i - 1) / 60 + 1, 'cpython', '3', 's', 1, 0 FROM n;",
    "operations": chain(1, 4000, "\x01") + PAUSES % (3001, "0", 64, "NULL")
    + COUNT % 3001 + "INSERT INTO safepoint (pause, operation, cause, late_tid, late_stack) SELECT i, 1, 1, 1, 1 FROM n;",
    "phases": chain(1, 4000, "\x01")
    + COUNT % 3001 + "INSERT INTO phase SELECT i, 1000000000 + i * 100, 50, 1, 1, 1 FROM n;",
    "stalls": chain(120, 110)
    + COUNT % 3001 + "INSERT INTO stall SELECT i, 1000000000 + i * 100, 50, 1, 1, 1, 1, 120 FROM n;",
}


@pytest.fixture(params=list(CRAFTED))
def crafted(request, tmp_path):
    made = Recording(tmp_path / "crafted.gct")
    made.db.executescript(CRAFTED[request.param])
    made.db.executescript("VACUUM")
    return made.close(end=10**12)


def output_bytes(*args):
    """The size of what it writes, without keeping it."""
    process = subprocess.Popen([os.environ["GCTRACE"]] + [str(a) for a in args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    count = sum(len(piece) for piece in iter(lambda: process.stdout.read(1 << 20), b""))
    errors = process.stderr.read()
    assert process.wait() in (0, 3, 4, 99), errors
    return count


def test_each_report_is_in_proportion(crafted):
    size = os.path.getsize(crafted)
    for verb, *options in REPORTS:
        written = output_bytes(verb, crafted, *options)
        assert written <= FIXED + PER_BYTE * size, (verb, options, size)
    written = output_bytes("diff", crafted, crafted)
    assert written <= FIXED + PER_BYTE * size


def test_what_was_cut_is_said(tmp_path):
    """Each of 3,001 pauses has 120 frames of 286 bytes, the most that fit into 32 KiB: 98 MB in a file of 200 kB."""
    made = Recording(tmp_path / "cut.gct")
    made.db.executescript(CRAFTED["one stack"])
    records = [json.loads(line) for line in gctrace("report", made.close(end=10**12), "-f", "json").stdout.splitlines()]
    stacks = [record["stack"] for record in records if record["type"] == "pause"]
    cut = [stack for stack in stacks if len(stack) < len(stacks[0])]
    assert len(stacks) == 3001
    assert 0 < len(cut) < 3001
    assert records[-1]["stacks_cut"] == len(cut)
    assert all(stack[-1] == {"function": "[truncated]", "file": None, "line": None, "lang": "mark"} for stack in cut)
    assert all(stack[0] == stacks[0][0] for stack in cut)
    assert gctrace("report", tmp_path / "cut.gct", "-f", "folded").stdout.count("[truncated]") == 0


def test_what_pauses_really_have_is_not_cut(tmp_path):
    """As long as what CPython records: 127 frames, for 1,009 pauses of 100 bytes each."""
    made = Recording(tmp_path / "real.gct")
    made.db.executescript(chain(127, 25) + PAUSES % (1009, "0", 0, "127"))
    records = [json.loads(line) for line in gctrace("report", made.close(end=10**12), "-f", "json").stdout.splitlines()]
    assert {len(record["stack"]) for record in records if record["type"] == "pause"} == {127}
    assert "stacks_cut" not in records[-1]
