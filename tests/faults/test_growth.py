"""What a session costs does not grow with its length."""

import sqlite3

import building
from harness import gctrace

PYTHON = "/usr/bin/python3"

FORKS = """
import gc, os, sys
gc.disable()
gc.freeze()  # a child's collection copies no page of its parent's
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


CODE = """
import gc, sys
gc.disable()
calls = {"call": lambda code: exec(code, {"collect": gc.collect})}
for i in range(int(sys.argv[1])):
    below = "call%d" % (i - 1) if i else "call"
    outermost = "call%d" % i
    exec("def %s(code): %s(code)" % (outermost, below), calls)
print("ready", flush=True)
done = 0
for line in sys.stdin:
    for i in range(done, done + int(line)):
        code = "def fresh%06d(): collect(0)\\nfresh%06d()" % (i, i)
        calls[outermost](compile(code, "file%d" % (i % 7), "exec"))
    done = i + 1
    print("ran", flush=True)
"""


def test_children_that_ended_cost_nothing(bench):
    """The recording knows them all, the tracer only the recent ones."""
    target = bench.process([PYTHON, "-c", FORKS])
    assert target.out.next() == "ready"
    tracer = bench.record(target)
    target.send("1009")
    assert target.out.next(60) == "forked"
    before = building.memory_kib(tracer.pid, "RssAnon")
    target.send("4001")
    assert target.out.next(60) == "forked"
    grown = building.memory_kib(tracer.pid, "RssAnon") - before
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


INNERMOST = """
SELECT string.text FROM pause LEFT JOIN stack ON stack.id = pause.stack
LEFT JOIN frame ON frame.id = stack.frame LEFT JOIN string ON string.id = frame.function ORDER BY pause.id
"""


def record_functions(bench, callers, *counts):
    """Records the first calls of so many functions; returns how much the tracer grew during the last ones."""
    target = bench.process([PYTHON, "-c", CODE, str(callers)])
    assert target.out.next() == "ready"
    tracer = bench.record(target, "--stack-min", "0", "--buffer", "32M")
    for count in counts:
        before = building.memory_kib(tracer.pid, "RssAnon")
        target.send(str(count))
        assert target.out.next(60) == "ran"
        grown = building.memory_kib(tracer.pid, "RssAnon") - before
    target.popen.stdin.close()
    tracer.finish()
    with sqlite3.connect(bench.file) as db:
        names = [name for (name,) in db.execute(INNERMOST) if name]
        assert not db.execute("SELECT cause FROM drops").fetchall()
        assert not db.execute("SELECT id FROM string WHERE text = '[gone]'").fetchall()
    assert names == ["fresh%06d" % i for i in range(sum(counts))]
    return grown


def test_code_that_came_and_went_costs_nothing(bench):
    """200,003 functions, each with its own name; the tracer forgets most of them, and confuses none."""
    grown = record_functions(bench, 1, 100003, 100000)
    assert grown < 20480, "%d KiB for 100,000 functions" % grown
    assert "damaged" not in gctrace("report", bench.file).stdout.decode()


def test_code_that_stays_is_known(bench):
    """Code that BPF has sent is forgotten among so many others, and so must be sent again."""
    record_functions(bench, 61, 70001)
