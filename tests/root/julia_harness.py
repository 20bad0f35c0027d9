"""Starts Julias of any row of scripts/runtimes and compares what gctrace saw with their own books.
In: the rows of kind julia, the programs in julia/. Out: Python objects for the tests."""

import shutil
import subprocess
from pathlib import Path

import building
import harness

PROGRAMS = harness.HERE / "julia"

# 1.5 starts no more threads than there are processors: glibc reads here how many, in a namespace of its own.
PROCESSORS = (
    'mount -t tmpfs tmpfs "$0/sys" && mkdir -p "$0/sys/devices/system/cpu" && '
    'echo 0-7 >"$0/sys/devices/system/cpu/online" && '
)

# Of each the sum over the pauses, and which of the books it must equal. gc_num says no more of 1.5.
SUMS = {"core_ns": "total_ns", "full_sweeps": "full"}
LATER_SUMS = {"ttsp_ns": "ttsp_ns", "mark_ns": "mark_ns", "sweep_ns": "sweep_ns"}


class JuliaRuntime(harness.Runtime):
    """A row of kind julia: Debian's, in its root, or a wheel's, embedded in a program of ours."""

    @property
    def embedded(self):
        return self.exe.endswith(".so")

    def argv(self, args):
        """The command that runs julia with @args; its pid becomes julia's own."""
        command = [self.exe, "--startup-file=no"] + [str(a) for a in args]
        # julia finds its own files through /proc/self/exe
        return ["unshare", "-m", "sh", "-c", PROCESSORS + harness.ENTER, self.root, "-"] + command

    def books(self, bench, threads=1, env=None, prefix=(), options=()):
        """Its program of julia/, ready for commands."""
        if self.embedded:
            program = bench.scratch / "embed"
            building.program(program, PROGRAMS / "embed.c", "-ldl", "-lpthread")
            line = [program, self.root + self.exe]
        else:
            line = self.argv(["-t", threads, *options, self.place_program(bench, "Books.jl")])
        return bench.keep(harness.Oracle(list(prefix) + line, env=env))

    def place_program(self, bench, name):
        source = PROGRAMS / name  # or anywhere, by its path
        inside = "/tmp/" + "-".join(bench.scratch.parts[-2:])
        outside = Path(self.root + inside)
        outside.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, outside / source.name)
        bench.placed.add(str(outside))
        return inside + "/" + source.name


def load_julias():
    listed = subprocess.run(
        [harness.SOURCE / "scripts/runtimes", "--list", "julia"],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    head, *rows = [line.split("\t") for line in listed.splitlines()]
    return [JuliaRuntime(dict(zip(head, row))) for row in rows]


def difference(after, before):
    return {key: after[key] - before[key] for key in before if isinstance(before[key], int)}


def freed(counted):
    """By the books: what was live, and allocated meanwhile, and is not live any more."""
    return counted["allocated"] - counted["live"]


def check(pauses, counted, later, live_is_sound=True):
    """@counted: how the books grew while the @pauses were seen. Each of them, and nothing else, is in both."""
    assert len(pauses) == counted["pauses"]
    for fact, book in {**SUMS, **(LATER_SUMS if later else {})}.items():
        assert sum(p[fact] for p in pauses) == counted[book], fact
    assert all(p["full"] is (p["full_sweeps"] > 0) for p in pauses)
    if live_is_sound:
        assert sum(p["freed_bytes"] for p in pauses) == freed(counted)
    for pause in pauses:
        parts = [pause[key] for key in ("ttsp_ns", "core_ns", "post_ns")]
        assert all(part >= 0 for part in parts)
        assert sum(parts) <= pause["duration_ns"]
        assert 0 < pause["mark_ns"] + pause["sweep_ns"] <= pause["core_ns"]


def check_apart(pauses):
    """The pauses of a thread never overlap: a collection in a finalizer ends the one whose finalizer it is."""
    last = {}
    for pause in sorted(pauses, key=lambda p: p["start_ns"]):
        assert pause["start_ns"] >= last.get(pause["tid"], 0)
        last[pause["tid"]] = pause["end_ns"]
