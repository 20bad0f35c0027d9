"""The portable gctrace: one file that needs nothing of the machine but /proc and /sys, and is as exact there."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import conftest
import harness
from test_counts import best_tiers, check_clean, check_process, check_sums

MOST_BYTES = 15_000_000
PORTABLE = os.environ.get("GCTRACE_PORTABLE")
ORDINARY = os.environ["GCTRACE"]
CHROOT = """#!/bin/sh
exec unshare -m sh -c 'mount --rbind /proc "$0/proc" && mount --rbind /sys "$0/sys" && cd / &&
	exec chroot "$0" /gctrace "$@"' %s "$@"
"""
FORMATS = ["text", "html", "json", "folded", "flamegraph"]


@pytest.fixture(scope="module")
def portable():
    conftest.need("portable", PORTABLE, "GCTRACE_PORTABLE names no portable gctrace")
    return Path(PORTABLE)


@pytest.fixture(scope="module")
def stripped(portable, tmp_path_factory):
    path = tmp_path_factory.mktemp("portable") / "gctrace"
    subprocess.run(["strip", "-o", path, portable], check=True)
    return path


@pytest.fixture
def chroot(bench, stripped, monkeypatch):
    """A folder with gctrace in it and nothing else; GCTRACE runs it there."""
    bench.need_unshare()
    root = bench.scratch / "root"
    for name in ("proc", "sys"):
        (root / name).mkdir(parents=True)
    shutil.copy(stripped, root / "gctrace")
    wrapper = bench.scratch / "in-chroot"
    wrapper.write_text(CHROOT % root)
    wrapper.chmod(0o755)
    monkeypatch.setenv("GCTRACE", str(wrapper))
    monkeypatch.delenv("TMPDIR", raising=False)
    return root


def printed(*line):
    return subprocess.run([str(word) for word in line], stdout=subprocess.PIPE, check=True).stdout.decode()


def test_one_file(stripped):
    """No loader and no library are asked for, it may lie anywhere in memory, and it is small."""
    segments = printed("readelf", "-lW", stripped)
    assert "INTERP" not in segments and "DYN (" in segments
    assert "(NEEDED)" not in printed("readelf", "-dW", stripped)
    assert stripped.stat().st_size <= MOST_BYTES


def test_nothing_loads_what_the_machine_has(portable):
    """What in a static program would load libraries for another C library: name services, character sets."""
    functions = set(re.findall(r" [TtWwi] (\w+)$", printed("nm", portable), re.M))
    assert {"main", "dlopen", "fgetpwent"} <= functions
    refused = functions & {"getpwuid", "getpwnam", "getgrouplist", "initgroups", "getgrnam", "getaddrinfo", "iconv_open"}
    assert refused == set()


def test_licences_of_all_that_is_linked_in(portable):
    """The linker's map says what that is."""
    linked = portable.with_name("gctrace.map").read_text().split("Discarded input sections")[0]
    archives = {os.path.realpath(path) for path in re.findall(r"^(/\S+\.a)\(", linked, re.M)}
    assert len(archives) >= 10
    owners = printed("dpkg", "-S", *archives)
    packages = set(re.findall(r"^(\S+): /", owners, re.M))
    sources = set(printed("dpkg-query", "-W", "-f=${source:Package} ${source:Version}\n", *packages).splitlines())
    said = printed(portable, "version", "--verbose")
    listed = {" ".join(line.split()[-2:]) for line in said.splitlines() if line.startswith("  ")}
    assert listed == sources
    texts = printed(portable, "version", "--licences")
    assert texts == (portable.parent / "user/cmd/THIRD-PARTY").read_text()  # which is installed
    titles = re.findall(r"^==== (.*) ====$", texts, re.M)
    assert titles[0] == "gctrace" and {title.split(": ")[1] for title in titles if ": " in title} == sources
    assert {"GPL-3", "LGPL-2.1", "LGPL-3"} <= set(titles)
    assert "GNU LESSER GENERAL PUBLIC LICENSE\n                       Version 3" in texts


def test_exact_in_an_empty_chroot(bench, chroot, some_runtime):
    """Counts are those of the books, of all threads; symbols come from debug files of the program's own root."""
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("record", "-p", target.pid, "-o", "/run.gct")
    books = [target.ask("collect 23 11 7"), target.ask("threads 5")]
    quiet = target.ask("disabled 30011")
    assert target.quit() == 0
    tracer.finish()
    records = harness.report("/run.gct")
    check_clean(records)
    check_process(records, target, best_tiers(some_runtime))
    check_sums(records.of_pid(target.pid), *books)
    assert quiet["collections"] == [0, 0, 0]
    assert len({pause["tid"] for pause in records.pauses}) == 1 + len(books[1]["per_thread"])


def test_reports_in_an_empty_chroot(bench, chroot, some_runtime):
    """They are those of an ordinary build, byte for byte."""
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("record", "-p", target.pid, "-o", "/run.gct", "--stack-min", "0")
    target.ask("stack")
    assert target.quit() == 0
    tracer.finish()
    shutil.copy(chroot / "run.gct", bench.file)
    for form in FORMATS:
        inside = harness.gctrace("report", "run.gct", "-f", form, "-o", form)
        assert inside.returncode == 0, inside.stderr.decode()
        outside = subprocess.run([ORDINARY, "report", "run.gct", "-f", form, "-o", form], cwd=bench.scratch)
        assert outside.returncode == 0
        assert (chroot / form).read_bytes() == (bench.scratch / form).read_bytes()


def test_live_in_an_empty_chroot(bench, chroot, some_runtime):
    """There is no folder for temporary files, so its own is taken, and nothing is left in it."""
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("-p", target.pid, "--json")
    target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()
    assert harness.Records(tracer.out.text()).summary["pauses"] == 41
    assert sorted(os.listdir(chroot)) == ["gctrace", "proc", "sys"]


def test_doctor_in_an_empty_chroot(bench, chroot, some_runtime):
    """It finds all that it finds outside."""
    target = bench.oracle(some_runtime)
    inside = harness.gctrace("doctor", "-p", target.pid)
    outside = subprocess.run([ORDINARY, "doctor", "-p", str(target.pid)], stdout=subprocess.PIPE)
    assert (inside.returncode, inside.stdout) == (outside.returncode, outside.stdout)
    assert inside.returncode == 0
