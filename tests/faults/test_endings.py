"""How recordings end that can no longer be written: with a sentence, the rest readable, and never "written"."""

import os
import pathlib
import resource
import signal
import subprocess

import pytest

import harness
from harness import gctrace, wait_until
from test_counts import check_sums
from test_ends import rows

FULL = pathlib.Path("/dev/full")
LIMIT = 1 << 20
PAUSES = 32803  # more than one transaction, and more than LIMIT


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it


def wal_of(path):
    return pathlib.Path(str(path) + "-wal")


def committed(path):
    """Whether the first commit is in the WAL."""
    return wal_of(path).exists() and wal_of(path).stat().st_size > 0


def readable(tracer):
    """How many pauses the tracer says can be read, or None."""
    line = tracer.err.find(lambda l: "recorded before can be read" in l or "can be read" in l)
    return int(line.split("gctrace: ")[1].split()[0]) if "recorded before" in line else None


def test_size_limit(bench, some_runtime):
    """`ulimit -f` ends the recording with a sentence, not the tracer with a signal."""
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, "--stack-min", "0", preexec_fn=limited)
    target.ask("collect %d 0 0" % PAUSES)
    assert tracer.wait() == 1, tracer.err.text()
    assert target.quit() == 0
    said = tracer.err.text()
    assert said.count("largest size allowed (ulimit -f") == 1 and " written;" not in said, said
    assert len([l for l in said.splitlines() if "error" in l]) == 1, said
    records = bench.report()
    assert records.recording["complete"] is False
    assert 0 < len(records.pauses) == readable(tracer)


def test_the_workload_has_its_own_signals(bench):
    """What `run` starts dies of SIGXFSZ just as it would untraced."""
    file = bench.scratch / "large"
    line = "ulimit -f 1; head -c 2000 /dev/zero >%s; kill -l $?" % file
    with_tracer = gctrace("run", "-o", bench.file, "--", "sh", "-c", line, preexec_fn=restored)
    alone = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, preexec_fn=restored)
    assert with_tracer.stdout == alone.stdout == b"XFSZ\n"


def restored():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


def test_wal_is_cut(bench, some_runtime):
    """Somebody truncates the -wal: what follows leaves a file with holes, which is not "written"."""
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, "--stack-min", "0")
    target.ask("collect 101 11 7")
    wait_until(lambda: rows(bench.file) == 119, what="the pauses in the file")
    os.truncate(wal_of(bench.file), 0)
    target.ask("collect 101 11 7")
    assert target.quit() == 0
    assert tracer.wait() == 1, tracer.err.text()
    said = tracer.err.text()
    assert "is damaged" in said and "-wal" in said and " written;" not in said, said
    assert said.index("is damaged") < said.index("can be read"), said
    done = gctrace("report", bench.file, "-f", "json")
    rest = readable(tracer)
    if rest is None:
        assert "nothing of it can be read" in said and done.returncode == 1
    else:
        assert len(harness.Records(done.stdout.decode()).pauses) == rest


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_file_is_taken_away(bench, some_runtime, how):
    target = bench.oracle(some_runtime)
    tracer = bench.record(target)
    target.ask("collect 5 3 2")
    wait_until(lambda: committed(bench.file), what="a commit")
    if how == "removed":
        bench.file.unlink()
    else:
        bench.file.rename(bench.scratch / "moved.gct")
    assert target.quit() == 0
    assert tracer.wait() == 1
    said = tracer.err.text()
    assert "moved or removed" in said and " written;" not in said, said
    assert readable(tracer) is None


def old_recording(bench, runtime):
    target = bench.oracle(runtime)
    tracer = bench.record(target)
    books = target.ask("collect 5 3 2")
    assert target.quit() == 0
    tracer.finish()
    return books


def test_replaced_once_it_traces(bench, some_runtime):
    """An older recording stays until there is something to put in its place."""
    books = old_recording(bench, some_runtime)
    before = bench.file.read_bytes()
    gone = bench.process(["true"])
    gone.wait()
    other = bench.process(["sleep", "60"])
    for words in (
        ["record", "-p", gone.pid, "-o", bench.file],
        ["record", "-p", other.pid, "-o", bench.file],
        ["-p", other.pid, "-o", bench.file],
        ["run", "-o", bench.file, "--", bench.scratch / "none"],
        ["record", "-p", os.getpid(), "--step", "no-such:thing", "-o", bench.file],
    ):
        done = gctrace(*words)
        assert done.returncode in (3, 127), (words, done.stderr)
        assert bench.file.read_bytes() == before, words
        assert sorted(os.listdir(bench.scratch)) == ["oracle.py", "run.gct"], words
    check_sums(bench.report().pauses, books)

    target = bench.oracle(some_runtime)
    tracer = bench.record(target)
    assert bench.file.read_bytes() != before
    books = target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()
    check_sums(bench.report().pauses, books)
    assert sorted(os.listdir(bench.scratch)) == ["oracle.py", "run.gct"]


@pytest.mark.parametrize("content", [b"precious data", b""], ids=["other", "empty"])
def test_only_recordings_are_replaced(bench, some_runtime, content):
    bench.file.write_bytes(content)
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, ready=False)
    if content:
        assert tracer.wait() == 1
        assert "not a gctrace recording" in tracer.err.text() and "-o" in tracer.err.text()
        assert bench.file.read_bytes() == content
        assert os.listdir(bench.scratch).count("oracle.py") == len(os.listdir(bench.scratch)) - 1
        return
    tracer.wait_ready()
    assert target.quit() == 0
    tracer.finish()
    assert bench.report().pauses is not None


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_live_on_a_full_device(bench, some_runtime, options):
    target = bench.oracle(some_runtime)
    with FULL.open("w") as full:
        tracer = subprocess.Popen(
            [os.environ["GCTRACE"], "-p", str(target.pid), *options],
            stdout=full,
            stderr=subprocess.PIPE,
        )
        for line in tracer.stderr:
            if b"tracing" in line:
                break
        target.ask("collect 5 3 2")
        target.quit()
        said = tracer.stderr.read()
    assert tracer.wait(20 * harness.SLOWNESS) == 1
    assert said.count(b"error") == 1 and b"No space left on device" in said, said


def test_junit_is_tried_at_the_start(bench):
    """An unwritable --junit fails at the start, not after two days of training."""
    marker = bench.scratch / "ran"
    for out in (bench.scratch / "nowhere" / "out.xml", bench.file):
        words = ["run", "-o", bench.file, "--budget", "pause.max<1h", "--junit", out]
        done = gctrace(*words, "--", "touch", marker)
        assert done.returncode == 1 and str(out) in done.stderr.decode(), done.stderr
        assert not marker.exists() and not bench.file.exists()
