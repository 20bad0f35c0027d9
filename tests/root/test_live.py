"""Without a file between: -p with text and JSON, and `run`."""

import json
import os
import signal
import subprocess

import pytest

import harness
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
