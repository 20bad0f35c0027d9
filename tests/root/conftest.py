"""What every root test gets: runtimes, workloads and tracers that end with the test, and skips
that say why and become failures when $GCTRACE_TEST_REQUIRE names what is missing."""

import fcntl
import functools
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import types

import pytest

import harness

ALL = harness.load_runtimes()
ALL_BUILDS = harness.load_runtimes("build")
CHOSEN = os.environ.get("GCTRACE_TEST_RUNTIMES", "").split()
TIMEOUT_S = int(90 * harness.SLOWNESS)

# `scripts/test quick` selects runtimes, and leaves out what takes seconds.
# A job that a script has put into the background ignores it, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

full_only = pytest.mark.skipif(bool(CHOSEN), reason="for the full suite")


def chosen(runtime):
    return not CHOSEN or runtime.name in CHOSEN or runtime.base in CHOSEN


RUNTIMES = [r for r in ALL if chosen(r)]
PLAIN = [r for r in RUNTIMES if r.variant == "asis"]
# CPythons of other builds, for test_builds.py and test_free_threaded.py alone.
BUILDS = [r for r in ALL_BUILDS if chosen(r)]


def need(capability, present, reason):
    """Skips the test, or fails it where the machine was declared to have the capability."""
    if present:
        return
    required = os.environ.get("GCTRACE_TEST_REQUIRE", "").split()
    if capability in required:
        pytest.fail("%s is required here: %s" % (capability, reason), pytrace=False)
    pytest.skip(reason)


@functools.lru_cache(maxsize=None)
def bpf_works():
    done = subprocess.run(
        ["bpftool", "prog", "list"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return done.returncode == 0


def pytest_configure(config):
    config.addinivalue_line("markers", "realtime: its program goes before all others (SCHED_FIFO): it runs alone")
    if not os.access(os.environ.get("GCTRACE", ""), os.X_OK):
        raise pytest.UsageError("GCTRACE must name the gctrace binary to test")


def each(name, runtimes, lacking):
    """Parametrises over runtimes (or pairs that begin with one); skips with a reason if none."""
    values = list(runtimes)
    if not values:
        values = [pytest.param(None, marks=pytest.mark.skip(reason="no " + lacking), id="none")]
    return pytest.mark.parametrize(
        name, values, ids=lambda value: str(value[0] if isinstance(value, tuple) else value)
    )


def spread(runtimes):
    """The newest of the given runtimes and the system's: for what is the same in every version."""
    newest = sorted(runtimes, key=lambda r: (r.version_tuple, r.linkage == "shared"))
    few = [r for r in newest if r.base.startswith("system")][:1]
    few += [r for r in newest if r.linkage == "shared"][-1:]
    return few or newest[-1:]


def pytest_generate_tests(metafunc):
    for name, values in (
        ("runtime", PLAIN),
        ("any_runtime", RUNTIMES),
        ("some_runtime", spread(PLAIN)),
    ):
        if name in metafunc.fixturenames:
            mark = each(name, values, "CPython of those asked for is here")
            metafunc.parametrize(*mark.args, **mark.kwargs)


@pytest.fixture(autouse=True)
def privileges():
    need("root", os.geteuid() == 0, "needs root")
    need("bpf", bpf_works(), "bpf(2) is refused here")


@pytest.fixture(autouse=True)
def turn(request):
    """A program of real-time priority leaves others 5 % of a processor: whatever ran beside it would be late, tracers
    too. Such a test waits until no other runs, of any session on this machine, and others wait behind it."""
    places = [os.path.join(tempfile.gettempdir(), "gctrace-tests-" + name) for name in ("gate", "turn")]
    with open(places[0], "w") as gate, open(places[1], "w") as held:
        fcntl.flock(gate, fcntl.LOCK_EX)
        fcntl.flock(held, fcntl.LOCK_EX if request.node.get_closest_marker("realtime") else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@pytest.fixture(autouse=True)
def timeout(turn):
    def expire(signum, frame):
        raise TimeoutError("the test took more than %d s" % TIMEOUT_S)

    previous = signal.signal(signal.SIGALRM, expire)
    signal.alarm(TIMEOUT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


class Bench:
    """Makes processes and ends them, last first."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.file = scratch / "run.gct"
        self.processes = []
        self.placed = set()
        self.mounted = []

    def keep(self, process):
        self.processes.append(process)
        return process

    def script(self, runtime):
        script = runtime.place(self.scratch)
        if runtime.in_root:
            self.placed.add(runtime.root + os.path.dirname(script))
        return script

    def oracle(self, runtime, env=None, isolate=False, debug=False, prefix=()):
        line = runtime.start_line(self.script(runtime), isolate=isolate, debug=debug)
        full = dict(runtime.environment)
        full.update(env or {})
        return self.keep(harness.Oracle(list(prefix) + line, env=full))

    def process(self, argv, **options):
        return self.keep(harness.Process(argv, **options))

    def tracer(self, *args, **options):
        return self.keep(harness.Tracer([str(a) for a in args], **options))

    def record(self, target, *args, **options):
        """`record` on a process or a pid, into self.file."""
        pid = target if isinstance(target, int) else target.pid
        return self.tracer("record", "-p", pid, "-o", self.file, *args, **options)

    def report(self):
        return harness.report(self.file)

    def marker(self, runtime):
        """A file that the target can make: its path in there and out here."""
        inside = os.path.join(os.path.dirname(self.script(runtime)), "marker")
        outside = pathlib.Path(runtime.root + inside if runtime.in_root else inside)
        return types.SimpleNamespace(inside=inside, outside=outside)

    def public_folder(self):
        """A folder that any user may enter; pytest's own are private."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="gctrace-test-"))
        folder.chmod(0o755)
        self.placed.add(str(folder))
        return folder

    def small_disk(self, size):
        folder = self.scratch / "disk"
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", folder])
        need("mount", done.returncode == 0, "mount(2) is refused here")
        self.mounted.append(folder)
        return folder

    def need_unshare(self):
        done = subprocess.run(["unshare", "-pm", "--fork", "true"], stderr=subprocess.PIPE)
        need("unshare", done.returncode == 0, "namespaces are refused here")

    def close(self):
        for process in reversed(self.processes):
            process.kill()
        for folder in self.mounted:
            subprocess.run(["umount", "-l", folder], check=True)
        for folder in self.placed:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.close()
