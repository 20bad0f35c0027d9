"""Every option that a verb takes is in its --help, and in the man page."""

import os
import re
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent
VERBS = ["", "run", "record", "report", "check", "diff", "doctor"]  # schema takes none
# Read by the parser that the capturing verbs share, and refused with a sentence or without effect.
REFUSED = {
    "": {"budget", "junit"},
    "run": {"pid", "wait"},
    "doctor": {"step"},  # short for --steps
    "record": {"budget", "junit", "json", "min-duration", "min-generation", "gc-only"},
}


def gctrace(*args):
    done = subprocess.run(
        [os.environ["GCTRACE"], *filter(None, args)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def described():
    """The long options in the man page."""
    return set(re.findall(r"Fl -([a-z][a-z-]+)", (SOURCE / "docs/man/gctrace.1").read_text()))


def taken(verb, option):
    _, _, said = gctrace(verb, "--" + option)
    return "there is no option" not in said


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb or "live")
def test_options(verb):
    status, text, _ = gctrace(verb or "-h", verb and "--help")
    assert status == 0
    shown = set(re.findall(r"--([a-z][a-z-]+)", text.split("usage:", 1)[1]))
    if verb == "":
        shown -= {"help"}
    known = {o for o in described() if o not in ("help", "version") and taken(verb, o)}
    assert known - REFUSED.get(verb, set()) <= shown
    assert shown <= described()
