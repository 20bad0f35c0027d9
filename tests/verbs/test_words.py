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


def test_version_says_how_it_was_built():
    first, *lines = gctrace("version", "--verbose").stdout.splitlines()
    assert first + "\n" == gctrace("version").stdout
    facts = dict(line.split(None, 1) for line in lines if line[0] != " ")
    assert list(facts) == ["machine", "compiler", "flags", "runtimes", "linked", "licence"]
    assert facts["machine"] == os.uname().machine
    assert re.match(r"(gcc|clang) \d+\.\d+\.\d+; BPF: .*clang version \d+", facts["compiler"])
    assert re.search(r"(^| )-std=gnu17 -O\S", facts["flags"])
    assert set(facts["runtimes"].split()) <= {path.name for path in (SOURCE / "bpf").iterdir()} | {"toy"}
    libraries = [re.split(r"  +", line.strip()) for line in lines if line[0] == " "]
    assert {"libbpf", "elfutils", "capstone", "SQLite", "json-c", "yajl", "zlib", "zstd"} <= {name for name, *_ in libraries}
    assert all(re.match(r"\d+\.\d+", version) and licence for _, version, licence, *_ in libraries)


def test_licences():
    """Of the file itself; of a portable one those of its libraries follow (tests/root/test_portable.py)."""
    said = gctrace("version", "--licences").stdout
    assert said.startswith("==== gctrace ====\n\n" + (SOURCE / "LICENSE").read_text())


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


@pytest.fixture
def bash(completions, tmp_path):
    """What bash offers for the last of some words, in a folder with one file in it."""
    path, folder = completions("bash"), tmp_path / "empty"
    folder.mkdir()
    (folder / "html.gct").touch()

    def complete(*words):
        script = '. "$1"; shift; COMP_WORDS=(gctrace "$@"); COMP_CWORD=$#; _gctrace; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", path, *words], stdout=subprocess.PIPE, check=True, cwd=folder)
        return done.stdout.decode().split()

    return complete


@pytest.mark.parametrize("words, wanted", [
    (["re"], ["record", "report"]),
    (["report", "--m"], ["--min-duration", "--min-generation"]),
    (["report", "-f", "h"], ["html"]),
    (["report", "h"], ["html.gct"]),
    (["schema", "s"], ["sql"]),
    (["--w"], ["--wait"]),
    (["-p", "1", "--w"], ["--wait"]),
])
def test_bash_completes(bash, words, wanted):
    assert bash(*words) == wanted


def value_options():
    """(verb, option, what its value is called), of all; "": the live view."""
    for verb in ["", *verbs()]:
        text = gctrace(*filter(None, [verb]), "--help").stdout.split("usage:")[-1]
        for short, name, value in re.findall(r"^  (?:(-\w), |    )(--[a-z-]+) ([A-Z]+) ", text, re.M):
            yield from ((verb, option, value) for option in (short, name) if option)


def chosen(verb, option):
    """The words of which the option's value is one, as gctrace says itself when it is another; none: any value."""
    def said(value):
        return gctrace(*filter(None, [verb]), option, value).stderr

    found = re.search(r'there is no [a-z]+ "\?": (.*);|(".*), not "\?"', said("?"))
    words = set(re.findall(r"[a-z-]+", (found[1] or found[2]).replace(" or ", " "))) if found else set()
    return {word for word in words if "--gpu" not in said(word)}  # `run` refuses one of them only afterwards


def offered(completions, shell, verb, option):
    """The words that zsh's or fish's file offers for a value."""
    text = completions(shell).read_text()
    if shell == "zsh":
        lines = re.search(r"^\t%s\)$(.*?);;" % (verb or r"\*"), text, re.M | re.S)[1].splitlines()
        (line,) = [line for line in lines if "'*%s[" % option in line]
        return set(re.findall(r"[a-z-]+", (re.findall(r":\(([^)]*)\)'", line) or [""])[0]))
    when = "__fish_seen_subcommand_from " + (verb or " ".join(verbs()))
    names = r" -l %s( -s \w)? " % option[2:] if option[:2] == "--" else r" -l \S+ -s %s " % option[1:]
    (line,) = [line for line in text.splitlines() if re.search(r"'(not )?%s'" % when, line) and re.search(names, line)]
    return set((re.findall(r" -a '([^(']*)'", line) or [""])[0].split())


@pytest.mark.parametrize("shell", SHELLS)
def test_values_are_completed_by_what_the_verb_takes(completions, bash, shell):
    """-f of diff takes three formats, of report five; --gpu is a file to report, one of some words to record."""
    seen = 0
    for verb, option, value in value_options():
        words = chosen(verb, option)
        wanted, seen = set(words), seen + bool(words)
        if shell != "bash":
            got = offered(completions, shell, verb, option)
        else:
            got = set(bash(*filter(None, [verb or "-v"]), option, ""))
            wanted |= {"html.gct"} if value in ("FILE", "OUTPUT") else set()
            if value == "PID":
                got = {pid for pid in got if not pid.isdigit()}
        assert got == wanted, (verb, option)
    assert seen == 8  # -f and --format of two verbs, --weight, --gpu of three


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
