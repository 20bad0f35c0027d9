"""JVMs at bad moments: stopped, not yet ready, unloading what a stack names."""

import re
import time

import pytest

import jvm_check
from jvm_check import check_clean

STARTS = 23
STEP_S = 0.013
CLASSES = 101
LAST_CALLS = 2  # of System.gc(), at the end of each round of Storm
# Methods that a stack of Storm can contain, besides the JDK's own and those of Made0000's copies.
OWN = "main make define renumber read lambda$main$0 access$000 access$100 <init> go tell event run".split()
MADE = re.compile(r"Made(\d{4})\.(?:work|inner)(\d{4})$")
COPIES = ["Made{0:04}.inner{0:04}", "Made{0:04}.work{0:04}"]
NAMED = re.compile(r"[\w$/]+(?:\.[\w$/]+)*\.(?:[\w$]+|<init>|<clinit>)$")
GENERATED = re.compile(r"/0x|\$\$Lambda|Generated(?:Method|Constructor)Accessor|\$Holder\.")
PACKAGES = ("java.", "jdk.", "sun.", "javax.")


@jvm_check.each("jdk", jvm_check.newest())
def test_stopped(bench, jdk):
    """It is stopped while gctrace attaches, and again while it detaches."""
    args = ["--steps", 67, "--gc-every", 13]
    jvm = jvm_check.start(bench, jdk, "Train", collector="g1", args=args)
    jvm.stop()
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.resume()
    jvm.go()
    seen = len(jvm.log().safepoints)
    jvm.stop()
    assert tracer.interrupt() == 0
    jvm.resume()
    jvm.go()
    assert jvm.quit() == 0

    watched.take(bench.report())
    check_clean(watched.records)
    points = watched.log.safepoints
    assert len(points) > seen
    count = len(watched.pauses)
    assert seen - watched.after <= count
    first = seen - count if count <= seen else 0
    jvm_check.check_exact(list(zip(watched.pauses, points[first:])))


def held(bench, jdk):
    """A process that becomes a JVM once it is told to."""
    return jvm_check.start(
        bench,
        jdk,
        "Train",
        collector="serial",
        args=["--steps", 23, "--gc-every", 5],
        heap="32m",
        prefix=["sh", "-c", 'read line; exec "$@"', "sh"],
        ready=False,
    )


def check_start(jvm, records):
    """What it did once it was ready is there; what came before may be, with less known about it."""
    points = jvm.log().safepoints
    pauses = records.of_pid(jvm.pid)
    assert not records.process(jvm.pid)["missed"]
    assert 4 <= len(pauses) <= len(points)
    for pause, point in list(zip(pauses, points[len(points) - len(pauses) :]))[-4:]:
        assert pause["ttsp_ns"] == point.reaching_ns
        assert pause["duration_ns"] == point.total_ns
    calls = [s for s in records.of("stall") if s["pid"] == jvm.pid and s["kind"] == "System.gc"]
    assert len(calls) == 4


@jvm_check.full_only
@pytest.mark.parametrize("part", range(4))
@jvm_check.each("jdk", jvm_check.newest())
def test_starting(bench, jdk, part):
    """JVMs that start while gctrace does, each a few ms further on."""
    jvms = [held(bench, jdk) for _ in range(part, STARTS, 4)]
    pids = [word for jvm in jvms for word in ("-p", jvm.pid)]
    tracer = bench.tracer("record", "--wait", *pids, "-o", bench.file, ready=False)
    begun = time.monotonic()
    for index, jvm in zip(range(part, STARTS, 4), jvms):
        time.sleep(max(0, begun + index * STEP_S - time.monotonic()))
        jvm.send("go on")
    for jvm in jvms:
        jvm.wait_ready()
    tracer.wait_ready()
    for jvm in jvms:
        jvm.go()
        assert jvm.quit() == 0
    tracer.finish()
    records = bench.report()
    drops = {d["cause"] for d in records.drops}
    assert drops <= {"unready-jvm"}, drops
    for jvm in jvms:
        check_start(jvm, records)


def check_exist(jvm, functions):
    """Asks the JDK itself whether it has all these methods, except for those generated at run time."""
    asked = sorted(f for f in functions if f.startswith(PACKAGES) and not GENERATED.search(f))
    done = jvm.runtime.run(["-Xmx64m", "-cp", jvm.inside + "/classes", "Exists"] + asked)
    said = done.stdout.decode().splitlines()
    assert said == ["looked at %d" % len(asked)], (said, done.stderr.decode())


def check_name(frame, made):
    """A mark in brackets, or a name; a copy's numbers agree in class, method and file."""
    function = frame["function"]
    if frame["lang"] == "mark":
        assert function.startswith("["), frame
        return
    copy = MADE.match(function)
    if copy:
        assert copy.group(1) == copy.group(2) and int(copy.group(1)) in made, frame
        assert frame["file"] == "Made%s.java" % copy.group(1), frame
        return
    assert NAMED.match(function), frame
    if not function.startswith(PACKAGES):
        assert re.sub(r"^(?:Storm|Talk)(?:\$+\w+)*(?:/0x\w+)?\.", "", function) in OWN, frame


def storm(bench, jdk, *flags):
    flags = ["-XX:CompileCommand=quiet", *flags]
    args = ["--classes", CLASSES, "--rounds", 1000]
    jvm = jvm_check.start(
        bench, jdk, "Storm", collector="serial", flags=flags, args=args, heap="32m"
    )
    return jvm, *jvm_check.trace(bench, [jvm], "--stack-min", "0")


def end_storm(bench, jvm, tracer, watched):
    """The calls of System.gc() by round and by what they made; all other names are checked."""
    time.sleep(0.3)
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    check_clean(watched.records)
    watched.pairs()
    made = [set(range(t["first"], t["first"] + t["count"])) for t in watched.truth("made")]
    rounds = [one | other for one, other in zip(made[::2], made[1::2])]
    assert {len(numbers) for numbers in rounds} == {2 * CLASSES}
    stacks = [p["stack"] for p in watched.pauses if p["stack"]]
    stacks += [s["stack"] for s in watched.stalls if s["stack"]]
    # of the first round, if there are two, all have gone before one is named
    for stack in stacks:
        for frame in stack:
            check_name(frame, rounds[-1])
    check_exist(jvm, {f["function"] for stack in stacks for f in stack if f["lang"] != "mark"})
    calls = watched.of_kind("System.gc")
    # each third class calls it, and main at the end of a round
    own = [c for c in calls if c["thread"] != "java"]
    assert len(calls) == len(own) + len(rounds) * LAST_CALLS
    assert len(own) == sum(n % 3 == 0 for numbers in rounds for n in numbers)
    return rounds, own


@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.spread((11, 17, 21, 25, 27)))
def test_unloading(bench, jdk):
    """Classes that are compiled, collect and are unloaded, by the hundred: no name is another's."""
    jvm, tracer, (watched,) = storm(bench, jdk, "-XX:ReservedCodeCacheSize=16m")
    # first all are gone when they are to be named; then they go meanwhile
    tracer.stop()
    jvm.go()
    tracer.resume()
    jvm.go()
    (gone, _), own = end_storm(bench, jvm, tracer, watched)
    for call in own[: sum(n % 3 == 0 for n in gone)]:
        assert call["stack"][0]["lang"] == "mark"


@jvm_check.full_only
@jvm_check.each("jdk", jvm_check.spread((11, 17, 21, 25, 27)))
def test_no_unloading(bench, jdk):
    """The same where nothing is unloaded: each caller is named."""
    jvm, tracer, (watched,) = storm(bench, jdk, "-XX:-ClassUnloading")
    jvm.go()
    (made,), own = end_storm(bench, jvm, tracer, watched)
    callers = set()
    for call in own:
        functions = [f["function"] for f in call["stack"]]
        copies = [function for function in functions if MADE.match(function)]
        number = int(MADE.match(copies[0]).group(1))
        assert copies == [name.format(number) for name in COPIES]
        callers.add(number)
    assert callers == {n for n in made if n % 3 == 0}
