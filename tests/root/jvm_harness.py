"""Starts JVMs of any row of scripts/runtimes, with or without a root of their own, and returns
what they said. In: the rows of kind hotspot, the programs in jvm/. Out: Python objects for the tests."""

import contextlib
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import harness
import jvmlog

PROGRAMS = harness.HERE / "jvm"
WAIT_S = 60

# Flags of each collector and the versions that may have it; a build can still lack one.
EXPERIMENTAL = "-XX:+UnlockExperimentalVMOptions"
COLLECTORS = {
    "serial": (8, 99, ["-XX:+UseSerialGC"]),
    "parallel": (8, 99, ["-XX:+UseParallelGC"]),
    "g1": (8, 99, ["-XX:+UseG1GC"]),
    "zgc": (11, 99, [EXPERIMENTAL, "-XX:+UseZGC"]),  # generational from 23 on
    "zgc-generational": (21, 22, ["-XX:+UseZGC", "-XX:+ZGenerational"]),
    "shenandoah": (11, 99, [EXPERIMENTAL, "-XX:+UseShenandoahGC"]),
    "shenandoah-generational": (
        24,
        99,
        [EXPERIMENTAL, "-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"],
    ),
}

# Kept from being compiled or inlined, so that the stack of Frames contains every kind of frame.
FRAMES_FLAGS = [
    "-Xbatch",
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=exclude,Frames.interpreted",
    "-XX:CompileCommand=dontinline,Frames.collect",
    "-XX:CompileCommand=dontinline,Frames.middle",
    "-XX:CompileCommand=inline,Frames.inlinedOuter",
    "-XX:CompileCommand=inline,Frames.inlinedInner",
]
FRAMES_MODES = {
    "interpreted": ["-Xint"],
    "c1": ["-XX:TieredStopAtLevel=1"],
    "c2": ["-XX:-TieredCompilation"],
    "tiered": [],
}


class JavaRuntime(harness.Runtime):
    """A row of kind hotspot."""

    @property
    def feature(self):
        return self.version_tuple[0]

    def argv(self, args):
        """The command that runs java with @args; its pid becomes java's own."""
        command = [self.exe] + [str(a) for a in args]
        if not self.in_root:
            return command
        # java finds its libraries through /proc/self/exe
        return ["unshare", "-m", "sh", "-c", harness.ENTER, self.root, "-"] + command

    def run(self, args, seconds=WAIT_S):
        env = dict(os.environ)
        env.update(self.environment)
        return subprocess.run(
            self.argv(args),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
            timeout=seconds * harness.SLOWNESS,
        )

    def collectors(self):
        """The names in COLLECTORS that this version may have; see has()."""
        return [n for n, (low, high, _) in COLLECTORS.items() if low <= self.feature <= high]

    def has(self, collector):
        return collector in self.collectors() and _starts(self, collector)

    @property
    def libjvm(self):
        """The file with the code, as seen from outside its root."""
        return self.elf if not self.in_root else self.root + self.elf


_tried = {}


def _starts(runtime, collector):
    key = (runtime.base, collector)
    if key not in _tried:
        _tried[key] = runtime.run(collector_flags(collector) + ["-version"]).returncode == 0
    return _tried[key]


def collector_flags(collector):
    return list(COLLECTORS[collector][2])


@functools.lru_cache(maxsize=None)
def load_runtimes():
    """All rows of kind hotspot."""
    listed = subprocess.run(
        [harness.SOURCE / "scripts/runtimes", "--list", "hotspot"],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    head, *rows = [line.split("\t") for line in listed.splitlines()]
    return [JavaRuntime(dict(zip(head, row))) for row in rows]


def table_names():
    out = subprocess.run(
        [harness.SOURCE / "scripts/runtimes", "--names", "hotspot"],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode()
    return out.split()


def compile_programs(folder, sources=None):
    """Compiles the programs for every version from 8 on, into @folder; the reason if it cannot."""
    javac = shutil.which("javac")
    if not javac:
        return "no javac here: run scripts/setup"
    files = sorted(str(f) for f in (sources or PROGRAMS.glob("*.java")))
    done = subprocess.run(
        [javac, "-source", "8", "-target", "8", "-Xlint:-options", "-d", str(folder)] + files,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=WAIT_S * harness.SLOWNESS,
    )
    if done.returncode:
        raise AssertionError("javac: %s" % done.stdout.decode())
    return None


def line_of(source, mark):
    """The line of a program that ends in "// mark: @mark"."""
    lines = (PROGRAMS / source).read_text().splitlines()
    found = [n for n, l in enumerate(lines, 1) if re.search(r"// mark: %s$" % re.escape(mark), l)]
    assert len(found) == 1, "%s has %d marks %s" % (source, len(found), mark)
    return found[0]


class Jvm(harness.Process):
    """A program of jvm/ under some runtime, which waits at "ready" for go().

    @scratch: a folder of the test; @classes: where compile_programs() put the programs. Files that
    the JVM writes lie in .outside, which it sees as .inside.
    """

    def __init__(
        self,
        runtime,
        program,
        scratch,
        classes,
        collector=None,
        flags=(),
        args=(),
        log=True,
        prefix=(),
        ready=True,
        heap="256m",
    ):
        self.runtime = runtime
        self.inside, self.outside = _folder(runtime, scratch)
        shutil.copytree(classes, self.outside / "classes")
        for folder in (self.outside, self.outside / "classes"):
            folder.chmod(0o777)  # the JVM may be another user's
        java = ["-Xmx" + heap, "-Xms" + heap] if heap else []
        java += collector_flags(collector) if collector else []
        self.logged = log
        if log:
            java += jvmlog.flags(runtime.feature, self.inside + "/gc.log")
        java += list(flags) + ["-cp", self.inside + "/classes", program]
        java += ["--truth", self.inside + "/truth"] + [str(a) for a in args]
        super().__init__(list(prefix) + runtime.argv(java), env=runtime.environment)
        if not ready:
            return
        try:
            self.wait_ready()
        except BaseException:
            self.close()
            raise

    def wait_ready(self, seconds=WAIT_S):
        self._next("ready", seconds)

    def _next(self, word, seconds):
        while True:
            line = self.out.next(seconds)
            if line is None:
                raise AssertionError(
                    "%s ended with %s before it said %s:\n%s\n%s"
                    % (self.argv, self.popen.wait(5), word, self.out.text(), self.err.text())
                )
            if line == word:
                return

    def start(self):
        """Begins a round; done() waits for its end."""
        self.send("go")

    def done(self, seconds=WAIT_S):
        self._next("done", seconds)

    def go(self, seconds=WAIT_S):
        self.start()
        self.done(seconds)

    def quit(self, seconds=WAIT_S):
        """Ends the JVM, which writes the end of its log."""
        self.popen.stdin.close()
        return self.wait(seconds)

    def close(self):
        """Ends the JVM if it still runs, and its files with it."""
        self.kill()
        shutil.rmtree(self.outside, ignore_errors=True)

    def truth(self, event=None):
        lines = (self.outside / "truth").read_text().splitlines()
        return [t for t in map(json.loads, lines) if event in (None, t["event"])]

    def log(self):
        """The JVM's own log so far."""
        assert self.logged
        return jvmlog.read(self.outside / "gc.log", self.runtime.feature)

    def jcmd(self, *command, **options):
        """Runs a jcmd of the same JDK on this JVM; its output."""
        tool = ["-Xmx64m", "-Xshare:auto", "-m", "jdk.jcmd/sun.tools.jcmd.JCmd"]
        assert self.runtime.feature >= 9, "a JRE of 8 has no jcmd"
        done = self.runtime.run(tool + [self.pid] + list(command), **options)
        said = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, "jcmd %s: %s%s" % (command, said, done.stderr.decode())
        return said

    def threads(self):
        return threads_of(self.pid)

    def tid_of(self, name):
        return tid_of(self.pid, name)


def threads_of(pid):
    """tid and name, as the kernel has it (15 characters), of each thread."""
    found = {}
    for task in Path("/proc/%d/task" % pid).iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            found[int(task.name)] = (task / "comm").read_text().rstrip("\n")
    return found


def tid_of(pid, name):
    found = [tid for tid, comm in threads_of(pid).items() if comm == name[:15]]
    assert len(found) == 1, "%d threads are named %s" % (len(found), name)
    return found[0]


def prefer(pid, first, last):
    """From now on no thread waits for a processor but for these: @last for all, all for @first. For
    threads that soon sleep or are done: no other process gets a processor that they want, but for the
    5 % that the kernel sets aside (sched_rt_runtime_us)."""
    priorities = {tid_of(pid, first): 3, tid_of(pid, last): 1}
    for tid in threads_of(pid):
        with contextlib.suppress(ProcessLookupError):  # HotSpot ends compilers that have no work
            os.sched_setscheduler(tid, os.SCHED_FIFO, os.sched_param(priorities.get(tid, 2)))


def hold_loop(jvm, pid):
    """Loop --hold 1 before its next go(), in which its thread alone will keep the VM Thread waiting,
    whatever else the machine does; that thread's tid. @pid: the JVM's out here."""
    jvm.go()
    harness.wait_until(lambda: "counted-loop" in threads_of(pid).values(), what="the thread")
    prefer(pid, "VM Thread", "counted-loop")
    return tid_of(pid, "counted-loop")


def _folder(runtime, scratch):
    """A new folder that the runtime can reach: its path inside and outside."""
    if not runtime.in_root:
        outside = Path(tempfile.mkdtemp(prefix="jvm-", dir=str(scratch)))
        return str(outside), outside
    outside = Path(tempfile.mkdtemp(prefix="gctrace-jvm-", dir=runtime.root + "/tmp"))
    return "/tmp/" + outside.name, outside
