"""What a session costs does not grow with the time that it lasts."""

from pathlib import Path


PYTHON = "/usr/bin/python3"

FORKS = """
import gc, os, sys
gc.disable()
print("ready", flush=True)
for line in sys.stdin:
    for i in range(int(line)):
        pid = os.fork()
        if not pid:
            gc.collect()
            os._exit(0)
        os.waitpid(pid, 0)
    print("forked", flush=True)
"""


def resident_kib(process):
    status = Path("/proc/%d/status" % process.pid).read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def test_children_that_ended_cost_nothing(bench):
    """The recording knows them all, the tracer only those of late."""
    target = bench.process([PYTHON, "-c", FORKS])
    assert target.out.next() == "ready"
    tracer = bench.record(target)
    target.send("1009")
    assert target.out.next(60) == "forked"
    before = resident_kib(tracer)
    target.send("4001")
    assert target.out.next(60) == "forked"
    grown = resident_kib(tracer) - before
    target.popen.stdin.close()
    tracer.finish()

    assert grown < 2048, "%d KiB for 4001 children" % grown
    records = bench.report()
    children = [p for p in records.processes if p["ppid"] == target.pid]
    assert len({p["pid"] for p in children}) > 4001 and len(children) == 5010
    assert all(p["exit_ns"] for p in children) and not any(p["missed"] for p in children)
    pids = {p["pid"] for p in children}
    assert len([p for p in records.pauses if p["pid"] in pids]) == 5010
    assert records.recording["complete"] is True
