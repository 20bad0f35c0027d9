"""Julia's stacks against Julia's own word on them, and steps against what the program counted."""

import collections
import contextlib
import re
import sqlite3

import pytest

import conftest
import harness
import julia_harness

WORKLOAD = harness.SOURCE / "tests/workloads/julia/train.jl"
CHOSEN = [j for j in julia_harness.load_julias() if conftest.chosen(j) or not conftest.CHOSEN]
JULIAS = [j for j in CHOSEN if not j.embedded]
EMBEDDED = [j for j in CHOSEN if j.embedded]
julias = conftest.each("julia", JULIAS, "Julia with a compiler")
STEP = "julia:train_step!"
FOUND = "in memory, by a debug register"  # what gctrace -v says of each that it finds


def start(bench, julia):
    """The training loop, ready for commands; and its path as it knows it."""
    path = julia.place_program(bench, WORKLOAD)
    return bench.keep(harness.Oracle(julia.argv([path]))), path


def line_of(text):
    """Where the workload has the comment @text."""
    lines = WORKLOAD.read_text().splitlines()
    (found,) = [number for number, line in enumerate(lines, 1) if line.endswith("# " + text)]
    return found


def frames_of(pause, path):
    """Of the program's own file, innermost first."""
    return [(f["function"], f["line"]) for f in pause["stack"] or [] if f["file"] == path]


def end(bench, tracer):
    assert tracer.interrupt() == 0
    records = bench.report()
    assert records.drops == []
    return records


def hits_of(bench, signal):
    with contextlib.closing(sqlite3.connect(bench.file)) as base:
        (found,) = base.execute("select hits from step_signal where name = ?", [signal]).fetchall()
        (marks,) = base.execute(
            "select count(*) + coalesce(sum(skipped), 0) from step_mark m join step_series s on s.id = m.series "
            "join step_signal g on g.id = s.signal where g.name = ?", [signal]).fetchall()
    assert marks == found
    return found[0]


@julias
def test_own_word(bench, julia):
    """Every function of the program, inlined ones too, with the line that Julia itself names."""
    target, path = start(bench, julia)
    target.ask("where")  # compiled
    tracer = bench.record(target, "--stack-min", "0")
    told = [target.ask("where")["frames"] for _ in range(3)]
    records = end(bench, tracer)
    asked = [p for p in records.of_pid(target.pid) if p["asked"] == "incremental"]
    assert len(asked) == 3
    # the top level's code is interpreted: none of it runs
    wanted = [(name, line) for name, line in told[0] if name != "top-level scope"]
    assert wanted[:2] == [("innermost", wanted[0][1]), ("inlined", wanted[1][1])]
    assert [name for name, _ in wanted].count("where_am_i") == 12
    for pause in asked:
        assert frames_of(pause, path) == wanted
        assert not [f for f in pause["stack"] if f["lang"] == "mark"]  # all of it is named, to its end


@julias
def test_line_that_allocates(bench, julia):
    target, path = start(bench, julia)
    tracer = bench.record(target, "--stack-min", "0")
    target.ask("allocate 401009")
    records = end(bench, tracer)
    ours = [p for p in records.of_pid(target.pid) if frames_of(p, path)[:1] == [("allocate", line_of("allocates"))]]
    automatic = [p for p in records.of_pid(target.pid) if p["asked"] == "auto"]
    assert len(automatic) >= 7
    # what is compiled before the first vector collects, too
    compiling = [p for p in automatic if p not in ours]
    assert all(any(f["file"].startswith("compiler/") for f in p["stack"]) for p in compiling)
    assert len(ours) >= 5


@julias
@pytest.mark.parametrize("options", [[], ["--variants"]], ids=["together", "variants"])
def test_specialisations(bench, julia, options):
    """Seven collections in a function's code for integers, eleven in that for floats: one function, apart if asked."""
    target, path = start(bench, julia)
    target.ask("special 1")  # compiled
    tracer = bench.record(target, "--stack-min", "0", *options)
    target.ask("special 7")
    records = end(bench, tracer)
    asked = [p for p in records.of_pid(target.pid) if p["asked"] == "incremental"]
    names = [frames_of(p, path)[0][0] for p in asked]
    assert {frames_of(p, path)[0][1] for p in asked} == {line_of("collects")}
    if options:
        integers, floats = names[0], names[-1]
        assert integers != floats
        assert re.fullmatch(r"specialised#\d+", integers) and re.fullmatch(r"specialised#\d+", floats)
        assert names == 7 * [integers] + 11 * [floats]
    else:
        assert names == 18 * ["specialised"]
    text = harness.gctrace("report", bench.file).stdout.decode()
    lines = text.split("\nWhere the pauses were triggered")[1].split("\n\n")[0]
    told = re.findall(r" (\d+) +\S+ \S+ +(specialised\S*) +%s:\d+$" % re.escape(path), lines, re.M)
    assert {name: int(count) for count, name in told} == collections.Counter(names)


@julias
def test_steps_by_name(bench, julia):
    """Each call of what was compiled, from when that was found on; for other arguments, and anew, too."""
    target, _ = start(bench, julia)
    target.ask("train 2")
    tracer = bench.record(target, "-v", "--step", STEP, env={"GCTRACE_DEBUG_REGISTERS": "1"})
    target.ask("train 1009")
    for first, then in (("train64 1", "train64 503"), ("redefine", "train 307")):
        found = tracer.err.text().count(FOUND)
        target.ask(first)
        if first == "redefine":
            target.ask("train 1")  # which compiles it
        harness.wait_until(lambda: tracer.err.text().count(FOUND) > found, 60, "the new code")
        target.ask(then)
    end(bench, tracer)
    # of the two calls that had it compiled, nobody could have seen the code before it ran
    assert 0 <= hits_of(bench, "user:" + STEP) - (1009 + 503 + 307) <= 2


@julias
def test_steps_in_memory_are_refused(bench, julia):
    """A debug register might end the program: none is set unless the user says so."""
    target, _ = start(bench, julia)
    target.ask("train 2")
    done = harness.gctrace("record", "-v", "-p", target.pid, "-o", bench.file, "--step", STEP)
    said = done.stderr.decode()
    assert done.returncode == 3
    assert FOUND not in said and re.search(r"error: .*train_step!.* unless GCTRACE_DEBUG_REGISTERS=1 allows it", said)
    target.ask("train 7")


@julias
def test_steps_of_the_system_image(bench, julia):
    target, _ = start(bench, julia)
    target.ask("join 3")
    tracer = bench.record(target, "--step", "julia:joinpath")
    target.ask("join 1009")
    end(bench, tracer)
    assert hits_of(bench, "user:julia:joinpath") == 1009


@julias
def test_steps_by_themselves(bench, julia):
    """Five products of matrices a step, told apart by their dimensions."""
    target, _ = start(bench, julia)
    before = target.ask("train 23")
    tracer = bench.record(target)
    after = target.ask("train 1009")
    records = end(bench, tracer)
    gemms = after["gemms"] - before["gemms"]
    assert hits_of(bench, "blas:gemm") == gemms
    steps = records.summary["steps"], records.summary["step_signal"]
    assert steps == (after["steps"] - before["steps"], "blas:gemm")


@julias
def test_no_such_function(bench, julia):
    target, _ = start(bench, julia)
    target.ask("train 2")
    done = harness.gctrace("record", "-p", target.pid, "-o", bench.file, "--step", "julia:train_stepp")
    assert done.returncode == 3
    assert re.search(r"no function train_stepp of Julia.* did you mean train_step!", done.stderr.decode())


@conftest.each("julia", EMBEDDED, "embedded Julia")
def test_embedded(bench, julia):
    """From the collector, which has no frame of Julia's above it, to the C program that called it."""
    target = julia.books(bench)
    tracer = bench.record(target, "--stack-min", "0")
    target.ask("collect 1 5")
    records = end(bench, tracer)
    asked = [p for p in records.of_pid(target.pid) if p["asked"] == "full"]
    assert len(asked) == 5
    for pause in asked:
        functions = [f["function"] for f in pause["stack"]]
        assert functions[0].endswith("jl_gc_collect")
        assert "main" in functions
        assert not [f for f in pause["stack"] if f["lang"] == "mark"]
