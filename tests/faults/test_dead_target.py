"""A target that dies while gctrace attaches: the session ends, and says that it saw nothing."""

import re
import time

import building
import conftest
import julia_harness
from harness import gctrace
from test_counts import best_tiers

TARGETS = 17
STORMS = 5

# Children that come and go, a few at a time, with and without an exec.
STORM = """
import os, sys, time
until = time.monotonic() + 0.3
print("up", flush=True)
while time.monotonic() < until:
    children = []
    for i in range(5):
        child = os.fork()
        if not child:
            if i == 1:
                os.execv("/bin/true", ["true"])
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
"""


def judge(bench, tracer, status):
    """Either nothing was seen, and every output says so, or everything was seen."""
    if status == 3 and not bench.file.exists():
        return  # so nothing can be mistaken for a quiet process
    judged = gctrace("check", bench.file, "--budget", "pause.max<1h")
    records = bench.report()
    if status == 3:
        assert judged.returncode == 3
        assert records.recording["complete"] is False
        assert not records.pauses
    else:
        assert status == 0, tracer.err.text()
        assert all(p["exit_ns"] is not None for p in records.processes)


def test_short_lives(bench, some_runtime):
    """Processes that end before, while and after gctrace attaches."""
    for i in range(TARGETS):
        script = "import time; print(1, flush=True); time.sleep(%f)" % (i * 0.013)
        target = bench.process([some_runtime.exe, "-c", script], env=some_runtime.environment)
        target.out.next()
        tracer = bench.tracer("record", "-p", target.pid, "-o", bench.file, ready=False)
        target.wait()
        judge(bench, tracer, tracer.wait())
        bench.file.unlink(missing_ok=True)


def test_storms(bench, some_runtime):
    """All children that were found, forked or executed have ended: so does the session."""
    for i in range(STORMS):
        target = bench.process([some_runtime.exe, "-c", STORM], env=some_runtime.environment)
        target.out.next()
        tracer = bench.tracer("record", "-p", target.pid, "-o", bench.file, ready=False)
        target.wait()
        judge(bench, tracer, tracer.wait())
        bench.file.unlink(missing_ok=True)


def test_a_zombie(bench):
    """It is already dead: refused, though /proc still shows it."""
    target = bench.process(["true"])
    while True:
        with open("/proc/%d/stat" % target.pid) as stat:
            if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                break
        time.sleep(0.01)
    done = gctrace("record", "-p", target.pid, "-o", bench.file)
    assert done.returncode == 3, done.stderr.decode()


JULIAS = [j for j in julia_harness.load_julias() if j.embedded and conftest.chosen(j)]


@conftest.each("julia", JULIAS, "embedded Julia")
def test_ended_while_it_was_probed(bench, julia):
    """Its file is reached through the process: that is gone, and no other way to probe it would help."""
    embed = julia_harness.PROGRAMS / "embed.c"
    program = building.program(bench.scratch / "embed", embed, "-ldl", "-lpthread")
    line = ["sh", "-c", '"$@"; true', "sh", program, julia.root + julia.exe]
    for _ in range(11):
        done = gctrace("run", "-v", "-o", bench.file, "--", *line)
        said = done.stderr.decode()
        assert done.returncode == 0 and "warning" not in said, said
        ends = re.findall(r"process (\d+) (?:has )?ended|of process (\d+) .*: there is no such process", said)
        assert len(ends) == len(set(ends)) <= 2, said  # the shell's and its own


WATCHED = [r for r in conftest.RUNTIMES if best_tiers(r) == {"watchpoint"}]
SHORT = """
import gc, os
for i in range(23): gc.collect(0)
print(sum(s["collections"] for s in gc.get_stats()), flush=True)
os._exit(0)
"""


@conftest.each("watched", WATCHED, "CPython 3.8 without symbols is here")
def test_ended_before_it_was_watched(bench, watched):
    """A watchpoint needs a running process; one that is gone by then is not reported as quiet."""
    for _ in range(7):
        line = watched.start_line("-c") + [SHORT]
        tracer = bench.tracer("run", "-o", bench.file, "--", *line, env=watched.environment, ready=False)
        total = int(tracer.out.next())
        assert tracer.wait() == 0
        records = bench.report()
        seen = len(records.pauses)
        missed = sum(p.get("missed") or 0 for p in records.processes)
        if seen + missed < total:
            assert {d["cause"] for d in records.drops} == {"unseen-program"}
        assert records.recording["complete"] is (seen == total)
