"""Every option that a verb takes is in its --help, and in the man page."""

import re
from pathlib import Path

import pytest

from recording import gctrace

SOURCE = Path(__file__).resolve().parent.parent.parent
VERBS = ["", "run", "record", "report", "check", "diff", "trial", "doctor"]  # schema takes none
# Read by the parser that the capturing verbs share, and refused with a sentence or without effect.
REFUSED = {
    "": {"budget", "junit"},
    "run": {"pid", "wait"},
    "doctor": {"step"},  # short for --steps
    "record": {"budget", "junit", "json", "min-duration", "min-generation", "gc-only"},
}


def described():
    """The long options in the man page."""
    return set(re.findall(r"Fl -([a-z][a-z-]+)", (SOURCE / "docs/man/gctrace.1").read_text()))


def taken(verb, option):
    return "there is no option" not in gctrace(*filter(None, [verb, "--" + option])).stderr


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb or "live")
def test_options(verb):
    done = gctrace(*([verb, "--help"] if verb else ["-h"]))
    assert done.returncode == 0
    shown = set(re.findall(r"--([a-z][a-z-]+)", done.stdout.split("usage:", 1)[1]))
    if verb == "":
        shown -= {"help"}
    known = {o for o in described() if o not in ("help", "version") and taken(verb, o)}
    assert known - REFUSED.get(verb, set()) <= shown
    assert shown <= described()


@pytest.mark.parametrize("verb", VERBS[1:] + ["schema", "version"])
def test_help_of_a_verb(verb):
    asked, option = gctrace("help", verb), gctrace(verb, "--help")
    assert (asked.returncode, asked.stdout, asked.stderr) == (0, option.stdout, "")


def test_help_of_no_verb():
    done = gctrace("help", "reprot")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean report?" in done.stderr
