"""What cannot be traced is named for what it is, with a remedy and exit status 3."""

import os
import shutil
import subprocess

import pytest

import conftest
import harness
from harness import gctrace
from test_counts import check_sums

WAIT_PYTHON = "import sys; sys.stdout.write('up\\n'); sys.stdout.flush(); sys.stdin.readline()"
WAIT_NODE = "console.log('up'); process.stdin.resume()"
WAIT_GO = """package main

import ("bufio"; "fmt"; "os")

func main() {
	fmt.Println("up")
	bufio.NewReader(os.Stdin).ReadString('\\n')
}
"""


def foreign():
    """The rows of scripts/runtimes that are named, not traced."""
    listed = subprocess.run(
        [harness.SOURCE / "scripts/runtimes", "--list", "stranger"],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    head, *rows = [line.split("\t") for line in listed.splitlines()]
    return {row[0]: harness.Runtime(dict(zip(head, row))) for row in rows}


def needed(name):
    found = foreign().get(name)
    conftest.need("strangers", found, "no %s here: scripts/runtimes fetches it" % name)
    return ["chroot", found.root, found.exe]


def pypy(bench):
    return needed("debian-pypy3") + ["-c", WAIT_PYTHON]


def python2(bench):
    return needed("debian-python2") + ["-S", "-c", WAIT_PYTHON]


def node(bench):
    exe = shutil.which("node")
    conftest.need("strangers", exe, "no node here")
    return [exe, "-e", WAIT_NODE]


def go(bench):
    exe = shutil.which("go") or "/usr/local/go/bin/go"
    conftest.need("strangers", os.path.exists(exe), "no Go compiler here")
    source = bench.scratch / "wait.go"
    source.write_text(WAIT_GO)
    subprocess.run([exe, "build", "-o", bench.scratch / "wait", source], check=True)
    return [bench.scratch / "wait"]


def nameless(bench):
    source = bench.scratch / "wait.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("up"); fflush(stdout); getchar(); }')
    program = bench.scratch / "wait"
    line = ["gcc", "-static", "-s", "-o", program, source]
    done = subprocess.run(line, stderr=subprocess.PIPE)
    conftest.need("static", done.returncode == 0, "gcc cannot build static programs here")
    return [program]


def check_named(bench, pid, *words):
    """By live, record and doctor, in the same words; the first two print nothing on stdout."""
    for args in (["-p", pid, "-d", "5s"], ["record", "-p", pid, "-o", bench.file, "-d", "5s"]):
        done = gctrace(*args)
        (line,) = done.stderr.decode().splitlines()
        assert done.returncode == 3 and done.stdout == b"", (done, line)
        assert str(pid) in line
        for word in words:
            assert word in line, line
    done = gctrace("doctor", "-p", pid)
    assert done.returncode == 3
    for word in words:
        assert word in done.stdout.decode(), done.stdout.decode()


@pytest.mark.parametrize(
    "start, words",
    [
        (pypy, ("PyPy", "PYPYLOG")),
        (python2, ("Python 2", "gc.set_debug", "3.8")),
        (node, ("Node.js", "--trace-gc")),
        (go, ("a Go program", "GODEBUG=gctrace=1")),
        (nameless, ("a static program without any symbol", "symbol table")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_foreign_runtime(bench, start, words):
    target = bench.process(start(bench))
    assert target.out.next() == "up", target.err.text()
    check_named(bench, target.pid, *words)
    assert target.popen.poll() is None


@pytest.mark.parametrize("start, word", [(node, "Node.js"), (pypy, "PyPy")], ids=["node", "pypy"])
def test_run_of_a_stranger(bench, start, word):
    """The workload's own status passes through, and the log says why nothing was traced."""
    tracer = bench.tracer("run", "-o", bench.file, "--", *start(bench), ready=False)
    tracer.out.find(lambda line: line == "up")
    tracer.popen.stdin.close()
    assert tracer.wait() == 0
    assert "nothing was traced: a process runs %s" % word in tracer.err.text()


def test_python_below_a_stranger(bench, some_runtime):
    """A child that can be traced is traced, whatever its parent is."""
    exe = shutil.which("node")
    conftest.need("strangers", exe, "no node here")
    line = [str(part) for part in some_runtime.start_line(bench.script(some_runtime))]
    spawn = "require('child_process').spawn(%r, %r, {stdio: 'inherit'}).on('exit', process.exit)"
    env = dict(some_runtime.environment)
    target = bench.keep(harness.Oracle([exe, "-e", spawn % (line[0], line[1:])], env=env))
    tracer = bench.record(target)
    books = target.ask("collect 5 3 2")
    target.quit()
    tracer.finish()
    check_sums(bench.report().of_pid(target.ready["pid"]), books)


def test_no_such_process(bench):
    gone = subprocess.Popen(["true"])
    gone.wait()
    check_named(bench, gone.pid, "there is no process", "pgrep")


def test_zombie(bench):
    ended = subprocess.Popen(["true"])
    state = "/proc/%d/stat" % ended.pid
    harness.wait_until(lambda: ") Z " in open(state).read(), what="the zombie")
    check_named(bench, ended.pid, "zombie", "has ended")
    ended.wait()


def test_main_thread_ended(bench):
    """Its other threads run on, and /proc shows nothing of the process under its number."""
    script = (
        "import ctypes, sys, threading\n"
        "threading.Thread(target=sys.stdin.readline).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    target = bench.process(["/usr/bin/python3", "-c", script])
    state = "/proc/%d/stat" % target.pid
    harness.wait_until(lambda: ") Z " in open(state).read(), what="the main thread's end")
    check_named(bench, target.pid, "the main thread", "gctrace run")
    target.send("")


def test_kernel_thread(bench):
    number = "/proc/2/comm"
    here = os.path.exists(number) and open(number).read() == "kthreadd\n"
    conftest.need("kthread", here, "no thread of the kernel is seen here")
    check_named(bench, 2, "a thread of the kernel", "pgrep")
