"""The texts of a recording cannot move a terminal's cursor or set its title."""

import json
import sqlite3

import pytest

from recording import gctrace, training

# OSC 0 (the title), CSI by one character (C1), DEL, and a mark that turns the writing direction.
HOSTILE = "\x1b]0;x\x07\x9b2J\x7f\u202e"
VERBS = [
    ["report", "{}"],
    ["report", "{}", "-f", "json"],
    ["report", "{}", "-f", "folded"],
    ["doctor", "--steps", "{}"],
    ["doctor", "--steps", "{}", "--json"],
    ["check", "{}", "--budget", "pause.max<1ms,step.cost.max<1ns"],
    ["check", "{}", "--budget", "pause.max<1ms", "--json"],
    ["diff", "{}", "{}"],
    ["diff", "{}", "{}", "--json"],
    ["report", "{}", "--step", "no:such"],
    ["report", "{}.missing"],
]


def texts(db):
    for table in [r[0] for r in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]:
        for row in list(db.execute("PRAGMA table_info(%s)" % table)):
            if row[2] == "TEXT" and table != "meta":
                yield table, row[1]


@pytest.fixture
def hostile(tmp_path):
    path = training(tmp_path / ("run%s.gct" % HOSTILE), every=53)
    db = sqlite3.connect(str(path))
    changed = 0
    db.execute("INSERT INTO drops VALUES ('ring-full', 'give more', 7, 1000000000)")
    db.execute("INSERT INTO thread VALUES (1, 4711, 'main')")
    for table, column in texts(db):
        if (table, column) == ("runtime", "kind"):  # decides how the rest is read
            continue
        changed += db.execute(
            "UPDATE %s SET %s = substr(%s, 1, 3) || ? || %s" % (table, column, column, column), (HOSTILE,)
        ).rowcount
    assert changed > 10
    db.execute("UPDATE meta SET value = value || ? WHERE key IN ('version', 'host')", (HOSTILE,))
    db.commit()
    db.close()
    return path


def controls(text):
    return sorted({c for c in text if (c < " " and c not in "\n") or "\x7f" <= c <= "\x9f"})


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_hostile_recording(hostile, words):
    done = gctrace(*(word.replace("{}", str(hostile)) for word in words))
    assert done.returncode in (0, 1, 3, 4, 99), done.stderr
    assert done.stdout + done.stderr
    assert not controls(done.stdout), repr(done.stdout)
    assert not controls(done.stderr), repr(done.stderr)
    if "json" in " ".join(words):
        records = [json.loads(line) for line in done.stdout.splitlines()]
        assert records
        if words[0] == "report":
            assert HOSTILE[:7] in [r for r in records if r["type"] == "process"][0]["comm"]
    elif words[0] != "check":
        assert "\u202e" not in done.stdout + done.stderr or "folded" in words
