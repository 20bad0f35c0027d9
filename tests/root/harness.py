"""Starts runtimes, workloads and the tracer, and reads what they say; every wait has a time limit.

In: scripts/runtimes --list and the binary named by $GCTRACE. Out: Python objects for the tests.
"""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
ORACLE = HERE / "oracle.py"
WAIT_S = 20
# Numbers of epoll_wait(2) and epoll_pwait(2); arm64 has only the latter.
EPOLL_WAIT = {"x86_64": ("232", "281"), "aarch64": ("22",)}[os.uname().machine]
# On an emulated machine every wait may take this many times longer before it times out.
SLOWNESS = float(os.environ.get("GCTRACE_TEST_SLOWNESS") or 1)

# In a chroot of its own mount namespace, with what multiprocessing and /proc readers need.
ENTER = (
    'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && '
    'if [ "$1" != - ]; then mkdir -p "$0/usr/lib/debug" && '
    'mount --bind "$1" "$0/usr/lib/debug"; fi && root=$0 && shift && exec chroot "$root" "$@"'
)


class Lines:
    """The lines of a pipe, read by a thread so that the writer never blocks."""

    def __init__(self, stream):
        self.lines = []
        self.closed = False
        self.changed = threading.Condition()
        self.taken = 0
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for raw in stream:
            with self.changed:
                self.lines.append(raw.decode("utf-8", "replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def text(self):
        with self.changed:
            return "\n".join(self.lines)

    def next(self, seconds=WAIT_S):
        """The next line, or None at the end of the pipe."""
        with self.changed:
            if not self.changed.wait_for(
                lambda: self.taken < len(self.lines) or self.closed, seconds * SLOWNESS
            ):
                raise TimeoutError("nothing was said for %s s" % seconds)
            if self.taken == len(self.lines):
                return None
            self.taken += 1
            return self.lines[self.taken - 1]

    def find(self, wanted, seconds=WAIT_S):
        """Waits for a line for which wanted(line) holds; None if the pipe ends without one."""
        seen = 0

        def look():
            nonlocal seen
            while seen < len(self.lines):
                seen += 1
                if wanted(self.lines[seen - 1]):
                    return True
            return self.closed

        with self.changed:
            if not self.changed.wait_for(look, seconds * SLOWNESS):
                said = "\n".join(self.lines)
                raise TimeoutError("no such line in %s s; there were:\n%s" % (seconds, said))
            return self.lines[seen - 1] if seen and wanted(self.lines[seen - 1]) else None


class Process:
    """A child with its pipes; killed at the end of the test if it still runs."""

    def __init__(self, argv, env=None, cwd=None, stdin=subprocess.PIPE, **options):
        full = dict(os.environ)
        full.update(env or {})
        self.argv = [str(a) for a in argv]
        self.popen = subprocess.Popen(
            self.argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=full,
            cwd=cwd,
            **options
        )
        self.pid = self.popen.pid
        self.out = Lines(self.popen.stdout)
        self.err = Lines(self.popen.stderr)

    def send(self, line):
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def wait(self, seconds=WAIT_S):
        try:
            return self.popen.wait(seconds * SLOWNESS)
        except subprocess.TimeoutExpired:
            raise TimeoutError(
                "%s still runs after %s s; stderr:\n%s" % (self.argv, seconds, self.err.text())
            ) from None

    def stop(self):
        """SIGSTOP, and until all of its threads stand still: the signal itself returns sooner."""
        self.popen.send_signal(signal.SIGSTOP)
        told = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert told.si_code == os.CLD_STOPPED, self.err.text()

    def resume(self):
        self.popen.send_signal(signal.SIGCONT)

    def attached(self, *words):
        """Of a tracer, or of what `gctrace run` started: waits for the line of -v with @words, said of probes, and
        until what it says is done."""
        found = self.err.find(lambda line: all(word in line for word in words))
        assert found is not None, self.err.text()
        self.caught_up()

    def caught_up(self):
        """Of a tracer: waits until it waits itself, having read all that there was."""
        call = Path("/proc/%d/syscall" % self.own_pid())
        wait_until(lambda: call.read_text().split()[0] in EPOLL_WAIT, what="the turn's end")

    def own_pid(self):
        """That of gctrace, which nsenter may have started as its child."""
        pids = [self.pid] + descendants(self.pid)
        return [p for p in pids if command_of(p) == "gctrace"][0]

    def kill(self):
        if self.popen.poll() is None:
            self.popen.kill()
            self.popen.wait()


class Runtime:
    """One row of scripts/runtimes --list."""

    def __init__(self, row):
        self.__dict__.update(row)
        self.version_tuple = tuple(int(n) for n in self.version.split("."))
        self.minor = self.version_tuple[:2]

    def __repr__(self):
        return self.name

    @property
    def in_root(self):
        return self.root != "/"

    @property
    def free_threaded(self):
        return self.base[-2:-1].isdigit() and self.base.endswith("t")

    @property
    def environment(self):
        return dict([self.env.split("=", 1)]) if self.env != "-" else {}

    def place(self, scratch):
        """Puts the oracle where this runtime can read it; returns its path as seen from there."""
        if not self.in_root:
            shutil.copy(ORACLE, scratch / "oracle.py")
            return str(scratch / "oracle.py")
        inside = "/tmp/" + "-".join(scratch.parts[-2:])
        outside = Path(self.root + inside)
        outside.mkdir(parents=True, exist_ok=True)
        shutil.copy(ORACLE, outside / "oracle.py")
        return inside + "/oracle.py"

    def start_line(self, script, isolate=False, debug=False):
        """The command that starts @script; with @isolate in a mount namespace of its own, which has
        /dev and /proc and, with @debug, the debug file where the distribution puts it."""
        command = [self.exe, script]
        if not self.in_root:
            return command
        if isolate or debug:
            folder = self.debug if debug else "-"
            return ["unshare", "-m", "sh", "-c", ENTER, self.root, folder] + command
        return ["chroot", self.root] + command


def load_runtimes(kind="cpython"):
    listed = subprocess.run(
        [SOURCE / "scripts/runtimes", "--list", kind], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    head, *rows = [line.split("\t") for line in listed.splitlines()]
    return [Runtime(dict(zip(head, row))) for row in rows]


def table_names(kind="cpython"):
    out = subprocess.run(
        [SOURCE / "scripts/runtimes", "--names", kind], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    return out.split()


class Oracle(Process):
    """The workload of oracle.py under some runtime, ready for commands."""

    def __init__(self, argv, env=None, **options):
        super().__init__(argv, env=env, **options)
        try:
            self.ready = self.answer()
        except BaseException:
            self.kill()
            raise

    def answer(self, seconds=60):
        line = self.out.next(seconds)
        if line is None:
            raise AssertionError(
                "%s ended with %s:\n%s" % (self.argv, self.popen.wait(5), self.err.text())
            )
        return json.loads(line)

    def ask(self, command, seconds=60):
        self.send(command)
        answer = self.answer(seconds)
        assert answer["event"] == command.split()[0]
        return answer

    def quit(self):
        self.send("quit")
        return self.wait()


def command_of(pid):
    """None: it has ended."""
    try:
        return Path("/proc/%d/comm" % pid).read_text().rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return None


def descendants(pid):
    """Of a process that may be about to end, or have: what it has by then."""
    found = []
    try:
        for task in Path("/proc/%d/task" % pid).iterdir():
            for child in (task / "children").read_text().split():
                found += [int(child)] + descendants(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


class Tracer(Process):
    """gctrace tracing; constructed once it says that its probes are in place."""

    def __init__(self, args, tier=None, ready=True, **options):
        env = {"GCTRACE_TIER": tier} if tier else {}
        env.update(options.pop("env", {}))
        super().__init__([os.environ["GCTRACE"]] + list(args), env=env, **options)
        if not ready:
            return
        try:
            self.wait_ready()
        except BaseException:
            self.kill()
            raise

    def wait_ready(self, seconds=WAIT_S):
        line = self.err.find(lambda l: l.startswith("gctrace: tracing"), seconds)
        if line is None:
            raise AssertionError(
                "the tracer ended with %s before it traced:\n%s"
                % (self.popen.wait(5), self.err.text())
            )

    def finish(self, seconds=WAIT_S):
        """For a tracer whose target has ended: it must end by itself, with success."""
        status = self.wait(seconds)
        assert status == 0, "tracer's exit status %s:\n%s" % (status, self.err.text())

    def interrupt(self):
        self.popen.send_signal(signal.SIGINT)
        return self.wait()


def gctrace(*args, **options):
    """Runs the binary to its end."""
    return subprocess.run(
        [os.environ["GCTRACE"]] + [str(a) for a in args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=options.pop("timeout", 60) * SLOWNESS,
        **options
    )


class Records:
    """The records of one report, by kind."""

    def __init__(self, text):
        self.all = [json.loads(line) for line in text.splitlines()]
        self.recording = self.of("recording")[0]
        self.processes = self.of("process")
        self.pauses = self.of("pause")
        self.drops = self.of("drop")
        self.summary = self.of("summary")[-1]

    def of(self, kind):
        return [r for r in self.all if r["type"] == kind]

    def process(self, pid):
        found = [p for p in self.processes if p["pid"] == pid]
        assert found, "no process record of %d, only of %s" % (
            pid,
            [p["pid"] for p in self.processes],
        )
        return found[-1]

    def of_pid(self, pid, cause=None):
        return [
            p for p in self.pauses if p["pid"] == pid and (cause is None or p["cause"] == cause)
        ]


def report(path):
    done = gctrace("report", path, "-f", "json")
    assert done.returncode == 0, done.stderr.decode()
    return Records(done.stdout.decode())


def per_generation(pauses, key=None):
    sums = [0, 0, 0]
    for pause in pauses:
        sums[pause["generation"]] += pause[key] if key else 1
    return sums


def file_infos(pid, *keys):
    """(key, value) of what /proc says with these keys of the files that a process has open, less those it closes meanwhile."""
    for info in Path("/proc/%d/fdinfo" % pid).iterdir():
        try:
            lines = info.read_text().splitlines()
        except FileNotFoundError:
            continue
        for line in lines:
            key, _, value = line.partition(":")
            if key in keys:
                yield key, value.strip()


def held_in_kernel(pid):
    """The BPF programs and links that a process holds, as (kind, id)."""
    return {(key[:4], int(value)) for key, value in file_infos(pid, "prog_id", "link_id")}


def in_kernel():
    """The BPF programs and links of the whole machine; an id is never reused."""
    found = set()
    for kind in ("prog", "link"):
        out = subprocess.run(["bpftool", "-j", kind, "list"], stdout=subprocess.PIPE, check=True)
        found |= {(kind, entry["id"]) for entry in json.loads(out.stdout or b"[]")}
    return found


def programs_of(pid):
    """The names of the BPF programs that @pid holds, as the kernel has them: 15 characters of each."""
    held = {int(value) for _, value in file_infos(pid, "prog_id")}
    out = subprocess.run(["bpftool", "-j", "prog", "list"], stdout=subprocess.PIPE, check=True)
    return {entry["name"][:15] for entry in json.loads(out.stdout) if entry["id"] in held}


def wait_until(condition, seconds=WAIT_S, what="that"):
    end = time.monotonic() + seconds * SLOWNESS
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("%s did not come true in %s s" % (what, seconds))
        time.sleep(0.02)
