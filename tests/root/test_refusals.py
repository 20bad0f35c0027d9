"""What cannot be done: one clear sentence that names the object, and the right exit status."""

import copy
import json
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

import conftest
from harness import Process, gctrace
from test_counts import check_sums


def refused(done, status, *words):
    text = done.stderr.decode()
    assert done.returncode == status, text
    for word in words:
        assert re.search(word, text), text
    assert "Traceback" not in text and len(text) < 2500


def record(bench, pid):
    return gctrace("record", "-p", pid, "-o", bench.file, "-d", "5s")


def test_no_such_process(bench):
    gone = subprocess.Popen(["true"])
    gone.wait()
    refused(record(bench, gone.pid), 3, str(gone.pid))


def test_no_runtime(bench):
    target = bench.process(["sleep", "60"])
    refused(record(bench, target.pid), 3, str(target.pid), "(?i)cpython")


def test_32_bit(bench):
    source = bench.scratch / "wait.S"
    source.write_text(
        ".globl _start\n_start: mov $29, %eax\nint $0x80\njmp _start\n"  # pause(2), for ever
    )
    program = bench.scratch / "wait32"
    built = subprocess.run(
        ["gcc", "-m32", "-nostdlib", "-static", "-o", program, source], stderr=subprocess.PIPE
    )
    conftest.need("m32", built.returncode == 0, "gcc cannot build 32-bit programs here")
    target = bench.process([program])
    refused(record(bench, target.pid), 3, "32-bit")


@pytest.mark.parametrize(
    "args",
    [
        ["record"],
        ["record", "-p"],
        ["record", "-p", "x", "-o", "/dev/null"],
        ["record", "-p", "-1", "-o", "/dev/null"],
        ["-p", "1", "-d", "soon"],
        ["report"],
        ["report", "x.gct", "-f", "crayon"],
        ["frobnicate"],
        ["--no-such-option"],
        ["run", "--"],
        [],
    ],
    ids=" ".join,
)
def test_usage(args):
    refused(gctrace(*args), 2)


def test_unwritable_output(bench, some_runtime):
    target = bench.oracle(some_runtime)
    where = "/nonexistent/run.gct"
    refused(gctrace("record", "-p", target.pid, "-o", where, "-d", "5s"), 1, where)


@pytest.mark.parametrize("what", ["missing", "empty", "text", "folder"])
def test_not_a_recording(bench, what):
    path = bench.scratch / "x.gct"
    if what == "empty":
        path.touch()
    elif what == "text":
        path.write_text("this is no database\n" * 1000)
    elif what == "folder":
        path.mkdir()
    refused(gctrace("report", path), 1, "x.gct")


@pytest.fixture
def recording(bench, some_runtime):
    target = bench.oracle(some_runtime)
    tracer = bench.record(target)
    target.ask("collect 101 11 7")
    target.quit()
    tracer.finish()
    return bench.file


def test_damaged_recordings(bench, recording):
    """Cut or overwritten anywhere: a report of what is left or a refusal, never a crash."""
    whole = recording.read_bytes()
    damaged = bench.scratch / "damaged.gct"
    for i in range(23):
        at = len(whole) * i // 23
        for data in (whole[:at], whole[:at] + b"\xa5" * 512 + whole[at + 512 :]):
            damaged.write_bytes(data)
            for leftover in ("-wal", "-shm", "-journal"):
                (bench.scratch / ("damaged.gct" + leftover)).unlink(missing_ok=True)
            done = gctrace("report", damaged, "-f", "json")
            assert done.returncode in (0, 1), (at, done.returncode, done.stderr.decode())
            assert done.returncode == 0 or b"damaged.gct" in done.stderr


def test_newer_recording(bench, recording):
    db = sqlite3.connect(recording)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    db.execute("PRAGMA user_version = %d" % (version + 1000000))
    db.commit()
    db.close()
    refused(gctrace("report", recording), 1, "(?i)newer")


def append(path, text):
    """tracefs refuses the seek that open(path, "a") does."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


USDT = [r for r in conftest.PLAIN if r.in_root and r.linkage == "static"]


def own_copy(bench, runtime):
    """The executable as a file of the test's own, on which nobody else's probes are."""
    copied = copy.copy(runtime)
    folder = os.path.dirname(bench.script(runtime))
    copied.exe = copied.elf = os.path.join(folder, os.path.basename(runtime.elf))
    shutil.copy(runtime.root + runtime.elf, runtime.root + copied.elf)
    return copied


@conftest.each("contended", USDT, "CPython that is seen by its USDT notes is here")
def test_usdt_taken(bench, contended):
    """Another tracer sits on the USDT site without its semaphore: another way is found."""
    contended = own_copy(bench, contended)
    path = contended.root + contended.elf
    notes = subprocess.run(["readelf", "-nW", path], stdout=subprocess.PIPE).stdout.decode()
    site = re.search(r"Name: gc__start\n\s+Location: (0x[0-9a-f]+)", notes)
    loads = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE).stdout.decode()
    for offset, vaddr, size in re.findall(
        r"LOAD\s+(0x[0-9a-f]+) (0x[0-9a-f]+) 0x[0-9a-f]+ (0x[0-9a-f]+)", loads
    ):
        delta = int(site[1], 16) - int(vaddr, 16)
        if 0 <= delta < int(size, 16):
            where = int(offset, 16) + delta
    target = bench.oracle(contended)
    name = "gctrace_test_%d" % os.getpid()
    events = "/sys/kernel/tracing/uprobe_events"
    append(events, "p:%s/start %s:%#x\n" % (name, path, where))
    enable = "/sys/kernel/tracing/events/%s/start/enable" % name
    try:
        append(enable, "1")
        tracer = bench.record(target)
        books = target.ask("collect 23 11 7")
        assert target.quit() == 0
        tracer.finish()
    finally:
        append(enable, "0")
        append(events, "-:%s/start\n" % name)
    records = bench.report()
    check_sums(records.of_pid(target.pid), books)
    assert records.process(target.pid)["tier"] in {"call-target", "watchpoint"}


def test_doctor(bench, runtime):
    """doctor marks the tier that record then uses."""
    target = bench.oracle(runtime)
    text = gctrace("doctor", "-p", target.pid)
    assert text.returncode == 0, text.stderr.decode()
    tracer = bench.record(target)
    target.quit()
    tracer.finish()
    process = bench.report().process(target.pid)
    (serves,) = [l for l in text.stdout.decode().splitlines() if l.endswith("<- in use")]
    assert process["tier"] in serves.split()


@pytest.mark.parametrize("kind", ["runtime", "stranger", "gone", "machine"])
def test_doctor_json(bench, some_runtime, kind):
    """The same findings as one object per line, by the schema."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(gctrace("schema", "json").stdout)
    gone = subprocess.Popen(["true"])
    gone.wait()
    pid = {
        "runtime": lambda: bench.oracle(some_runtime).pid,
        "stranger": lambda: bench.process(["sleep", "60"]).pid,
        "gone": lambda: gone.pid,
        "machine": lambda: None,
    }[kind]()
    of = ["-p", pid] if pid else []
    done, text = gctrace("doctor", "--json", *of), gctrace("doctor", *of)
    findings = [json.loads(line) for line in done.stdout.decode().splitlines()]
    for finding in findings:
        jsonschema.validate(finding, schema)
        assert set(finding) == set(schema["$defs"]["finding"]["properties"])
    said = text.stdout.decode()
    for finding in findings:
        assert finding["question"] in said and (finding["answer"] in said or kind == "runtime")
    fatal = kind in ("stranger", "gone")
    assert any(f["fatal"] for f in findings) is fatal
    assert done.returncode == text.returncode == (3 if fatal else 0)
