"""A target's names cannot move the cursor of root's terminal or set its title."""

import os
import signal

import harness

HOSTILE = "\x1b]0;x\x07"  # sets the title of a terminal
CALLS = 7

# In every name that a process has: its comm, its path, its code's names and file names.
SUBJECT = """
import gc
import sys
gc.disable()
open("/proc/self/comm", "wb").write(b"\\x1b]0;x\\x07")
code = compile("import gc\\ngc.collect()", "\\x1b]0;x\\x07.py", "exec")
sys.stdout.write("ready\\n")
sys.stdout.flush()
for line in sys.stdin:
    for _ in range(int(line)):
        exec(code)
    sys.stdout.write("done\\n")
    sys.stdout.flush()
"""


def start(bench, runtime):
    folder = bench.scratch / HOSTILE
    folder.mkdir()
    (folder / "t.py").write_text(SUBJECT)
    target = bench.process([runtime.exe, folder / "t.py"])
    assert target.out.next() == "ready", target.err.text()
    return target


def controls(text):
    return sorted({c for c in text if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f"})


def check(*texts):
    assert any(texts)
    for text in texts:
        assert not controls(text), repr(text)


def test_live(bench, some_runtime):
    target = start(bench, some_runtime)
    seen = bench.tracer("-p", target.pid, "-v", "--stack-min", "0")
    shown = bench.tracer("-p", target.pid, "--json", "--stack-min", "0")
    doctor = harness.gctrace("doctor", "-p", target.pid, "-v")
    target.send(str(CALLS))
    assert target.out.next() == "done"
    target.popen.stdin.close()
    target.wait()
    seen.finish()
    shown.finish()

    check(seen.out.text(), seen.err.text(), shown.out.text(), shown.err.text())
    check(doctor.stdout.decode(), doctor.stderr.decode())
    records = harness.Records(shown.out.text())
    assert records.process(target.pid)["comm"] == HOSTILE
    stacks = [pause["stack"] for pause in records.pauses if pause["cause"] == "manual"]
    assert len([s for s in stacks if HOSTILE in s[0]["file"]]) == CALLS, stacks
    assert any("]0;x" in line for line in seen.err.text().splitlines()), seen.err.text()


def test_sentences(bench):
    """A process without a runtime, a command that does not exist, a file and an option of that name."""
    folder = bench.scratch / HOSTILE
    folder.mkdir()
    os.symlink("/bin/sleep", folder / "sleep")
    target = bench.process([folder / "sleep", "60"])
    for words in (
        ["record", "-p", target.pid, "-o", folder / "x.gct"],
        ["run", "--", folder / "none"],
        ["report", folder / "none.gct"],
        ["report", "-f", HOSTILE, "x.gct"],
        ["check", "--budget", HOSTILE, "x.gct"],
        ["-p", HOSTILE],
        [HOSTILE],
        ["--" + HOSTILE],
    ):
        done = harness.gctrace(*words)
        assert done.returncode not in (0, -signal.SIGSEGV, -signal.SIGABRT), words
        check(done.stdout.decode(), done.stderr.decode())
