"""A storm of collections keeps the tracer busy, not deaf: -d and Ctrl-C still work."""

import os
import signal
import time
from pathlib import Path

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
# Of its own CPU time: how long it waits for a processor is the machine's affair. 5 s were seen, by chance.
SOON_S = 2 * harness.SLOWNESS
TICKS = os.sysconf("SC_CLK_TCK")


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


def worked(pid):
    """Its CPU time so far, in seconds."""
    fields = Path("/proc/%d/stat" % pid).read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def ended(tracer):
    """Its CPU time once it has ended, with success."""
    _, status, usage = os.wait4(tracer.pid, 0)
    tracer.popen.returncode = os.waitstatus_to_exitcode(status)
    assert tracer.popen.returncode == 0, tracer.err.text()
    return usage.ru_utime + usage.ru_stime


def test_interrupt(bench):
    target = storm(bench)
    tracer = live(bench, target)
    assert tracer.err.find(lambda line: "--max-size 1M" in line), tracer.err.text()
    before = worked(tracer.pid)
    tracer.popen.send_signal(signal.SIGINT)
    took = ended(tracer) - before
    assert target.popen.poll() is None
    assert took < SOON_S, "%.1f s until Ctrl-C was heard" % took


def test_duration(bench):
    target = storm(bench)
    began = time.monotonic()
    tracer = live(bench, target, "-d", "1")
    took = ended(tracer)
    assert time.monotonic() - began >= 1
    assert target.popen.poll() is None
    assert took < 1 + SOON_S, "-d 1 took %.1f s" % took
