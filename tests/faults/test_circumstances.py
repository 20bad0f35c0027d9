"""What gctrace is started in: without standard streams, environment, folders; with odd values, odd clocks, and
signals at any moment. It fails with a sentence or does its work; the target never notices."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import harness
import snippets
from harness import gctrace

ROUNDS = 23
COLLECT = "for _ in range(%d): gc.collect(1)" % ROUNDS
ODD = ["", " ", "-1", "0", "00", "1e400", "nan", "9" * 40, "x" * 9000, "\x1b[31m", "%s%n", "é", "-"]
SIGNALS = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGPIPE", "SIGUSR1"]


def whole(bench, path=None):
    records = harness.report(path or bench.file)
    assert records.recording["complete"] is True and not records.drops
    assert len(records.pauses) == ROUNDS
    return records


def start(line, **options):
    """A process with only the pipes that are asked for."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([str(word) for word in line], **options)


def closed(*numbers):
    def close():
        for number in numbers:
            os.close(number)

    return close


def heard():
    """As in a terminal: what is started in the background, or by nohup, ignores some of them."""
    for name in SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def wait_for_recording(path):
    """The recording is put in its place once the probes are attached."""
    harness.wait_until(path.exists, what="the recording")


@pytest.mark.parametrize("numbers", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)], ids=str)
def test_closed_streams(bench, some_runtime, numbers):
    """No file of ours may get a standard stream's number: the log would go into it."""
    target = snippets.start(bench, some_runtime)
    line = [os.environ["GCTRACE"], "record", "-v", "-p", target.pid, "-o", bench.file]
    tracer = start(line, preexec_fn=closed(*numbers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_recording(bench.file)
    for number in numbers:
        path = os.readlink("/proc/%d/fd/%d" % (tracer.pid, number))
        assert path == "/dev/null", path
    target.run(COLLECT)
    target.quit()
    assert tracer.wait(20) in (0, 1)
    whole(bench)


def has_links(pid):
    return any(kind == "link" for kind, _ in harness.held_in_kernel(pid))


@pytest.mark.parametrize("numbers", [(1,), (0, 1, 2)], ids=str)
def test_live_without_stdout(bench, some_runtime, numbers):
    """With nobody to read it, it ends at once or with its target, and does not crash."""
    target = snippets.start(bench, some_runtime)
    tracer = start(
        [os.environ["GCTRACE"], "-p", target.pid],
        preexec_fn=closed(*numbers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    harness.wait_until(
        lambda: tracer.poll() is not None or has_links(tracer.pid), what="its end or its probes"
    )
    target.run(COLLECT)
    target.quit()
    assert tracer.wait(20) >= 0


@pytest.mark.parametrize("name", SIGNALS)
def test_signals_while_it_attaches(bench, some_runtime, name):
    """At any moment from its first instruction on."""
    target = snippets.start(bench, some_runtime)
    line = [os.environ["GCTRACE"], "record", "-p", target.pid, "-o", bench.file]
    for i in range(11):
        tracer = start(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=heard)
        time.sleep(i * 0.023)
        tracer.send_signal(getattr(signal, name))
        time.sleep(0.01)
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
        tracer.wait(20)
        target.run("gc.collect(1)")
        if bench.file.exists():
            done = gctrace("report", bench.file, "-f", "json")
            # of a session that was killed: cut off, which is not complete
            records = harness.Records(done.stdout.decode())
            if tracer.returncode:
                assert records.recording["complete"] is False, tracer.returncode
            bench.file.unlink()
        for leftover in bench.file.parent.glob(bench.file.name + "*"):
            leftover.unlink()
    tracer = bench.record(target)
    target.run(COLLECT)
    target.quit()
    tracer.finish()
    whole(bench)


@pytest.mark.parametrize("verb", ["", "record", "run", "report", "check", "diff", "doctor"])
def test_odd_values(bench, verb):
    """Each option of each verb that takes a value, with absurd values."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    help_text = gctrace(*filter(None, [verb, "--help"])).stdout.decode()
    options = sorted(set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+) [A-Z]+", help_text, re.M)))
    assert options, help_text
    base = {"": ["-p", gone.pid], "record": ["-p", gone.pid, "-o", bench.file], "doctor": ["-p", gone.pid]}
    base["run"] = ["--"]
    rest = base.get(verb, [bench.scratch / "missing.gct"] * (2 if verb == "diff" else 1))
    for option in options:
        for value in ODD:
            line = [w for w in [verb] if w] + ["%s=%s" % (option, value)] + rest
            done = gctrace(*line, cwd=bench.scratch)
            assert done.returncode in (1, 2, 3), (line, done)
            said = (done.stderr or done.stdout).decode()  # doctor's answer is its output
            assert said and "\x1b" not in said and len(said) < 12000, (line, said)
    assert not bench.file.exists()


ENVIRONMENTS = {
    "none": {},
    "no TMPDIR": {"TMPDIR": "/nonexistent"},
    "TMPDIR is a file": {"TMPDIR": "/etc/passwd"},
    "TMPDIR is /proc": {"TMPDIR": "/proc"},
    "locale": {"LC_ALL": "xx_YY.UTF-9", "LANG": "tr_TR.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"},
    "XDG": {"HOME": "/nonexistent", "XDG_CACHE_HOME": "relative", "XDG_RUNTIME_DIR": "/nonexistent"},
    "terminal": {"TERM": "\x1b[31m", "COLUMNS": "-1", "LINES": "0", "NO_COLOR": ""},
    "debuginfod": {"DEBUGINFOD_URLS": "http://127.0.0.1:9"},
    "zone": {"TZ": ":/etc/passwd"},
}


@pytest.mark.parametrize("which", ENVIRONMENTS)
def test_environments(bench, some_runtime, which):
    """A recording is the same, and a live session either works or says why not."""
    target = snippets.start(bench, some_runtime)
    line = ["env", "-i"] + ["%s=%s" % pair for pair in ENVIRONMENTS[which].items()]
    line.append(os.environ["GCTRACE"])
    tracer = bench.process(line + ["record", "-p", target.pid, "-o", bench.file])
    live = bench.process(line + ["-p", target.pid, "--json"])
    assert tracer.err.find(lambda l: "tracing" in l), tracer.err.text()
    works = live.err.find(lambda l: "tracing" in l)
    assert works or "TMPDIR" in ENVIRONMENTS[which], live.err.text()
    target.run(COLLECT)
    target.quit()
    assert tracer.wait() == 0, tracer.err.text()
    whole(bench)
    if works:
        assert live.wait() == 0, live.err.text()
        records = [json.loads(line) for line in live.out.text().splitlines()]
        assert len([r for r in records if r["type"] == "pause"]) == ROUNDS
    else:
        assert live.wait() == 1
        assert ENVIRONMENTS[which]["TMPDIR"] in live.err.text()


def test_full_tmpdir(bench, some_runtime):
    """A live session's own file has no room."""
    disk = bench.small_disk("64k")
    (disk / "fill").write_bytes(b"x" * 60000)
    target = snippets.start(bench, some_runtime)
    live = bench.process([os.environ["GCTRACE"], "-p", target.pid, "--json"], env={"TMPDIR": str(disk)})
    live.err.find(lambda line: True)
    target.run(COLLECT)
    target.quit()
    status = live.wait()
    records = [json.loads(line) for line in live.out.text().splitlines()]
    told = [r for r in records if r["type"] == "summary"]
    assert status or (told and told[-1]["complete"] is False) or (told[-1]["pauses"] == ROUNDS)


SHIFTS = {"ahead": "100000", "behind": "-50"}


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("who", ("target", "tracer", "both"))
def test_time_namespace(bench, some_runtime, who, shift):
    """Times are the host's, or at least of one clock: no pause is outside its recording."""
    enter = ["unshare", "-T", "--monotonic", SHIFTS[shift], "--fork", "--kill-child"]
    target = snippets.start(bench, some_runtime, prefix=enter if who != "tracer" else ())
    if who != "tracer":
        (target.pid,) = harness.descendants(target.pid)
    line = [os.environ["GCTRACE"], "record", "-p", target.pid, "-o", bench.file]
    tracer = bench.process((enter if who != "target" else []) + line)
    assert tracer.err.find(lambda l: "tracing" in l), tracer.err.text()
    target.run(COLLECT)
    target.quit()
    assert tracer.wait() == 0
    records = whole(bench)
    begin, end = records.recording["start_ns"], records.recording["end_ns"]
    for pause in records.pauses:
        assert begin <= pause["start_ns"] <= pause["end_ns"] <= end
        assert pause["duration_ns"] < 10**9
    (process,) = [p for p in records.processes if p["runtime"]]
    assert begin <= process["attached_ns"] <= records.pauses[0]["start_ns"]
    # the wall time of the recording is now
    wall = (records.pauses[0]["start_ns"] + records.recording["realtime_offset_ns"]) / 1e9
    assert abs(wall - time.time()) < 60
    assert records.summary["traced_ns"] <= end - begin
