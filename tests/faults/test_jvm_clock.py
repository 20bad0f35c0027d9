"""A JVM in a time namespace has a clock with another origin than the kernel's."""

import dataclasses
import os
import subprocess

import pytest

import conftest
import jvm_check

STEPS, CALLS = 23, 7
SHIFTS_S = (600, -300)


def in_time_namespace(shift_s, argv=()):
    return ["unshare", "--time", "--monotonic", str(shift_s)] + list(argv)


@pytest.fixture(params=SHIFTS_S, ids=lambda s: "%+d" % s)
def shift_s(request):
    done = subprocess.run(in_time_namespace(request.param, ["true"]), stderr=subprocess.PIPE)
    conftest.need("unshare", done.returncode == 0, "time namespaces are refused here")
    return request.param


def check_times(watched, shift_s):
    """All are within the recording, and where the program's own clock puts them."""
    recording, shift_ns = watched.records.recording, shift_s * 10**9
    assert watched.pauses
    for pause in watched.pauses:
        assert recording["start_ns"] <= pause["start_ns"] <= pause["end_ns"] <= recording["end_ns"]
        assert pause["exact"] is True
    told = watched.truth("system-gc")
    calls = watched.of_kind("System.gc")
    assert len(told) == len(calls) == CALLS
    for truth, call in zip(told, calls):
        start, end = truth["start_ns"] - shift_ns, truth["end_ns"] - shift_ns
        assert start <= call["start_ns"] <= call["end_ns"] <= end
        within = [p for p in watched.pauses if start <= p["start_ns"] and p["end_ns"] <= end]
        assert within, (truth, watched.pauses)


@jvm_check.each("jdk", jvm_check.spread((11, 17, 21, 25, 27)))
def test_its_clock_is_another(bench, jdk, shift_s):
    args = ["--steps", STEPS, "--gc-every", 3]
    jvm = jvm_check.start(
        bench, jdk, "Train", collector="serial", args=args, prefix=in_time_namespace(shift_s)
    )
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.go()
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    jvm_check.check_clean(watched.records)
    check_times(watched, shift_s)
    if jdk.feature >= 17:
        pairs = [
            (pause, dataclasses.replace(point, logged_ns=point.logged_ns - shift_s * 10**9))
            for pause, point in watched.pairs()
        ]
        jvm_check.check_exact(pairs)


@jvm_check.each("jdk", jvm_check.newest())
def test_our_own_clock_is_another(bench, jdk, shift_s, monkeypatch):
    """gctrace itself in a time namespace: its own times are those of the records."""
    args = ["--steps", STEPS, "--gc-every", 3]
    jvm = jvm_check.start(bench, jdk, "Train", collector="serial", args=args)
    script = bench.scratch / "gctrace"
    command = in_time_namespace(shift_s, [os.environ["GCTRACE"]])
    script.write_text('#!/bin/sh\nexec %s "$@"\n' % " ".join(command))
    script.chmod(0o755)
    monkeypatch.setenv("GCTRACE", str(script))
    tracer, (watched,) = jvm_check.trace(bench, [jvm])
    jvm.go()
    assert jvm.quit() == 0
    tracer.finish()
    watched.take(bench.report())
    jvm_check.check_clean(watched.records)
    check_times(watched, 0)
