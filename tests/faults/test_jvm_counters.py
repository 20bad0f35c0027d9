"""A JVM without counters (-XX:-UsePerfData): what was collected is given where it is known, else null."""

import copy
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import conftest
import harness
import jvm_check
from test_refusals import append

UPROBES = "/sys/kernel/tracing/uprobe_events"

FLAGS = ["-XX:-UsePerfData"]
ARGS = ["--steps", 37, "--gc-every", 5, "--alloc-mb", 8]
CALLS = 7
UNKNOWN = "What was collected is not known"
FULL = "G1CollectFull", "ShenandoahFullGC"


def watch(bench, jdk, collector, flags=FLAGS):
    jvm = jvm_check.start(
        bench, jdk, "Train", collector=collector, flags=flags, args=ARGS, heap="96m"
    )
    watched = jvm_check.run(bench, jvm)
    jvm_check.check_clean(watched.records)
    return watched


def check_stopping(pairs):
    for pause, point in pairs:
        what = (jvm_check.brief(pause), point)
        full = any(c.generation == "full" for c in point.collections)
        counted = any(c.generation for c in point.collections)
        assert pause["gc"] is bool(point.collections), what
        assert pause["concurrent"] is (bool(point.collections) and not counted), what
        assert pause["young_collections"] is pause["full_collections"] is None, what
        if not counted:
            assert pause["full"] is False, what
        elif pause["operation"] in FULL:
            assert pause["full"] is True and full, what
        else:
            assert pause["full"] is None, what


def check_concurrent(watched, pairs):
    for pause, point in pairs:
        what = (jvm_check.brief(pause), point)
        known = not jvm_check.is_open(watched, pause, point)
        assert pause["gc"] is (bool(point.collections) if known else None), what
        full = any(c.generation == "full" for c in point.collections)
        assert pause["full"] is (full if known else None), what


@pytest.mark.parametrize("collector", ("serial", "parallel", "g1", "zgc", "shenandoah"))
@jvm_check.each("jdk", jvm_check.spread((11, 17, 21, 25, 26, 27)))
def test_without_counters(bench, jdk, collector):
    if not jdk.has(collector):
        pytest.skip("%s has no %s" % (jdk, collector))
    watched = watch(bench, jdk, collector)
    pairs = watched.pairs()
    assert len(watched.of_kind("System.gc")) == CALLS
    assert {p["cause"] for p in watched.pauses} == {None}
    if collector not in jvm_check.STOPPING:
        check_concurrent(watched, pairs)
        return
    check_stopping(pairs)
    advised = {a["advice"]: a["title"] for a in watched.records.of("advice")}
    # On a busy machine there may be advice on calls or late threads, but never advice that needs the counters.
    assert advised and not advised.keys() & {"young", "heap", "metaspace"}, advised
    assert advised.get("nothing", UNKNOWN) == UNKNOWN


@jvm_check.each("jdk", jvm_check.spread((8,)))
def test_without_anything(bench, jdk):
    """8 has no symbols either: nothing can be seen, and gctrace reports that."""
    jvm = jvm_check.start(bench, jdk, "Train", collector="serial", flags=FLAGS, args=ARGS)
    done = harness.gctrace("record", "-p", jvm.pid, "-o", bench.file)
    assert done.returncode == 3
    assert "-XX:-UsePerfData" in done.stderr.decode()


@jvm_check.each("jdk", [r for r in jvm_check.PLAIN if r.name == "debian-jdk17"])
def test_zero(bench, jdk):
    """The VM that only interprets: no stacks, and everything else is known."""
    assert jdk.run(["-zero", "-version"]).returncode == 0
    watched = watch(bench, jdk, "serial", flags=["-zero"])
    pairs = watched.pairs()
    jvm_check.check_exact(pairs)
    jvm_check.check_collections(watched, pairs)
    assert watched.process["collector"] == "Serial"
    assert not any(p["stack"] for p in watched.pauses)


SUMMARY = "GCTracer22report_gc_heap_summary"


def own_copy(bench, jdk):
    """The JDK by links, but java and libjvm.so are files of their own: other tests may use the original."""
    home = bench.scratch / "jdk"
    original = Path(jdk.exe).resolve().parent.parent
    subprocess.run(["cp", "-as", original, home], check=True)
    for name in ("bin/java", "lib/server/libjvm.so"):
        (home / name).unlink()
        shutil.copy(original / name, home / name)
    mine = copy.copy(jdk)
    mine.exe, mine.elf = str(home / "bin/java"), str(home / "lib/server/libjvm.so")
    return mine


def first_instructions(path, function):
    """Offsets in the file of the first instructions of a function."""
    lines = subprocess.run(["readelf", "-sW", path], stdout=subprocess.PIPE).stdout.decode()
    (value,) = {l.split()[1] for l in lines.splitlines() if function in l}
    begin = int(value, 16)
    code = subprocess.run(
        ["objdump", "-d", "-w", path, "--start-address=%d" % begin, "--stop-address=%d" % (begin + 24)],
        stdout=subprocess.PIPE,
    ).stdout.decode()
    addresses = [int(a, 16) for a in re.findall(r"^\s+([0-9a-f]+):\t", code, re.M)]
    loads = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE).stdout.decode()
    for offset, vaddr, size in re.findall(
        r"LOAD\s+(0x[0-9a-f]+) (0x[0-9a-f]+) 0x[0-9a-f]+ (0x[0-9a-f]+)", loads
    ):
        if int(vaddr, 16) <= begin < int(vaddr, 16) + int(size, 16):
            return [a - int(vaddr, 16) + int(offset, 16) for a in addresses[:-1]]
    raise AssertionError("%s is in no segment" % function)


def pairs_of_builds():
    olds = jvm_check.spread((11,))
    news = jvm_check.newest([r for r in jvm_check.PLAIN if not r.in_root and r.feature == 17])
    return [(new, old) for new in news for old in olds]


@conftest.each("pair", pairs_of_builds(), "JVM of 11 and of 17 of those asked for is here")
def test_a_probe_fails_in_another_jvm(bench, pair):
    """The heap summaries of one build cannot be probed: that is a drop, and the other build is reported as usual."""
    new, old = pair
    taken, other = own_copy(bench, new), old
    # A probe with a semaphore, which no mapping holds, keeps out every probe without one.
    name = "gctrace_facts_%d" % os.getpid()
    places = first_instructions(taken.elf, SUMMARY)
    for i, place in enumerate(places):
        append(UPROBES, "p:%s/at%d %s:%#x(0x40)\n" % (name, i, taken.elf, place))
    enable = "/sys/kernel/tracing/events/%s/enable" % name
    try:
        append(enable, "1")
        first = jvm_check.start(bench, taken, "Train", collector="serial", args=ARGS)
        second = jvm_check.start(
            bench, other, "Dump", collector="serial", flags=FLAGS, args=["--count", 11]
        )
        tracer, (_, watched) = jvm_check.trace(bench, [first, second])
        second.go()
        assert second.quit() == 0 and first.quit() == 0
        tracer.finish()
    finally:
        append(enable, "0")
        for i in range(len(places)):
            append(UPROBES, "-:%s/at%d\n" % (name, i))
    watched.take(bench.report())
    assert [d["cause"] for d in watched.records.drops] == ["unprobed-fact"]
    dumps = [p for p in watched.pauses if p["operation"] == "ThreadDump"]
    assert len(dumps) == 11 and {p["gc"] for p in dumps} == {False}
