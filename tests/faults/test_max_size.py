"""A recording never fills the disk: it ends at --max-size, whole, and says so."""

import os
import subprocess

from harness import Records, gctrace, report, wait_until

MIB = 1 << 20


def limit_of(records):
    drops = [d for d in records.drops if d["cause"] == "size-limit"]
    assert len(drops) == 1 and drops[0]["count"] == 1, records.drops
    return drops[0]["remedy"]


def test_record_ends(bench, some_runtime):
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, "--max-size", "2M")
    target.send("sleepless 60")
    tracer.finish()
    assert "--max-size 2M" in tracer.err.text()
    assert target.popen.poll() is None

    records = bench.report()
    assert MIB < os.path.getsize(bench.file) < 4 * MIB
    assert not os.path.exists(str(bench.file) + "-wal")
    assert "--max-size 2M" in limit_of(records)
    assert records.recording["complete"] is False and records.recording["cut_off"] is False
    assert len(records.pauses) == records.summary["pauses"] > 1009
    assert "ends early (size-limit)" in gctrace("report", bench.file).stdout.decode()
    judged = gctrace("check", bench.file, "--budget", "pause.max<60s")
    assert judged.returncode == 4, judged.stderr.decode()


def test_live_goes_on(bench, some_runtime):
    """Lines continue after the temporary recording has ended; the report covers what it holds."""
    target = bench.oracle(some_runtime)
    folder = bench.scratch / "tmp"
    folder.mkdir()
    tracer = bench.tracer("-p", target.pid, "--json", "--max-size", "1M", env={"TMPDIR": folder})
    target.send("sleepless 60")
    assert tracer.err.find(lambda line: "--max-size 1M" in line, 60)
    seen = len(tracer.out.lines)
    wait_until(lambda: len(tracer.out.lines) > seen + 1009, 30, "more lines")
    assert sum(f.stat().st_size for f in folder.iterdir()) < 2 * MIB
    assert tracer.interrupt() == 0

    records = Records(tracer.out.text())
    assert "--max-size 1M" in limit_of(records)
    assert records.summary["pauses"] < len(records.pauses)
    later = len(records.pauses) - records.summary["pauses"]
    assert "%d pauses came after" % later in tracer.err.text()


def test_run_goes_on(bench, some_runtime):
    """The workload of `run` ends by itself, with its own status, and no budget passes."""
    line = some_runtime.start_line(bench.script(some_runtime))
    tracer = bench.tracer(
        "run", "--max-size", "512K", "--budget", "pause.max<60s", "--", *line,
        ready=False, env=some_runtime.environment,
    )
    assert tracer.out.find(lambda l: '"ready"' in l), tracer.err.text()
    tracer.send("sleepless 2")
    assert tracer.err.find(lambda line: "--max-size 512K" in line, 60)
    assert tracer.out.find(lambda l: '"sleepless"' in l, 60), "it was stopped"
    tracer.send("exit 23")
    assert tracer.wait() == 23


def test_room_for_others(bench, some_runtime):
    """The recording never fills a disk: a twentieth of it stays free."""
    disk = bench.small_disk("100m")
    target = bench.oracle(some_runtime)
    tracer = bench.tracer("record", "-p", target.pid, "-o", disk / "run.gct")
    subprocess.run(["fallocate", "-l", "96M", disk / "ballast"], check=True)
    tracer.finish()
    assert "5 MiB of the disk" in limit_of(report(disk / "run.gct"))
    assert target.popen.poll() is None


def test_no_limit_is_an_option(bench, some_runtime):
    target = bench.oracle(some_runtime)
    tracer = bench.record(target, "--max-size", "0")
    target.ask("collect 23 11 7")
    assert target.quit() == 0
    tracer.finish()
    assert bench.report().recording["complete"] is True
