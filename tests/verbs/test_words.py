"""Names of verbs and options: mistyped, completed by shells, in the man page; and the version."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recording import BEGIN, MS, Recording, gctrace, training

SOURCE = Path(__file__).resolve().parent.parent.parent
SHELLS = ["bash", "zsh", "fish"]


@pytest.mark.parametrize("typed, meant", [
    (["reprot", "x.gct"], "did you mean report?"),
    (["recrod", "-p", "1"], "did you mean record?"),
    (["1234"], "did you mean -p 1234?"),
    (["run.gct"], "did you mean report run.gct?"),
    (["--min-duraton", "3"], "did you mean --min-duration?"),
    (["check", "x.gct", "--buget=a"], "did you mean --budget?"),
    (["run", "--no-childs"], None),
    (["frobnicate"], None),
    (["-q"], None),
])
def test_mistyped(typed, meant):
    done = gctrace(*typed)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2 and done.stdout == ""
    assert meant in line if meant else "did you mean" not in line


@pytest.mark.parametrize("typed", ["version", "-V", "--version"])
def test_version(typed):
    done = gctrace(typed)
    (wanted,) = re.findall(r"version: '([0-9.]+)'", (SOURCE / "meson.build").read_text())
    assert done.returncode == 0 and done.stderr == ""
    assert re.fullmatch(r"gctrace %s( \([0-9a-f]{12}\))?\n" % re.escape(wanted), done.stdout)


def verbs():
    return re.findall(r"^  ([a-z]+) +\S", gctrace("--help").stdout.split("\n\n")[2], re.M)


def options(*verb):
    text = gctrace(*verb, "--help").stdout
    return set(re.findall(r"^  (?:-\w, |    )(--[a-z-]+)", text.split("usage:")[-1], re.M))


@pytest.fixture
def completions(tmp_path):
    """The file for a shell, as the build makes it."""
    def make(shell):
        path = tmp_path / ("completions." + shell)
        line = [sys.executable, SOURCE / "completions/make.py", os.environ["GCTRACE"], shell, path]
        subprocess.run(line, check=True)
        return path

    return make


@pytest.mark.parametrize("shell", SHELLS)
def test_completions_know_every_word(completions, shell):
    text = completions(shell).read_text()
    assert len(verbs()) >= 8 and len(options()) >= 15
    for verb in verbs():
        assert re.search(r"\b%s\b" % verb, text), verb
        for option in options(verb):
            marks = {"bash": r"^\t%s\).*[ \"]%s[ \"]", "zsh": r"^\t%s\)$(?:\n\t\t.*)*'\*%s\[",
                     "fish": r"_from %s' -l %s "}
            name = option[2:] if shell == "fish" else option
            assert re.search(marks[shell] % (verb, name), text, re.M), (verb, option)
    for option in options():
        assert option[2:] in text


def test_descriptions_are_whole(completions):
    """One clause of the help: no half of a parenthesis, no colon that announces a list."""
    said = re.findall(r" -d '(.*)'$", completions("fish").read_text(), re.M)
    assert len(said) > 50
    for text in said:
        assert text.count("(") == text.count(")") and text[-1] not in ":,;(", text


@pytest.mark.parametrize("shell", SHELLS)
def test_completions_are_accepted(completions, shell):
    if not shutil.which(shell):
        pytest.skip("no %s here" % shell)
    done = subprocess.run([shell, "-n", completions(shell)], stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("words, wanted", [
    (["re"], ["record", "report"]),
    (["report", "--m"], ["--min-duration", "--min-generation"]),
    (["report", "-f", "h"], ["html"]),
    (["schema", "s"], ["sql"]),
    (["--w"], ["--wait"]),
])
def test_bash_completes(completions, tmp_path, words, wanted):
    script = '. "$1"; shift; COMP_WORDS=(gctrace "$@"); COMP_CWORD=$#; _gctrace; echo "${COMPREPLY[@]}"'
    line = ["bash", "-c", script, "bash", completions("bash"), *words]
    done = subprocess.run(line, stdout=subprocess.PIPE, check=True, cwd=tmp_path)
    assert done.stdout.decode().split() == wanted


def test_flags_of_the_man_page():
    """What follows Fl is a letter or begins with a dash of its own: ".Fl p , run" would be "-run"."""
    for number, line in enumerate((SOURCE / "docs/man/gctrace.1").read_text().splitlines(), 1):
        for words in re.findall(r"\bFl ((?:[^\s]+ ?)+)", line) if line.startswith(".") else []:
            for word in words.split():
                if word in ("Ar", "Cm", "Fl", "Ns", "Oc", "Op", "Pa", "Li", "Xr", "No", "Po", "Pc"):
                    break
                assert re.fullmatch(r"\w|-[a-z-]+|[,.;:|()]", word), (number, line)


def test_a_pid_is_named_while_it_lives(tmp_path):
    """`gctrace doctor -p PID` is not suggested for a program that has ended."""
    for ended in (False, True):
        made = Recording(tmp_path / ("%d.gct" % ended), runtime=False)
        if ended:
            made.db.execute("UPDATE process SET exit_ns = ?", (BEGIN + 5 * MS,))
        made.close(10 * MS)
        verdict = gctrace("report", made.path).stdout.splitlines()[0]
        assert verdict.startswith("BLIND")
        assert ("doctor -p 4711" in verdict) == (not ended)


def test_no_blanks_at_ends_of_lines(tmp_path):
    recording = training(tmp_path / "run.gct", every=53)
    for words in (["check", recording, "--budget", "pause.max<1h"], ["report", recording],
                  ["diff", recording, recording], ["doctor", "--steps", recording]):  # fmt: skip
        lines = gctrace(*words).stdout.splitlines()
        assert lines and not [line for line in lines if line != line.rstrip()]


def test_doctor_names_a_tier_once():
    target = subprocess.Popen(["/usr/bin/python3", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        text = gctrace("doctor", "-p", target.pid).stdout
    finally:
        target.communicate(b"\n")
    tiers = ("symbol", "debugfile", "usdt", "call-target", "watchpoint")
    assert all(re.search(r"^\S+ +%s " % tier, text, re.M) for tier in tiers), text
    assert not re.search(r"^ +(%s): " % "|".join(tiers), text, re.M), text
