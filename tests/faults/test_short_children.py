"""A child that only execs is not a Python process: it is neither listed as one nor counted by the verdict."""

import re

from harness import gctrace
from test_counts import check_clean

CHILDREN = 211

SPAWN = """
import gc, subprocess, sys
gc.disable()
sys.stdin.readline()
for _ in range(%d):
    subprocess.run(["/bin/true"])
gc.collect()
""" % CHILDREN

# A child that collects before it execs, one that forks and ends, its own child, one that lives on:
# Python ran in all of them.
STAY = """
import gc, os, sys
gc.disable()
sys.stdin.readline()
collects = os.fork()
if not collects:
    gc.collect()
    os.execv("/bin/true", ["true"])
ends = os.fork()
if not ends:
    grandchild = os.fork()
    if not grandchild:
        os._exit(0)
    os.waitpid(grandchild, 0)
    os.write(1, b"%d " % grandchild)
    os._exit(0)
os.waitpid(collects, 0)
os.waitpid(ends, 0)
lives = os.fork()
if not lives:
    sys.stdin.readline()
    os._exit(0)
print(collects, ends, lives, flush=True)
sys.stdin.readline()
"""

SUBSHELLS = 23

# It becomes a shell with subshells, in which no Python ran, and that becomes Python with a child.
BECOME = """
import os, sys
sys.stdin.readline()
shell = 'for i in %s; do ( : ; : ); done; exec "$@"'
os.execv("/bin/sh", ["sh", "-c", shell, "sh", *sys.argv[1:]])
""" % " ".join("1" * SUBSHELLS)

AGAIN = """
import gc, os
gc.disable()
gc.collect()
child = os.fork()
if not child:
    os._exit(0)
os.waitpid(child, 0)
print(child, flush=True)
"""


def recorded(bench, runtime, script, *arguments):
    line = runtime.start_line("-c")
    target = bench.process(line + [script, *arguments], env=runtime.environment)
    return target, bench.record(target)


def test_children_that_exec(bench, some_runtime):
    target, tracer = recorded(bench, some_runtime, SPAWN)
    target.send("")
    assert target.wait() == 0, target.err.text()
    tracer.finish()

    records = bench.report()
    check_clean(records)
    others = [p for p in records.processes if p["pid"] != target.pid]
    assert len(others) == CHILDREN  # their pids may come twice where others fork a lot
    assert {p.get("runtime") for p in others} == {None}
    assert "paused" in records.summary["verdict"] and "processes" not in records.summary["verdict"]
    text = gctrace("report", bench.file).stdout.decode()
    rows = re.findall(r"^ +\d+ +- +(\S+) +no runtime found(?:, nor in (\d+) more)?", text, re.M)
    # its name arrives with the exec: it may be gone before it is looked at
    assert {name for name, _ in rows} == {"true"}, rows
    assert sum(1 + int(more or 0) for _, more in rows) == CHILDREN


def test_children_that_stay(bench, some_runtime):
    target, tracer = recorded(bench, some_runtime, STAY)
    target.send("")
    pids = [int(word) for word in target.out.next().split()]
    assert tracer.interrupt() == 0
    target.popen.stdin.close()
    target.wait()

    records = bench.report()
    check_clean(records)
    for pid in pids:
        assert records.process(pid)["runtime"] == "cpython", pid
    assert len(records.of_pid(pids[1], "manual")) == 1


def test_subshells_of_what_was_python(bench, some_runtime):
    target, tracer = recorded(bench, some_runtime, BECOME, some_runtime.exe, "-c", AGAIN)
    target.send("")
    child = int(target.out.next())
    assert target.wait() == 0, target.err.text()
    tracer.finish()

    records = bench.report()
    check_clean(records)
    assert records.process(target.pid)["runtime"] == "cpython"
    assert records.process(child)["runtime"] == "cpython"
    others = [p["runtime"] for p in records.processes if p["pid"] not in (target.pid, child)]
    assert others == [None] * SUBSHELLS
