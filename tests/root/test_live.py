"""Without a file between: -p with text and JSON, and `run`."""

import json
import os
import re
import signal
import subprocess

import pytest

import harness
import test_requests
import training
from harness import Records, gctrace
from test_counts import best_tiers, check_sums


def test_live_json(bench, runtime):
    target = bench.oracle(runtime)
    tracer = bench.tracer("-p", target.pid, "--json")
    books = target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()

    records = Records(tracer.out.text())
    assert records.all[0]["type"] == "recording"
    assert records.all[-1]["type"] == "summary"
    check_sums(records.of_pid(target.pid), books)
    assert records.summary["pauses"] == 41


def test_live_as_they_happen(bench, some_runtime):
    """A pause's line is there while the target still waits for its next command."""
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("-p", target.pid, "--stack-min", "0", "--min-duration", "0")
    target.ask("stack")
    tracer.out.find(lambda line: "leaf" in line and str(target.pid) in line, 5)
    assert tracer.interrupt() == 0
    assert target.quit() == 0


def test_live_and_recorded_agree(bench, some_runtime):
    target = bench.oracle(some_runtime)
    live = bench.tracer("-p", target.pid, "--json", "--stack-min", "0")
    recorder = bench.record(target, "--stack-min", "0")
    target.ask("collect 23 11 7")
    assert target.quit() == 0
    live.finish()
    recorder.finish()

    def facts(records):
        return [(p["generation"], p["collected"], p["cause"], p["stack"]) for p in records.pauses]

    assert facts(Records(live.out.text())) == facts(bench.report())


def started(bench, runtime, *options, env=None):
    """`gctrace run` with an oracle as its workload; returns it with the oracle's ready line."""
    line = runtime.start_line(bench.script(runtime))
    full = dict(runtime.environment)
    full.update(env or {})
    tracer = harness.Tracer(
        ["run", "-o", bench.file, *options, "--", *line], env=full, ready=False
    )
    bench.keep(tracer)
    ready = tracer.out.find(lambda l: '"ready"' in l)
    assert ready, tracer.err.text()
    return tracer, json.loads(ready)


def test_run_from_the_first_collection(bench, any_runtime):
    watched = best_tiers(any_runtime) == {"watchpoint"}
    late = watched or any_runtime.in_root  # nothing to probe before it runs, or met at its exec
    tracer, ready = started(bench, any_runtime, "-v")
    if late:
        tracer.attached(os.path.basename(any_runtime.elf), " by ")
    tracer.send("collect 23 11 7")
    books = json.loads(tracer.out.find(lambda l: '"event": "collect"' in l))
    tracer.send("quit")
    tracer.finish()

    records = bench.report()
    pid = ready["pid"]
    early = harness.per_generation(records.of_pid(pid, "automatic"))
    missed = records.process(pid).get("missed") or 0
    check_sums(records.of_pid(pid, "manual"), books)
    if late:
        assert sum(early) + missed == sum(ready["collections"])
    else:
        assert early == ready["collections"] and not missed


def way_venv(folder, runtime, script):
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to(runtime.exe)
    return [folder / "bin/python", script]


def way_script(folder, runtime, script):
    program = folder / "train"
    program.write_text("#!%s\n%s" % (runtime.exe, harness.ORACLE.read_text()))
    program.chmod(0o755)
    return [program]


def way_env_script(folder, runtime, script):
    name = os.path.basename(runtime.exe)
    line = "#!/usr/bin/env -S A=b PATH=%s:/usr/bin:/bin %s -B\n"
    program = folder / "train"
    program.write_text(line % (os.path.dirname(runtime.exe), name) + harness.ORACLE.read_text())
    program.chmod(0o755)
    return [program]


def way_launcher(folder, runtime, script):
    return ["env", "A=b", "nice", "-n", "0", runtime.exe, script]


def way_shell(folder, runtime, script):
    """By one of the names that every runtime has."""
    (folder / "python3").symlink_to(runtime.exe)
    return ["sh", "-c", "PATH=%s:$PATH; python3 %s" % (folder, script)]


WAYS = [way_venv, way_script, way_env_script, way_launcher, way_shell]


@pytest.mark.parametrize("way", WAYS, ids=[way.__name__[4:] for way in WAYS])
def test_run_however_started(bench, some_runtime, way):
    """What will run is foreseen through links, scripts and launchers: nothing is missed."""
    line = way(bench.scratch, some_runtime, bench.script(some_runtime))
    env = dict(some_runtime.environment)
    env["PATH"] = "%s:%s" % (bench.scratch, os.environ["PATH"])
    tracer = bench.keep(
        harness.Tracer(["run", "-o", bench.file, "--", *map(str, line)], env=env, ready=False)
    )
    ready = json.loads(tracer.out.find(lambda l: '"ready"' in l))
    tracer.send("collect 23 11 7")
    books = json.loads(tracer.out.find(lambda l: '"collect"' in l))
    tracer.send("quit")
    tracer.finish()

    records = bench.report()
    assert records.recording["complete"] is True, records.drops
    check_sums(records.of_pid(ready["pid"], "manual"), books)
    early = harness.per_generation(records.of_pid(ready["pid"], "automatic"))
    assert early == ready["collections"]


def test_run_passes_the_status(bench, some_runtime):
    tracer, _ = started(bench, some_runtime)
    tracer.send("exit 23")
    assert tracer.wait() == 23


def test_run_passes_signals(bench, some_runtime):
    tracer, ready = started(bench, some_runtime)
    tracer.popen.send_signal(signal.SIGTERM)
    assert tracer.wait() == 128 + signal.SIGTERM
    assert not os.path.exists("/proc/%d" % ready["pid"])
    assert bench.report().recording["complete"] is True


def test_run_as_the_invoking_user(bench, some_runtime):
    """Under sudo the workload is not root, and the recording is where its user may write."""
    folder = bench.public_folder()
    os.chown(folder, 65534, 65534)
    bench.file = folder / "run.gct"
    harness.shutil.copy(harness.ORACLE, folder / "oracle.py")
    exe = "/usr/bin/python3"
    tracer = bench.keep(
        harness.Tracer(
            ["run", "-o", bench.file, "--", exe, folder / "oracle.py"],
            env={"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"},
            ready=False,
        )
    )
    ready = tracer.out.find(lambda l: '"ready"' in l)
    assert ready, tracer.err.text()
    assert json.loads(ready)["uid"] == 65534
    assert os.stat(bench.file).st_uid == 65534
    tracer.send("quit")
    tracer.finish()


# ── steps ──

CLOCK = r"^\d\d:\d\d:\d\d\.\d{3} +"
SUMS = re.compile(CLOCK + r"(\d+|…) steps (\d+)( in \d+ other process(?:es)?)?, ")
SLOW = re.compile(CLOCK + r"(\d+) step of ([0-9.]+ \S+), [0-9.]+ × the median, ([0-9.]+ \S+) of it GC \(")
LEFT_OUT = re.compile(r"(?:… |  \| )(\d+) more pauses?, ")
UNIT_NS = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}
LOOP = """
import gc, os, sys, time
gc.disable()
kept = [[] for _ in range(200000)]
def train(steps):
    for i in range(steps):
        os.getppid()
        for _ in range(7):
            gc.collect(0)
        if i %% 23 == 22:
            gc.collect()
        time.sleep(0.001)
print("ready", flush=True)
%s
print("ended", flush=True)
sys.stdin.readline()
"""
ALONE = "sys.stdin.readline()\ntrain(1511)"
FORKED = """
sys.stdin.readline()
children = []
for count in (211, 223, 227, 229, 233, 239):
    children.append(os.fork())
    if not children[-1]:
        train(count)
        os._exit(0)
for child in children:
    os.waitpid(child, 0)
"""
PER_STEP = 7  # collections by hand, and one more every 23rd step


def watched(bench, runtime, program, *options, env={}):
    """What a live session says of LOOP; the target stands still when it ends."""
    target = bench.process(runtime.start_line("-c") + [LOOP % program], env=runtime.environment)
    assert target.out.next() == "ready"
    tracer = bench.tracer("-p", target.pid, "-o", bench.file, *options, env=env)
    target.send("")
    assert target.out.next(60) == "ended"
    target.send("")
    assert target.wait() == 0
    tracer.finish()
    return target, tracer.out.text()


def before_report(text):
    """The lines that were written before the summary, which speaks of steps too."""
    lines = text.splitlines()
    ended = [i for i, line in enumerate(lines) if re.match(r"\S.* (stopped|paused) ", line)]
    return lines[: ended[0]]


def shown_steps(text):
    found = [SUMS.match(line) for line in before_report(text)]
    return sum(int(m[2]) for m in found if m)


def ns(text):
    number, unit = text.split()
    return float(number) * UNIT_NS[unit]


def alike(shown, ns_of_step):
    """FORMAT_DURATION has four digits."""
    return abs(shown - ns_of_step) <= 0.0005 * ns_of_step + 1


def test_live_steps_each_once(bench, some_runtime):
    """The lines' sums are the marks that the program made, and what its report has; pauses have a line or are counted."""
    target, text = watched(bench, some_runtime, ALONE, "--step", "libc:getppid")
    assert shown_steps(text) == 1511
    records = bench.report()
    steps = records.of("step")
    assert len(steps) == 1511
    assert text.count("steps: by user:libc:getppid, confidence 1.00") == 1
    assert "steps: no longer" not in text
    lines = [l for l in before_report(text) if re.match(CLOCK + r"\d+ \S+ +[012] ", l)]
    counted = sum(int(n) for l in before_report(text) for n in LEFT_OUT.findall(l))
    assert len(lines) + counted == len(records.pauses)
    assert sum(p["cause"] == "manual" for p in records.pauses) == 1511 * PER_STEP + 1511 // 23


def test_live_slow_steps_are_the_reports(bench, some_runtime):
    """Each that is named is a step of the report, as long and as long stopped as that says."""
    target, text = watched(bench, some_runtime, ALONE, "--step", "libc:getppid", "--min-duration", "0")
    named = [m for m in map(SLOW.match, before_report(text)) if m]
    assert named
    steps = bench.report().of("step")
    for m in named:
        assert int(m[1]) == target.pid
        assert [s for s in steps if alike(ns(m[2]), s["duration_ns"]) and alike(ns(m[3]), s["pause_ns"])], m[0]
    assert shown_steps(text) == 1511


def test_live_steps_of_several(bench, some_runtime):
    """Six children that end one by one; at most four have a line each second, and none of their steps is lost."""
    target, text = watched(bench, some_runtime, FORKED, "--step", "libc:getppid")
    assert shown_steps(text) == 211 + 223 + 227 + 229 + 233 + 239
    assert len(bench.report().of("step")) == shown_steps(text)


def test_live_without_steps(bench, some_runtime):
    """A program that has nothing that marks steps, and steps that nobody wants: nothing is said of them."""
    for options in ([], ["--step", "none"]):
        target, text = watched(bench, some_runtime, ALONE, *options)
        lines = before_report(text)
        assert not shown_steps(text) and not [l for l in lines if "steps" in l]


def test_live_steps_not_told_yet(bench, some_runtime):
    """What may mark steps is probed, and not called often enough to know: that is said once, and nothing more."""
    program = "sys.stdin.readline()\ntrain(7)"
    target = bench.process(some_runtime.start_line("-c") + [LOOP % program], env=some_runtime.environment)
    assert target.out.next() == "ready"
    tracer = bench.tracer("-p", target.pid, "--step", "libc:getppid")
    assert tracer.out.find(lambda line: line.endswith("… steps: not told yet"))
    target.send("")
    assert target.out.next() == "ended"
    target.send("")
    assert target.wait() == 0
    tracer.finish()
    text = tracer.out.text()
    assert text.count("steps: not told yet") == 1 and "steps: by" not in text
    assert not shown_steps(text)


def test_live_steps_until_there_is_no_room(bench, some_runtime):
    """Beyond what a recording keeps, none are counted, and that is said once."""
    target, text = watched(
        bench, some_runtime, ALONE, "--step", "libc:getppid", env={"GCTRACE_MARKS": "211"}
    )
    assert shown_steps(text) == 211 == len(bench.report().of("step"))
    assert text.count("steps: not known from here on") == 1


ANSWERED = re.compile(CLOCK + r"(?:\d+|…) requests (\d+)(?:,| in)")


@pytest.mark.parametrize("kind", ["thread", "fork"])
def test_live_requests(bench, some_runtime, kind):
    """Of a server they are counted, each once: those of its own log; nothing is said of steps."""
    server = test_requests.Server(bench, some_runtime, kind)
    tracer = bench.tracer("-p", server.pid, "-v")
    if kind == "fork":
        for child in [server.ask("fork")["pid"] for _ in range(2)]:
            test_requests.seen(tracer, child)
    test_requests.seen(tracer, server.pid)
    paths = test_requests.paths_of(test_requests.REQUESTS)
    for path in paths:
        test_requests.Client(server.port).get(path)
    server.send("log")
    logs = [server.answer()["log"] for _ in range(3 if kind == "fork" else 1)]
    assert tracer.interrupt() == 0, tracer.err.text()
    found = [m for m in map(ANSWERED.match, before_report(tracer.out.text())) if m]
    assert sum(int(m[1]) for m in found) == len(paths) == sum(map(len, logs))
    assert not shown_steps(tracer.out.text())


TORCH = [e for e in training.load_environments() if e.kind == "torch" and e.python == training.SYSTEM]


@pytest.mark.parametrize("environment", TORCH or [None], ids=str)
@pytest.mark.parametrize("script", ["torch_cnn.py", "torch_accumulate.py"])
def test_live_steps_of_pytorch(bench, environment, script):
    """Found, not named: as many as the program trained."""
    if not environment:
        pytest.skip("scripts/workloads could not install torch for %s" % training.SYSTEM)
    target = bench.process(
        [environment.python, training.WORKLOADS / script, "--steps", "307", "--wait"]
    )
    while not target.out.next(training.START_S).startswith("READY"):
        pass
    tracer = bench.tracer("-p", target.pid)
    target.send("")
    assert target.wait(training.TRAIN_S) == 0
    tracer.finish()
    text = tracer.out.text()
    assert shown_steps(text) == 307
    assert text.count("steps: by torch:record:Optimizer.step#") == 1
