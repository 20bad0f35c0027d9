"""A JVM without counters (-XX:-UsePerfData): what was collected is said where it is known, else null."""

import pytest

import harness
import jvm_check

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


def check_concurrent(pairs):
    for pause, point in pairs:
        what = (jvm_check.brief(pause), point)
        assert pause["gc"] in (bool(point.collections), None), what
        full = any(c.generation == "full" for c in point.collections)
        assert pause["full"] in (full, None), what


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
        check_concurrent(pairs)
        return
    check_stopping(pairs)
    advised = {a["advice"]: a["title"] for a in watched.records.of("advice")}
    # A busy machine may show calls or late threads that are worth a word; never what needs the counters.
    assert advised and not advised.keys() & {"young", "heap", "metaspace"}, advised
    assert advised.get("nothing", UNKNOWN) == UNKNOWN


@jvm_check.each("jdk", jvm_check.spread((8,)))
def test_without_anything(bench, jdk):
    """8 has no symbols either: nothing can be seen, and gctrace says so."""
    jvm = jvm_check.start(bench, jdk, "Train", collector="serial", flags=FLAGS, args=ARGS)
    done = harness.gctrace("record", "-p", jvm.pid, "-o", bench.file)
    assert done.returncode == 3
    assert "-XX:-UsePerfData" in done.stderr.decode()


@jvm_check.each("jdk", [r for r in jvm_check.PLAIN if r.name == "debian-jdk17"])
def test_zero(bench, jdk):
    """The VM that only interprets: no stacks, and all else is known."""
    assert jdk.run(["-zero", "-version"]).returncode == 0
    watched = watch(bench, jdk, "serial", flags=["-zero"])
    pairs = watched.pairs()
    jvm_check.check_exact(pairs)
    jvm_check.check_collections(watched, pairs)
    assert watched.process["collector"] == "Serial"
    assert not any(p["stack"] for p in watched.pauses)
