"""gctrace trial on real processes: what it writes is what the program itself reads, and is undone whatever happens."""

import copy
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import harness
import jvm_check
from conftest import PLAIN, each, need
from test_julia import julias

SUBJECT = harness.HERE / "trial_subject.py"
WAS = [True, [600, 2, 2]]
TRIED = [True, [60000, 2, 2]]
OFF = [False, [600, 2, 2]]
SHORT = ["--step", "libc:getpgid", "-d", "16"]


class Subject(harness.Process):
    def __init__(self, bench, runtime):
        script = bench.script(runtime)
        here = Path(runtime.root + script if runtime.in_root else script).parent
        shutil.copy(SUBJECT, here / SUBJECT.name)
        line = runtime.start_line(str(Path(script).parent / SUBJECT.name))
        super().__init__(line, env=runtime.environment)
        bench.keep(self)
        assert self.answer() == WAS

    def answer(self):
        line = self.out.next(60)
        assert line is not None, self.err.text()
        return json.loads(line)

    def ask(self, *words):
        self.send(" ".join(map(str, words)))
        return self.answer()

    def becomes(self, wanted):
        harness.wait_until(lambda: self.ask("get") == wanted, what="settings %s" % wanted)


def begin(bench, subject, *args):
    """A trial that has begun its blocks."""
    tracer = bench.tracer("trial", "-p", subject.pid, *SHORT, *args, ready=False)
    assert tracer.err.find(lambda line: "in all" in line), tracer.err.text()
    return tracer


def records(tracer):
    """What it says, each as the schema has it, with all keys that it has."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(harness.gctrace("schema", "json").stdout)
    said = [json.loads(line) for line in tracer.out.text().splitlines()]
    for one in said:
        jsonschema.validate(one, schema)
        assert set(one) == set(schema["$defs"][one["type"]]["properties"])
    assert [one["type"] for one in said[:-1]] == ["trial_block"] * (len(said) - 1)
    assert said[-1]["type"] == "trial"
    return said


def result(tracer):
    return records(tracer)[-1]


def check_effect(subject, said):
    """By how much shorter a step is with what is tried, the program's own clock says, too: of the blocks, as what comes
    before and after them is no part of the trial and may be faster or slower."""
    tried, is_, tried_ns, is_ns = subject.ask("steps")
    expected = tried_ns / tried / (is_ns / is_) - 1  # a share: several calls may be told as one step
    low, high = said["step_effect_low"], said["step_effect_high"]
    # A 95 % interval is 4 standard errors wide: none of 10^14 such trials is more than 8 off. How wide that is, and so
    # whether it is below 0, is up to what else the machine does.
    assert low <= said["step_effect"] <= high
    assert abs(said["step_effect"] - expected) < 2 * (high - low)


def watched(tracer):
    """Whether its watcher lives, as of later; another test may have one of its own."""
    (watcher,) = harness.descendants(tracer.pid)
    return lambda: harness.command_of(watcher) == "gctrace-watcher"


def test_settings_are_what_the_program_reads(bench, runtime):
    subject = Subject(bench, runtime)
    tracer = begin(bench, subject, "--json")
    seen = []
    while tracer.popen.poll() is None:
        seen.append(subject.ask("get"))
        time.sleep(0.02)
    assert tracer.wait() == 0, tracer.err.text()
    assert subject.ask("get") == WAS
    assert [value for value in seen if value not in (WAS, TRIED)] == []
    assert WAS in seen and TRIED in seen
    said = result(tracer)
    assert said["settings"] == [
        {"name": "enabled", "as_it_is": 1, "tried": 1},
        {"name": "threshold 0", "as_it_is": 600, "tried": 60000},
        {"name": "threshold 1", "as_it_is": 2, "tried": 2},
        {"name": "threshold 2", "as_it_is": 2, "tried": 2},
    ]
    assert said["pairs"] >= 8
    assert said["ended_early"] is None and not said["changed_by_program"]
    check_effect(subject, said)


def test_blocks_are_told(bench, some_runtime):
    """In pairs, of which each has both, and without gaps."""
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--json")
    assert tracer.wait(60) == 0, tracer.err.text()
    *blocks, said = records(tracer)
    pairs = said["pairs"] + said["pairs_left_out"]
    assert [block["pair"] for block in blocks] == [i // 2 for i in range(2 * pairs)] + [None]
    assert all(blocks[2 * i]["tried"] != blocks[2 * i + 1]["tried"] for i in range(pairs))
    assert not blocks[-1]["tried"] and not any(block["cut"] for block in blocks)
    assert [block["end_ns"] for block in blocks[:-1]] == [block["start_ns"] for block in blocks[1:]]
    assert all(block["start_ns"] < block["end_ns"] for block in blocks)


def test_what_is_not_known_is_null(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--json", "--set", "off")
    subject.becomes(OFF)
    tracer.popen.send_signal(signal.SIGINT)
    assert tracer.wait() == 4, tracer.err.text()
    said = result(tracer)
    assert said["ended_early"] == "it was interrupted" and said["pairs"] < 8
    for key in said:
        if key.startswith(("step_effect", "rss_effect")) or key in ("step_ns", "rss_growth"):
            assert said[key] is None, key


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL])
def test_undone_at_a_signal(bench, some_runtime, number):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--set", "off")
    subject.becomes(OFF)
    is_watched = watched(tracer)
    tracer.popen.send_signal(number)
    status = tracer.wait()
    assert status == (-number if number == signal.SIGKILL else 4)
    if number != signal.SIGKILL:
        assert subject.ask("get") == WAS
        assert "It cannot be told" in tracer.out.text() and "interrupted" in tracer.out.text()
    subject.becomes(WAS)
    harness.wait_until(lambda: not is_watched(), what="the watcher's end")


def test_end_of_the_program(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--set", "off")
    subject.becomes(OFF)
    subject.send("exit")
    assert tracer.wait() == 4, tracer.err.text()
    assert "has ended" in tracer.out.text()


def test_another_program_is_not_written(bench, some_runtime):
    """Even where it has the same pid, and, without PIE, its collector at the same addresses."""
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--set", "off")
    subject.becomes(OFF)
    subject.send("exec")
    assert tracer.wait() == 4, tracer.err.text()
    assert "called exec" in tracer.out.text()
    enabled, thresholds = subject.ask("anything")
    assert enabled and thresholds[1:] == [10, 10]


@pytest.mark.parametrize("during", [WAS, TRIED], ids=["as it is", "tried"])
def test_the_program_has_the_last_word(bench, some_runtime, during):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject)
    subject.becomes(during)
    assert subject.ask("set", 500, 5, 7) == [True, [500, 5, 7]]
    assert tracer.wait() == 4, tracer.err.text()
    assert subject.ask("get") == [True, [500, 5, 7]]
    assert "the program has changed its collector's threshold" in tracer.out.text()
    assert "left alone" in tracer.out.text()


def test_what_is_not_written_is_watched_too(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject)
    subject.becomes(TRIED)
    subject.ask("disable")
    assert tracer.wait() == 4, tracer.err.text()
    assert subject.ask("get") == OFF
    assert "enabled to 0" in tracer.out.text()


@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_forked_children(bench, some_runtime, killed):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--set", "off")
    subject.becomes(OFF)
    is_watched = watched(tracer)
    subject.ask("fork")
    tracer.popen.send_signal(signal.SIGKILL if killed else signal.SIGINT)
    tracer.wait()
    subject.becomes(WAS)
    harness.wait_until(lambda: not is_watched(), what="the watcher's end")
    assert subject.ask("child") == WAS


def test_known_effect(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--set", "off", "--json")
    assert tracer.wait(60) == 0, tracer.err.text()
    said = result(tracer)
    check_effect(subject, said)
    # Full collections are charged to what leads to them, and without a collector nothing does.
    assert 0 < said["full_share"] < 1 and said["full_per_step"] > 0
    assert said["full_share_tried"] == said["full_per_step_tried"] == 0


def test_no_effect_of_nothing(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--set", "same", "--json")
    assert tracer.wait(60) == 0, tracer.err.text()
    said = result(tracer)
    # Of 256 draws, two are as extreme as the most extreme: one trial in 128 has that, none has less.
    assert said["step_effect_p"] >= 2 / 2 ** said["pairs"]
    assert said["step_effect_low"] <= said["step_effect"] <= said["step_effect_high"]


def test_memory_ends_a_block(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    rss = int(Path("/proc/%d/statm" % subject.pid).read_text().split()[1]) * 4096
    tracer = begin(bench, subject, "--set", "off", "--max-rss", str(rss // 2))
    assert tracer.wait() == 4
    assert subject.ask("get") == WAS
    assert "1 blocks ended early" in tracer.out.text()
    assert "more than --max-rss allows" in tracer.out.text()


def refused(*args, status=3, **options):
    done = harness.gctrace("trial", *args, **options)
    assert (done.returncode, done.stdout) == (status, b""), done.stderr
    return done.stderr.decode()


def test_refusals(bench, some_runtime, monkeypatch):
    subject = Subject(bench, some_runtime)
    pid = ["-p", subject.pid]
    assert "is none of off, same and threshold" in refused(*pid, "--set", "faster", status=2)
    assert "that is what the settings are" in refused(*pid, "--set", "threshold=600", status=2)
    short = refused(*pid, "--step", "libc:getpgid", "-d", "5")
    assert "-d 5.000 s is too short for 20 blocks" in short and "collections that promote to the oldest generation" in short
    assert int(re.search(r"-d (\d+)s would do", short)[1]) > 5
    assert "--step must name" in refused(*pid, "--step", "window:1s", status=2)
    monkeypatch.setenv("GCTRACE_TIER", "watchpoint")
    assert "not certain enough for a trial" in refused(*pid)
    monkeypatch.delenv("GCTRACE_TIER")
    subject.ask("disable")
    assert "has turned its collector off" in refused(*pid)
    assert subject.ask("get") == OFF


def test_subinterpreters_are_refused(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    subject.ask("subinterpreter")
    assert "has subinterpreters" in refused("-p", subject.pid)


def test_a_killed_watcher_ends_it(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--set", "off")
    subject.becomes(OFF)
    (watcher,) = harness.descendants(tracer.pid)
    os.kill(watcher, signal.SIGKILL)
    assert tracer.wait() == 4
    assert subject.ask("get") == WAS
    assert "the watcher, which would put the settings back, was killed" in tracer.out.text()


def left(bench, runtime, *words):
    """A subject whose trial was killed together with its watcher, after the subject was asked this."""
    subject = Subject(bench, runtime)
    tracer = begin(bench, subject, "--set", "off")
    subject.becomes(OFF)
    (watcher,) = harness.descendants(tracer.pid)
    if words:
        subject.ask(*words)
    # As when a cgroup is killed: neither runs on after the other's end.
    tracer.popen.send_signal(signal.SIGSTOP)
    os.kill(watcher, signal.SIGKILL)
    tracer.popen.send_signal(signal.SIGKILL)
    assert tracer.wait() == -signal.SIGKILL
    harness.wait_until(lambda: not Path("/proc/%d" % watcher).exists(), what="the watcher's end")
    assert subject.ask("get") == OFF
    return subject


def test_the_oom_killer_spares_the_watcher(bench, some_runtime):
    lowered = subprocess.run(["sh", "-c", "echo -1000 >/proc/self/oom_score_adj"], stderr=subprocess.DEVNULL)
    need("sys_resource", lowered.returncode == 0, "nothing may be exempt from the OOM killer here")
    tracer = begin(bench, Subject(bench, some_runtime))
    (watcher,) = harness.descendants(tracer.pid)
    assert Path("/proc/%d/oom_score_adj" % watcher).read_text() == "-1000\n"


def restore(subject):
    return harness.gctrace("trial", "--restore", "-p", subject.pid)


def state_of(subject):
    return Path("/run/gctrace/trial-%d" % subject.pid)


def test_what_is_left_is_said_and_restored(bench, some_runtime):
    subject = left(bench, some_runtime)
    pid = ["-p", subject.pid]
    remedy = "gctrace trial --restore -p %d" % subject.pid
    assert "enabled 0 instead of 1" in refused(*pid) and remedy in refused(*pid, "--set", "off")
    assert remedy in harness.gctrace("doctor", *pid).stdout.decode()
    recorded = harness.gctrace("record", *pid, "-d", "1s", "-o", bench.file)
    assert remedy in recorded.stderr.decode()
    assert state_of(subject).exists() and subject.ask("get") == OFF
    done = restore(subject)
    assert (done.returncode, done.stdout) == (0, b"enabled is 1 again; the trial had it 0\n"), done.stderr
    assert subject.ask("get") == WAS
    assert not state_of(subject).exists()
    done = restore(subject)
    assert (done.returncode, done.stdout) == (0, b"") and b"nothing to put back" in done.stderr
    assert remedy not in harness.gctrace("doctor", *pid).stdout.decode()


def test_forked_children_are_restored(bench, some_runtime):
    subject = left(bench, some_runtime, "fork")
    assert restore(subject).returncode == 0
    assert subject.ask("get") == WAS
    assert subject.ask("child") == WAS


def test_what_the_program_set_since_is_not_restored(bench, some_runtime):
    subject = left(bench, some_runtime)
    assert subject.ask("enable") == WAS
    assert restore(subject).returncode == 0
    assert subject.ask("set", 500, 5, 7) == [True, [500, 5, 7]]
    assert not state_of(subject).exists()
    subject = left(bench, some_runtime)
    assert subject.ask("set", 500, 5, 7) == [False, [500, 5, 7]]
    assert restore(subject).returncode == 0  # thresholds were none of the trial's business
    assert subject.ask("get") == [True, [500, 5, 7]]


def test_another_program_is_not_restored(bench, some_runtime):
    subject = left(bench, some_runtime)
    subject.send("exec")
    harness.wait_until(
        lambda: b"-c" in Path("/proc/%d/cmdline" % subject.pid).read_bytes(), what="the exec")
    done = restore(subject)
    assert done.returncode == 0 and b"nothing to put back" in done.stderr
    assert subject.ask("anything")[0]


def test_one_trial_at_a_time(bench, some_runtime):
    subject = Subject(bench, some_runtime)
    tracer = begin(bench, subject, "--set", "off")
    assert state_of(subject).exists()
    assert "in progress" in refused("-p", subject.pid)
    done = restore(subject)
    assert done.returncode == 3 and b"in progress" in done.stderr
    assert "a trial is in progress" in harness.gctrace("doctor", "-p", subject.pid).stdout.decode()
    assert tracer.interrupt() == 4
    assert subject.ask("get") == WAS
    assert not state_of(subject).exists()


def claiming(bench, runtime, symbol, offset, value):
    """@runtime, with another value at an offset from a symbol of its file: what it says of itself, by which it does nothing."""
    folder = Path(runtime.root + bench.script(runtime) if runtime.in_root else bench.script(runtime)).parent
    file = folder / "python-that-claims"
    shutil.copy(runtime.root + runtime.exe, file)
    read = lambda *args: subprocess.run(["readelf", "-W", *args, file], stdout=subprocess.PIPE).stdout.decode()
    address = int(re.search(r"(\S+)\s+\w+ OBJECT .* %s\n" % symbol, read("--dyn-syms"))[1], 16)
    for at, from_, size in re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", read("-l")):
        if int(from_, 16) <= address < int(from_, 16) + int(size, 16):
            with open(file, "r+b") as stream:
                stream.seek(int(at, 16) + address - int(from_, 16) + offset)
                stream.write(value)
            claims = copy.copy(runtime)
            claims.exe = str(Path(bench.script(runtime)).parent / file.name)
            return claims
    raise AssertionError("%s is in no segment" % symbol)


def static(*minors):
    return [r for r in PLAIN if r.minor in minors and r.linkage == "static"]


@each("later", static((3, 14)), "static CPython 3.14 of those asked for is here")
@pytest.mark.parametrize("micro", [0, 4])
def test_collectors_in_increments_are_refused(bench, later, micro):
    """No build of them is at hand: a later one, whose file says that it is one."""
    subject = Subject(bench, claiming(bench, later, "Py_Version", 1, bytes([micro])))
    said = refused("-p", subject.pid)
    assert "runs CPython 3.14.%d, whose collector works in increments" % micro in said
    assert subject.ask("get") == WAS


@each("plain", static((3, 13), (3, 14), (3, 15)), "static CPython from 3.13 on of those asked for is here")
def test_free_threaded_builds_are_refused(bench, plain):
    """Likewise, by the flag that debuggers read."""
    subject = Subject(bench, claiming(bench, plain, "_PyRuntime", 16, b"\1"))
    assert "runs a free-threaded CPython %st" % plain.version in refused("-p", subject.pid)
    assert subject.ask("get") == WAS


@jvm_check.each("jvm", jvm_check.newest())
def test_jvms_are_refused(bench, jvm):
    target = jvm_check.start(bench, jvm, "Dump", collector="serial", args=["--count", 97])
    said = refused("-p", target.pid)
    assert "hotspot" in said and "gctrace diff" in said


@julias
def test_julias_are_refused(bench, julia):
    said = refused("-p", julia.books(bench).pid)
    assert "julia" in said and "gctrace diff" in said


def test_other_processes_are_refused(bench):
    sleeper = bench.process(["sleep", "60"])
    assert "no runtime that gctrace knows" in refused("-p", sleeper.pid)
    assert "no process" in refused("-p", "4194303")
