"""--gpu inject: real programs on the mock of CUDA's driver load the real shim while they run, or it is refused and nothing
is left in them."""

import os
import shutil
import signal
import sqlite3
import subprocess

import pytest

import building
import conftest
import harness
import julia_harness
import jvm_check
from harness import gctrace
from test_gpu_chain import check_runs, mock

NEW = conftest.each("new", [r for r in conftest.PLAIN if r.minor >= (3, 14)], "CPython from 3.14 on")
NEWEST = conftest.each("new", [r for r in conftest.PLAIN if r.minor >= (3, 14)][-1:], "CPython from 3.14 on")
ENTER = 'mount --bind "$1" "$2$1" && mount -t proc proc "$2/proc" && shift && exec chroot "$@"'
# A folder, which nothing may be run from in a mount namespace of its own; the root that has it, or ""; the program.
NOEXEC = 'mount --bind "$1" "$2$1" && mount -o remount,bind,noexec "$2$1" && shift 2 && exec "$@"'
JULIAS = [j for j in julia_harness.load_julias() if conftest.chosen(j)]
NOBODY = "65534"
RT_SIGTIMEDWAIT, CLOCK_NANOSLEEP = 128, 230  # x86-64

# Kernels apart until somebody says "go", and after: what is joined lies all within what was recorded.
TRAINING = """
import select
scripts = []
sys.addaudithook(lambda event, args: scripts.append(args) if event == "cpython.remote_debugger_script" else None)
def apart(go_on):
    while go_on():
        launch(20000)
        sync()
        time.sleep(0.001)
print("ready", flush=True)
apart(lambda: not select.select([sys.stdin], [], [], 0)[0])
end = time.monotonic() + 1
apart(lambda: time.monotonic() < end)
train(61, 23, 100000, 2, None, 1000, 20000)
end = time.monotonic() + 0.7
apart(lambda: time.monotonic() < end)
print(len(scripts), gc.get_stats()[2]["collections"], flush=True)
"""

# Until "stop" and at least 53 times; a handler that does not run ends the program with a complaint.
SIGNALS = """
import signal, threading, time; seen, stop = threading.Event(), threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: seen.set())
def sent(): seen.clear(); os.kill(os.getpid(), signal.SIGUSR1); return seen.wait(60) or os._exit(9)
def send(): [sent() for _ in range(53)]; [sent() for _ in iter(stop.is_set, True)]
def spin(): [sum(range(50)) for _ in iter(stop.is_set, True)]
threads = [threading.Thread(target=f) for f in (send, spin, spin, spin)]; [t.start() for t in threads]
"""


class Place:
    """A folder with the shim, the mock and the programs, which the runtime sees under the same name."""

    def __init__(self, bench, runtime):
        if not mock.have_mock():
            conftest.need("cupti", False, "CUPTI's headers were not here when this was built")
        self.bench, self.runtime = bench, runtime
        self.folder = bench.public_folder()
        self.shim = self.folder / "libgctrace_cupti.so"
        self.helper = self.folder / "libgctrace_cupti.so.py"
        shutil.copy(mock.SHIM, self.shim)
        # By this name gctrace knows a driver.
        shutil.copy(mock.MOCKS / "libmock_cuda.so", self.folder / "libcuda.so.1")
        shutil.copy(mock.MOCKS / "libmock_cupti_13.so", self.folder / "libcupti.so.13")
        shutil.copy(mock.HERE / "subject.py", self.folder)
        shutil.copy(harness.SOURCE / "tests/root/inject_subject.py", self.folder)
        if runtime.in_root:
            os.makedirs(runtime.root + str(self.folder))
            bench.placed.add(runtime.root + str(self.folder))
            bench.need_unshare()

    def start(self, *words, program="inject_subject.py", prefix=(), **env):
        """With @words before and after the program's name, by @prefix. A variable that is None is not there."""
        env = {"LD_LIBRARY_PATH": str(self.folder), "SUBJECT_BOOK": str(self.folder / "book"), "SUBJECT_CTYPES": "1"} | env
        env = {**self.runtime.environment, **{k: v for k, v in env.items() if v is not None}}
        argv = [self.runtime.exe, *words[:1], self.folder / program, *words[1:]]
        if self.runtime.in_root:
            argv = ["unshare", "-m", "sh", "-c", ENTER, "sh", self.folder, self.runtime.root, *argv]
        argv = [*prefix, *argv]
        full = {k: v for k, v in os.environ.items() if not k.startswith(("MOCK_", "CUDA_", "LD_", "PYTHON"))} | env
        target = self.bench.keep(harness.Process(["env", "-i", *("%s=%s" % pair for pair in full.items()), *argv]))
        assert target.out.next() == "ready", target.err.text()
        return target

    def inject(self, target, *args, **options):
        options = {"env": {"GCTRACE_SHIM": str(self.shim)}} | options
        return self.bench.record(target, "--gpu", "inject", *args, **options)

    def environment(self, shim=None):
        return dict(os.environ, GCTRACE_SHIM=str(shim or self.shim))

    def refused(self, target, *words, shim=None):
        """Nothing is traced, by a sentence with @words; @target ends as if nobody had asked."""
        done = gctrace("record", "-p", target.pid, "--gpu", "inject", "-o", self.bench.file,
                       env=self.environment(shim))
        said = done.stderr.decode()
        assert done.returncode == 3, said
        for word in words:
            assert word in said
        assert len(said.splitlines()) == 1, said
        self.ends(target, 0, 0)
        return said

    def ends(self, target, scripts, threads):
        target.send("end")
        assert target.out.next() == "%d %d" % (scripts, threads)
        assert target.wait() == 0
        assert target.err.text() == ""


def become_nobody(target):
    target.send("os.setgroups([]); os.setgid(%s); os.setuid(%s)" % (NOBODY, NOBODY))
    assert target.out.next() == "done"


@NEW
def test_training(bench, new):
    """It records from then on what the mock's book has, and all pauses; the program's end is its own."""
    place = Place(bench, new)
    target = place.start("-B", TRAINING, program="subject.py")
    tracer = place.inject(target)
    target.send("go")
    assert target.out.next(60) == "1 8", target.err.text()
    assert target.wait(60) == 0
    assert target.err.text() == ""
    tracer.finish()
    base = sqlite3.connect(bench.file)
    base.row_factory = sqlite3.Row
    check_runs(base, mock.read_book(place.folder / "book"))
    assert len([p for p in bench.report().pauses if p["cause"] == "manual"]) == 8


@NEW
def test_without_ctypes(bench, new):
    place = Place(bench, new)
    target = place.start(SUBJECT_CTYPES=None, LD_PRELOAD=str(place.folder / "libcuda.so.1"))
    tracer = place.inject(target)
    place.ends(target, 1, 1)
    tracer.finish()


@NEWEST
def test_there_already(bench, new):
    """By the driver, or since an earlier session: nothing is asked of the program."""
    place = Place(bench, new)
    target = place.start()
    assert place.inject(target).interrupt() == 0
    assert place.inject(target).interrupt() == 0
    place.ends(target, 1, 1)


@NEWEST
def test_user(bench, new):
    """As the user of the program, who is not root."""
    place = Place(bench, new)
    target = place.start()
    become_nobody(target)
    tracer = place.inject(target)
    place.ends(target, 1, 1)
    tracer.finish()


@NEW
def test_no_signal_is_lost(bench, new):
    """Each signal's handler has run before the next is sent, while the request is written beside them; threads wait for the GIL."""
    place = Place(bench, new)
    target = place.start()
    for line in SIGNALS.strip().split("\n"):
        target.send(line)
        assert target.out.next() == "done", target.err.text()
    tracer = place.inject(target)
    # join() would wait for a handler that runs after it: six of eight runs stood still on 3.14 without gctrace, too
    target.send("stop.set(); [time.sleep(0.001) for _ in iter(lambda: any(t.is_alive() for t in threads), False)]")
    assert target.out.next() == "done", target.err.text()
    place.ends(target, 1, 1)
    tracer.finish()


def is_in(process, call):
    return harness.Path("/proc/%d/syscall" % process.pid).read_text().split()[0] == str(call)


def wait_in_c(target, seconds):
    """@target begins to, and says "done" after it."""
    target.send("wait_in_c(%d)" % seconds)
    harness.wait_until(lambda: is_in(target, CLOCK_NANOSLEEP), what="the call")


def start_asking(place, target, seconds):
    """A tracer that asks while @target is in C for @seconds, and has done so."""
    wait_in_c(target, seconds)
    return ask(place, target)


def ask(place, target):
    tracer = place.bench.tracer(
        "record", "-p", target.pid, "-o", place.bench.file, "--gpu", "inject", ready=False, env={"GCTRACE_SHIM": str(place.shim)}
    )
    harness.wait_until(lambda: is_in(tracer, RT_SIGTIMEDWAIT), what="the request")
    return tracer


@NEW
def test_too_busy(bench, new):
    """Its main thread runs no Python code for as long as gctrace waits: the request is withdrawn, and never served."""
    place = Place(bench, new)
    target = place.start()
    tracer = start_asking(place, target, 14)
    assert tracer.wait() == 3
    assert "has run no Python code in time" in tracer.err.text()
    assert target.out.next() == "done"
    place.ends(target, 0, 0)


@NEWEST
@pytest.mark.parametrize("ignored", [False, True], ids=["", "ignored"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(bench, new, number, ignored):
    """Also if whoever started gctrace ignores the signal, as a shell does for what it starts in the background."""
    place = Place(bench, new)
    target = place.start()
    wait_in_c(target, 4)
    before = signal.signal(number, signal.SIG_IGN if ignored else signal.SIG_DFL)
    try:
        tracer = ask(place, target)
    finally:
        signal.signal(number, before)
    tracer.popen.send_signal(number)
    assert tracer.wait() == -number, tracer.err.text()
    assert target.out.next() == "done"
    place.ends(target, 0, 0)


@NEWEST
def test_killed(bench, new):
    """What it has asked is done later, and changes nothing but that; another gctrace takes the request for its own."""
    place = Place(bench, new)
    target = place.start()
    start_asking(place, target, 6).kill()
    tracer = place.inject(target)
    assert target.out.next() == "done"
    place.ends(target, 1, 1)
    tracer.finish()


@NEWEST
def test_killed_and_left(bench, new):
    place = Place(bench, new)
    target = place.start()
    start_asking(place, target, 3).kill()
    assert target.out.next() == "done"
    place.ends(target, 1, 1)


@NEWEST
@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGKILL])
def test_it_ends_meanwhile(bench, new, number):
    place = Place(bench, new)
    target = place.start()
    tracer = start_asking(place, target, 30)
    target.popen.send_signal(number)
    assert tracer.wait() == 3
    assert tracer.err.find(lambda line: "has ended" in line)
    assert target.wait() == -number
    assert target.err.text() == ""


@NEWEST
def test_another_debugger(bench, new):
    """Its script is left as it is, and run."""
    place = Place(bench, new)
    target = place.start()
    (place.folder / "other.py").write_text("print('other')\n")
    wait_in_c(target, 4)
    line = [new.exe, "-c", "import sys; sys.remote_exec(%d, %r)" % (target.pid, str(place.folder / "other.py"))]
    enter = ["nsenter", "-t", str(target.pid), "-m", "-r"]
    subprocess.run(enter + line, check=True, env=dict(os.environ, **new.environment))
    done = gctrace("record", "-p", target.pid, "--gpu", "inject", "-o", bench.file, env=place.environment())
    assert done.returncode == 3
    assert b"the script of another debugger" in done.stderr
    assert [target.out.next(), target.out.next()] == ["other", "done"]
    place.ends(target, 1, 0)


@NEW
@pytest.mark.parametrize("way", ["variable", "option"])
def test_turned_off(bench, new, way):
    place = Place(bench, new)
    if way == "variable":
        target = place.start(PYTHON_DISABLE_REMOTE_DEBUG="1")
    else:
        target = place.start("-Xdisable-remote-debug")
    said = place.refused(target, "remote debugging is turned off", "CUDA_INJECTION64_PATH=%s" % place.shim)
    assert not place.helper.exists(), said


@NEWEST
def test_no_driver(bench, new):
    place = Place(bench, new)
    place.refused(place.start(SUBJECT_CTYPES=None), "has not loaded CUDA's driver")


@NEWEST
def test_seccomp(bench, new):
    """A filter that forbids nothing here might forbid something there."""
    place = Place(bench, new)
    target = place.start()
    target.send(
        "import ctypes, struct; libc = ctypes.CDLL(None); code = struct.pack('HBBI', 6, 0, 0, 0x7fff0000); "
        "program = struct.pack('HxxxxxxP', 1, ctypes.cast(code, ctypes.c_void_p).value); libc.prctl(22, 2, program, 0, 0)"
    )
    assert target.out.next() == "done"
    place.refused(target, "has a seccomp filter", "CUDA_INJECTION64_PATH=")


@NEWEST
def test_unreadable(bench, new):
    place = Place(bench, new)
    target = place.start()
    become_nobody(target)
    os.chmod(place.shim, 0o600)
    place.refused(target, "of user " + NOBODY, "cannot read %s: Permission denied" % place.shim)


@NEWEST
@pytest.mark.parametrize("what", ["file", "folder"])
def test_others_can_write(bench, new, what):
    """Nobody else's code gets into a program by us."""
    place = Place(bench, new)
    target = place.start()
    os.chmod(place.shim if what == "file" else place.folder, 0o777)
    place.refused(target, "can write to %s" % place.shim)


@NEWEST
@pytest.mark.parametrize("what", ["nothing", "another"])
def test_other_files(bench, new, what):
    """In a container: the shim is not there, or not this one."""
    place = Place(bench, new)
    if not new.in_root:
        pytest.skip("it shares our files")
    target = place.start()
    away = bench.public_folder()
    shutil.copy(mock.SHIM, away)
    bench.placed.add(new.root + str(away))
    if what == "another":
        os.makedirs(new.root + str(away))
        (harness.Path(new.root + str(away)) / mock.SHIM.name).write_bytes(b"\x7fELF")
    words = {"nothing": "does not share gctrace's files", "another": "finds another file at"}
    place.refused(target, words[what], shim=away / mock.SHIM.name)


@NEWEST
def test_noexec(bench, new):
    """The same files are there, but the loader could not map them: the script would fail in silence."""
    place = Place(bench, new)
    away = bench.public_folder()
    shutil.copy(mock.SHIM, away)
    root = new.root if new.in_root else ""
    if root:
        os.makedirs(root + str(away))
        bench.placed.add(root + str(away))
    bench.need_unshare()
    target = place.start(prefix=["unshare", "-m", "sh", "-c", NOEXEC, "sh", away, root])
    shim = away / mock.SHIM.name
    said = place.refused(target, shim=shim)
    assert said == "gctrace: error: %s is where process %d may run nothing: it is mounted noexec\n" % (shim, target.pid)
    # the same folder, where programs may run what is in it
    target = place.start(prefix=["unshare", "-m", "sh", "-c", NOEXEC.replace("noexec", "exec"), "sh", away, root])
    tracer = place.inject(target, env=place.environment(shim))
    place.ends(target, 1, 1)
    tracer.finish()


@conftest.each("julia", JULIAS, "Julia")
def test_julia(bench, julia):
    """There is no way to ask it. Nothing is loaded, and it computes and collects as before."""
    folder = bench.public_folder()
    driver = building.library(folder / "libcuda.so.1", "-nostdlib", "-x", "c", "/dev/null")
    if not julia.embedded:
        os.makedirs(julia.root + str(folder))
        bench.placed.add(julia.root + str(folder))
        shutil.copy(driver, julia.root + str(folder))
    oracle = julia.books(bench, env=dict(os.environ, LD_PRELOAD=str(driver)))
    states = [oracle.ask(command) for command in ("state", "collect 1 11")]
    maps = harness.Path("/proc/%d/maps" % oracle.pid)
    done = gctrace("record", "-p", oracle.pid, "--gpu", "inject", "-o", bench.file, env=dict(os.environ, GCTRACE_SHIM=str(mock.SHIM)))
    assert done.returncode == 3
    assert done.stderr.decode() == (
        "gctrace: error: gctrace cannot ask process %d (julia) to load a library; start it by gctrace run, or with CUDA_INJECTION64_PATH=%s\n"
        % (oracle.pid, mock.SHIM))
    assert "libcuda.so.1" in maps.read_text() and mock.SHIM.name not in maps.read_text()
    assert not harness.Path(bench.file).exists()
    states.append(oracle.ask("collect 1 11"))
    before, after = (julia_harness.difference(*pair)["pauses"] for pair in ((states[1], states[0]), (states[2], states[1])))
    assert after == before >= 11


@conftest.each("old", conftest.spread([r for r in conftest.PLAIN if r.minor < (3, 14)]), "CPython before 3.14")
def test_before_3_14(bench, old):
    place = Place(bench, old)
    place.refused(place.start(), "before 3.14, which cannot be asked", "CUDA_INJECTION64_PATH=")


@jvm_check.each("jdk", [r for r in jvm_check.PLAIN if not r.in_root and r.feature >= 9])
def test_jvm(bench, jdk):
    """It is left to the JDK's own tool, which has it load the shim; nothing is printed, and its work goes on."""
    place = Place(bench, jdk)
    prefix = ["env", "LD_LIBRARY_PATH=%s" % place.folder, "LD_PRELOAD=%s" % (place.folder / "libcuda.so.1")]
    flags = ["-XX:+EnableDynamicAgentLoading"] if jdk.feature >= 21 else []
    jvm = jvm_check.start(bench, jdk, "Train", prefix=prefix, flags=flags, args=["--steps", 31, "--gc-every", 3])
    done = gctrace("record", "-p", jvm.pid, "--gpu", "inject", "-o", bench.file, env=place.environment())
    assert done.returncode == 3
    assert b"by jcmd PID JVMTI.agent_load" in done.stderr, done.stderr
    assert "return code: 0" in jvm.jcmd("JVMTI.agent_load", place.shim)
    tracer = bench.record(jvm, "--gpu", "measure")
    jvm.go()
    assert jvm.quit() == 0
    tracer.finish()
    assert (jvm.out.text(), jvm.err.text()) == ("ready\ndone", "")


def test_run():
    done = gctrace("run", "--gpu", "inject", "--", "true")
    assert done.returncode == 2
    assert b"already running" in done.stderr
