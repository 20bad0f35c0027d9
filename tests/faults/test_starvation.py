"""A storm of collections keeps the tracer busy, not deaf: -d and Ctrl-C still work."""

import os
import signal
import time

import harness

STORM = r"""
import gc, os
print("ready", flush=True)
def deep(n):
    if n:
        deep(n - 1)
    while not n and os.getppid() != 1:
        gc.collect(0)
deep(100)
"""
SOON_S = 2 * harness.SLOWNESS  # how long it starves is a matter of chance: 5 s were seen


def storm(bench):
    target = bench.process(["/usr/bin/python3", "-c", STORM])
    assert target.out.next() == "ready"
    return target


def live(bench, target, *options):
    """Lines of JSON, which take longer to write than such pauses take; the report at the end does not."""
    command = [os.environ["GCTRACE"], "-p", str(target.pid), "--json", "--max-size", "1M"]
    command += ["--stack-min", "0", *options]
    tracer = bench.process(["sh", "-c", 'exec "$@" > /dev/null', "sh", *command])
    assert tracer.err.find(lambda line: "tracing" in line), tracer.err.text()
    return tracer


def test_interrupt(bench):
    target = storm(bench)
    tracer = live(bench, target)
    assert tracer.err.find(lambda line: "--max-size 1M" in line), tracer.err.text()
    began = time.monotonic()
    tracer.popen.send_signal(signal.SIGINT)
    assert tracer.wait() == 0
    took = time.monotonic() - began
    assert target.popen.poll() is None
    assert took < SOON_S, "%.1f s until Ctrl-C was heard" % took


def test_duration(bench):
    target = storm(bench)
    began = time.monotonic()
    tracer = live(bench, target, "-d", "1")
    assert tracer.wait() == 0
    took = time.monotonic() - began
    assert target.popen.poll() is None
    assert 1 <= took < 1 + SOON_S, "-d 1 took %.1f s" % took
