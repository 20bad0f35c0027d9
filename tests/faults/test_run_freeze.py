"""`gctrace run` stops nothing: whatever becomes of the tracer, the workload runs to its own end."""

import json
import os
import signal
import subprocess

import pytest

import harness
from harness import wait_until

ROUNDS = 23

# Its helpers keep execing and loading libraries until told to stop; they outlive the main child.
WORKLOAD = """
import os, subprocess, sys
folder, mode = sys.argv[1:]
if mode == "orphan" and os.fork():
    os._exit(23)
while not os.path.exists(folder + "/stop"):
    subprocess.run([sys.executable, "-c", "import ssl, ctypes"])
    with open(folder + "/rounds", "a") as rounds:
        rounds.write("x")
open(folder + "/ended", "w").close()
sys.exit(23)
"""

# What a shell with job control would see of its jobs, and jobs that count what they are sent.
SHELL = """
import os, signal, sys
JOB = '''
import signal, sys
seen = []
signal.signal(signal.SIGCONT, lambda *_: seen.append(1))
import ctypes, ssl, sqlite3, hashlib
sys.exit(len(seen))
'''
stops = conts = 0
for _ in range(int(sys.argv[1])):
    job = os.posix_spawn(sys.executable, [sys.executable, "-c", JOB], os.environ, setpgroup=0)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED | os.WCONTINUED)
        if os.WIFEXITED(status):
            conts += os.WEXITSTATUS(status)
            break
        stops += 1
        if os.WIFSTOPPED(status):
            os.killpg(job, signal.SIGCONT)
os.write(1, b"stops %d conts %d\\n" % (stops, conts))
"""


class Endless:
    """WORKLOAD under `gctrace run`, which goes on until stop()."""

    def __init__(self, bench, runtime, *options, mode="main"):
        self.folder = bench.scratch
        argv = [runtime.exe, "-c", WORKLOAD, str(self.folder), mode]
        self.tracer = bench.keep(
            harness.Tracer(["run", *options, "--", *argv], env=runtime.environment, ready=False)
        )

    def rounds(self):
        path = self.folder / "rounds"
        return path.stat().st_size if path.exists() else 0

    def go_on(self, rounds=ROUNDS):
        """Waits until so many more programs have come and gone."""
        until = self.rounds() + rounds
        wait_until(lambda: self.rounds() >= until, 60, "%d more programs" % rounds)

    def stop(self):
        (self.folder / "stop").touch()
        wait_until((self.folder / "ended").exists, what="the end of the workload")


def test_its_session_ends(bench, some_runtime):
    """-d ends while a child execs."""
    endless = Endless(bench, some_runtime, "-d", "300ms", "-o", bench.file)
    endless.tracer.err.find(lambda line: "written" in line)
    endless.go_on()
    endless.stop()
    assert endless.tracer.wait() == 23


def test_the_main_child_ends_first(bench, some_runtime):
    endless = Endless(bench, some_runtime, "-o", bench.file, mode="orphan")
    endless.tracer.wait()
    endless.go_on()
    endless.stop()


def test_the_tracer_is_killed(bench, some_runtime):
    endless = Endless(bench, some_runtime, "-o", bench.file)
    endless.go_on(3)
    endless.tracer.popen.send_signal(signal.SIGKILL)
    endless.tracer.wait()
    endless.go_on()
    endless.stop()


FULL = """
import gc, subprocess, sys
for _ in range(7):
    for _ in range(4001):
        gc.collect(0)
    subprocess.run([sys.executable, "-c", "import ssl, ctypes"])
sys.stdout.write("done\\n")
sys.exit(23)
"""


def run_full(bench, runtime, path, *options, prefix=()):
    argv = [os.environ["GCTRACE"], "run", *options, "-o", path, "--", runtime.exe, "-c", FULL]
    run = bench.process(list(prefix) + argv, env=runtime.environment)
    status = run.wait(60)
    assert "done" in run.out.text(), run.err.text()
    return status, run.err.text()


def test_the_disk_is_full(bench, some_runtime):
    disk = bench.small_disk("600k")
    status, said = run_full(bench, some_runtime, disk / "run.gct")
    assert status == 23 and "the disk is full" in said and "ended with status 23" in said, said


def test_the_file_may_not_grow(bench, some_runtime):
    limit = ["bash", "-c", 'ulimit -f 300; exec "$@"', "bash"]
    status, said = run_full(bench, some_runtime, bench.file, prefix=limit)
    assert status == 23 and "ulimit -f" in said and "ended with status 23" in said, said


def test_the_ring_is_full(bench, some_runtime):
    status, said = run_full(
        bench, some_runtime, bench.file, "--buffer", "4K", "--stack-min", "0"
    )
    assert status == 23, said
    assert [d["cause"] for d in bench.report().drops].count("ring-full") == 1


def test_job_control(bench, some_runtime):
    """Nobody sees a stop, and no handler a SIGCONT that its shell did not send."""
    argv = [some_runtime.exe, "-c", SHELL, "11"]
    env = some_runtime.environment
    run = bench.keep(
        harness.Tracer(["run", "-o", bench.file, "--", *argv], env=env, ready=False)
    )
    run.finish(60)
    assert run.out.text() == "stops 0 conts 0"


def slow_to_foresee(bench):
    """A program whose dynamic loader reports when it is asked for its libraries, and waits."""
    asked = bench.scratch / "asked"
    loader = bench.scratch / "loader"
    loader.write_text("#!/bin/sh\n: > %s\nexec sleep 60\n" % asked)
    loader.chmod(0o755)
    source = bench.scratch / "program.c"
    source.write_text("int main(void) { return 0; }\n")
    program = bench.scratch / "program"
    line = ["gcc", "-o", program, source, "-Wl,--dynamic-linker=%s" % loader]
    subprocess.run(line, check=True)
    return program, asked


def test_killed_before_the_gate_opens(bench):
    """A tracer that dies before it can see the workload leaves none behind."""
    program, asked = slow_to_foresee(bench)
    marker = bench.scratch / "marker"
    line = ["run", "-o", bench.file, "--", "sh", "-c", ": > %s" % marker, str(program)]
    tracer = bench.keep(harness.Tracer(line, ready=False))
    wait_until(asked.exists, what="the question")
    children = harness.descendants(tracer.pid)
    tracer.popen.send_signal(signal.SIGKILL)
    tracer.wait()
    for pid in children:
        wait_until(lambda: not os.path.exists("/proc/%d" % pid), what="the end of %d" % pid)
    assert not marker.exists()


def test_a_loader_that_never_answers(bench):
    """The workload still starts, if later."""
    program, _ = slow_to_foresee(bench)
    line = ["run", "-o", bench.file, "--", "sh", "-c", "echo started", str(program)]
    tracer = bench.keep(harness.Tracer(line, ready=False))
    tracer.finish()
    assert tracer.out.text() == "started"


SIGNALS = ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"]

LISTENER = """
import os, signal, sys
def heard(number, frame):
    os.write(1, signal.Signals(number).name.encode() + b"\\n")
for name in %r:
    signal.signal(getattr(signal, "SIG" + name), heard)
os.write(1, b"nice %%d\\n" %% os.nice(0))
sys.stdin.readline()
sys.exit(23)
""" % (SIGNALS,)


def nice(pid):
    return os.getpriority(os.PRIO_PROCESS, pid)


def test_signals_after_the_session(bench, some_runtime):
    """All signals are passed on until the workload ends, and a tracer that only waits has normal priority."""
    argv = ["run", "-d", "3s", "-o", bench.file, "--", some_runtime.exe, "-c", LISTENER]
    tracer = bench.keep(harness.Tracer(argv, env=some_runtime.environment, ready=False))
    own = nice(0)
    assert tracer.out.next() == "nice %d" % own
    wait_until(lambda: nice(tracer.pid) == -20, what="the tracer's raised priority")
    tracer.err.find(lambda line: "written" in line)
    for name in SIGNALS:
        tracer.popen.send_signal(getattr(signal, "SIG" + name))
        assert tracer.out.next() == "SIG" + name
    assert nice(tracer.pid) == own
    tracer.send("")
    assert tracer.wait() == 23


LATE = """
import gc, json, os, sys
gc.disable()
for generation, n in enumerate((23, 11, 7)):
    for _ in range(n):
        gc.collect(generation)
def say():
    os.write(1, json.dumps([s["collections"] for s in gc.get_stats()]).encode() + b"\\n")
say()
sys.stdin.readline()
for generation, n in enumerate((5, 3, 2)):
    for _ in range(n):
        gc.collect(generation)
say()
os._exit(0)
"""


def late(bench, runtime, script, *options):
    """`run` of a shell that starts @runtime when told, which cannot be foreseen."""
    hidden = bench.scratch / "start"
    # Through several programs, which are all looked at only when the last of them runs.
    chain = "/usr/bin/env /usr/bin/nice %s" % runtime.exe
    hidden.write_text('read line; %s -c "$1"; read line\n' % chain)
    argv = ["run", "-o", bench.file, *options, "--", "/bin/sh", hidden, script]
    env = dict(runtime.environment, PATH="/nonexistent")
    tracer = bench.keep(harness.Tracer(argv, env=env, ready=False))
    tracer.wait_ready()
    return tracer


def test_what_ended_before_the_probes_is_told(bench, some_runtime):
    """An interpreter that was gone before it could be looked at."""
    tracer = late(bench, some_runtime, "import gc; gc.collect(); print(1)")
    tracer.stop()
    tracer.send("")
    assert tracer.out.next() == "1"
    wait_until(lambda: len(harness.descendants(tracer.pid)) == 1, what="its end")
    tracer.resume()
    tracer.send("")
    tracer.wait()

    records = bench.report()
    (drop,) = records.drops
    assert drop["cause"] == "unseen-program" and drop["count"] == 1
    assert records.recording["complete"] is False
    gone = [p for p in records.processes if p["comm"].startswith("python")]
    assert len(gone) == 1 and not gone[0]["cmdline"]


def test_what_came_before_the_probes_is_counted(bench, some_runtime):
    """An interpreter that was not foreseen: its first collections are counted as missed."""
    tracer = late(bench, some_runtime, LATE, "--json")
    # A tracer that comes late, at a time that is not left to chance.
    tracer.stop()
    tracer.send("")
    before = json.loads(tracer.out.find(lambda line: line.startswith("[")))
    tracer.resume()
    tracer.out.find(lambda line: '"runtime":"cpython"' in line)
    tracer.send("")

    def said():
        return [line for line in tracer.out.text().split("\n") if line.startswith("[")]

    wait_until(lambda: len(said()) == 2, what="the second answer")
    tracer.send("")  # to the shell
    tracer.finish()
    after = json.loads(said()[1])

    records = bench.report()
    (process,) = [p for p in records.processes if p.get("runtime")]
    assert harness.per_generation(records.pauses) == [b - a for a, b in zip(before, after)]
    assert process["missed"] == sum(before)
    (drop,) = records.drops
    assert drop["cause"] == "late-probes" and drop["count"] == 1
    assert records.recording["complete"] is False
    text = harness.gctrace("report", bench.file).stdout.decode()
    assert "gctrace run -- python3" in text
    judged = harness.gctrace("check", bench.file, "--budget", "pause.max<1h")
    assert judged.returncode != 0


LATE_PARENT = """
import gc, os, sys
gc.disable()
for _ in range(23):
    gc.collect()
child = os.fork()
if not child:
    sys.stdin.readline()
    for _ in range(5):
        gc.collect()
    os._exit(0)
before = sum(s["collections"] for s in gc.get_stats())  # those of its start, too
os.write(1, b"forked %d %d\\n" % (child, before))
os.waitpid(child, 0)
os.write(1, b"waited\\n")
os._exit(0)
"""


def test_what_a_parent_missed_is_not_its_childs(bench, some_runtime):
    """Forked before the parent was looked at: the child inherits its counters."""
    tracer = late(bench, some_runtime, LATE_PARENT, "--json")
    tracer.stop()
    tracer.send("")
    said = tracer.out.find(lambda line: line.startswith("forked"))
    child, before = [int(word) for word in said.split()[1:]]
    tracer.resume()
    tracer.out.find(lambda line: '"runtime":"cpython"' in line)
    tracer.send("")
    tracer.out.find(lambda line: line == "waited")
    tracer.send("")  # to the shell
    tracer.finish()

    records = bench.report()
    missed = {p["pid"]: p["missed"] for p in records.processes if p.get("runtime")}
    assert missed.pop(child) == 0
    assert list(missed.values()) == [before]
    assert len(records.of_pid(child, "manual")) == 5
