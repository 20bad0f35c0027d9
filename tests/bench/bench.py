"""What the benches share: interpreters of their own, tracers started and stopped, tables.

In: the gctrace binary and what this machine has. Out: measured processes, attached tracers, text.
"""
import atexit
import functools
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WAIT_S = 20
CALLS, BATCHES, PAUSE_S = 2000, 5, 0.12  # a batch fits in a quarter of the default ring


class Skip(Exception):
    """This cannot be measured here; the text says why."""


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it said nothing"


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=60, errors="replace")


class Interpreter:
    """A CPython copied into a folder of its own, so that nobody else's probes are on its file."""

    def __init__(self, name, binary, home, library=None):
        self.name, self.home = name, home
        self.folder = tempfile.mkdtemp(prefix="gctrace-bench-")
        atexit.register(self.remove)
        self.binary = shutil.copy2(os.path.realpath(binary), self.folder)
        self.file = shutil.copy2(library, self.folder) if library else self.binary
        self.offset = self._collector()

    def _collector(self):
        """File offset of gc_collect_main, after an endbr64; from the file or its debug file."""
        build_id = re.search(r"Build ID: (\w\w)(\w+)", run("readelf", "-n", self.file).stdout)
        files = [self.file]
        if build_id:
            files.append("/usr/lib/debug/.build-id/%s/%s.debug" % build_id.groups())
        for file in files:
            found = re.search(r": (\w+) +\w+ +FUNC .* gc_collect_main(?!.*\.cold)",
                              run("readelf", "-sW", file).stdout)
            if found:
                return self._file_offset(int(found.group(1), 16))
        raise Skip("%s has no symbol gc_collect_main, nor a debug file" % self.file)

    def _file_offset(self, address):
        for line in run("readelf", "-lW", self.file).stdout.splitlines():
            words = line.split()
            if words[:1] != ["LOAD"]:
                continue
            offset, start, size = (int(words[i], 16) for i in (1, 2, 4))
            if start <= address < start + size:
                with open(self.file, "rb") as stream:
                    stream.seek(offset + address - start)
                    skip = 4 if stream.read(4) == b"\xf3\x0f\x1e\xfa" else 0
                return offset + address - start + skip
        raise Skip("gc_collect_main is in no segment of %s" % self.file)

    def environment(self):
        return dict(os.environ, PYTHONHOME=self.home, LD_LIBRARY_PATH=self.folder)

    def subject(self):
        return Subject([self.binary, str(HERE / "subject.py")], self.environment())

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def interpreters():
    """The system's CPython and pyenv's, newest last; those that are here."""
    found = []
    if os.path.exists("/usr/bin/python3.11"):
        found.append(("3.11 static, debug file", "/usr/bin/python3.11", "/usr", None))
    root = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv")) / "versions"
    for minor in "3.12", "3.13":
        for home in sorted(root.glob(minor + ".*"))[-1:]:
            found.append(("%s shared, symbol" % home.name, home / "bin" / ("python" + minor),
                          str(home), next(home.glob("lib/libpython%s.so.*" % minor), None)))
    result = []
    for row in found:
        try:
            result.append(Interpreter(*row))
        except Skip as reason:
            print("%s: skipped, %s" % (row[0], reason))
    return result


class Subject:
    """A measured process that takes subject.py's commands."""

    def __init__(self, argv, environment):
        self.popen = subprocess.Popen([str(word) for word in argv], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, env=environment)
        self.pid = self.popen.pid
        if self.read() != "ready":
            raise Skip("%s does not start" % argv[0])

    def send(self, *words):
        self.popen.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.popen.stdin.flush()

    def read(self):
        line = self.popen.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, *words):
        self.send(*words)
        return self.read()

    def cost(self, depth=0, calls=CALLS):
        """Thread CPU time of one gc.collect(0), ns: the median of the batches."""
        return statistics.median(self.ask("measure", depth, calls, BATCHES, PAUSE_S))

    def quick(self):
        return min(self.ask("measure", 0, 500, 3, 0))

    def end(self):
        self.popen.kill()
        self.popen.wait()
        self.popen.stdin.close()
        self.popen.stdout.close()


class Tracer:
    """A tracer beside the subject: started, known to be attached, stopped."""

    def __init__(self, argv, output=subprocess.DEVNULL, environment=None, cwd=None):
        self.said = tempfile.TemporaryFile()
        self.start_ns = time.monotonic_ns()
        self.popen = subprocess.Popen([str(word) for word in argv], stdin=subprocess.PIPE,
                                      stdout=output, stderr=self.said, cwd=cwd,
                                      env=dict(os.environ, **(environment or {})))
        self.pid = self.popen.pid

    def words(self):
        # Without seeking: the tracer's own position in the file would move with ours.
        return os.pread(self.said.fileno(), 1 << 20, 0).decode(errors="replace")

    def wait_says(self, text):
        end = time.monotonic() + WAIT_S
        while text not in self.words():
            self.check()
            if time.monotonic() > end:
                raise Skip("it did not say \"%s\" in %d s" % (text, WAIT_S))
            time.sleep(0.02)

    def check(self):
        if self.popen.poll() is not None:
            raise Skip("it ended with status %d: %s" % (self.popen.returncode,
                                                        last_line(self.words())))

    def wait_attached(self, subject, untraced_ns):
        """Waits until collections cost the subject more, and then a moment for a second probe."""
        end = time.monotonic() + WAIT_S
        while subject.quick() < untraced_ns * 2 + 100:
            self.check()
            if time.monotonic() > end:
                raise Skip("no probe of it was felt in %d s; it said: %s" % (
                    WAIT_S, last_line(self.words())))
            time.sleep(0.02)
        time.sleep(0.3)
        self.check()

    def cpu_ms(self):
        """CPU time of its threads so far."""
        total = 0
        for task in pathlib.Path("/proc/%d/task" % self.pid).glob("*/schedstat"):
            total += int(task.read_text().split()[0])
        return total / 1e6

    def resident_mb(self):
        """(resident now, its peak), MB."""
        status = pathlib.Path("/proc/%d/status" % self.pid).read_text()
        return tuple(int(re.search(field + r":\s+(\d+)", status).group(1)) * 1024 / 1e6
                     for field in ("VmRSS", "VmHWM"))

    def stop(self, patience=WAIT_S):
        """Returns what it used (user + system CPU seconds, peak resident MB)."""
        self.popen.stdin.close()
        if self.popen.poll() is not None:
            self.said.close()
            return 0.0, 0.0
        self.popen.send_signal(signal.SIGINT)
        end = time.monotonic() + patience
        while True:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                self.popen.kill()
                end = float("inf")
            time.sleep(0.01)
        self.popen.returncode = os.waitstatus_to_exitcode(status)
        self.said.close()
        return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def build_floor():
    """floor and floor.bpf.o, built into a folder of their own. Skip without clang or libbpf."""
    folder = tempfile.mkdtemp(prefix="gctrace-floor-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    machine = run("cc", "-print-multiarch").stdout.strip()
    for command in (
            ["clang", "-O2", "-g", "-target", "bpf", "-I/usr/include/" + machine, "-c",
             HERE / "floor.bpf.c", "-o", folder + "/floor.bpf.o"],
            ["cc", "-std=gnu17", "-O2", "-D_GNU_SOURCE", HERE / "floor.c", "-o", folder + "/floor",
             "-lbpf"]):
        done = run(*command)
        if done.returncode:
            raise Skip("floor cannot be built: " + last_line(done.stderr))
    return folder


def floor(folder, mode, interpreter, pid=0):
    return Tracer([folder + "/floor", folder + "/floor.bpf.o", mode, interpreter.file,
                   interpreter.offset, pid])


def bpftrace(interpreter, pid, at_end="@ns = hist(nsecs - @start[tid]); delete(@start[tid]);",
             output=subprocess.DEVNULL):
    """bpftrace with what its users write: begin in a map, the end's action given."""
    if not shutil.which("bpftrace"):
        raise Skip("bpftrace is not installed")
    # By address: the collector's symbol is in a debug file or has a clone suffix.
    site = "%s:0x%x" % (interpreter.file, address_of(interpreter))
    program = "uprobe:%s { @start[tid] = nsecs; } uretprobe:%s /@start[tid]/ { %s }" % (
        site, site, at_end)
    only = ["-p", pid] if pid else []
    return Tracer(["bpftrace", "--unsafe", *only, "-e", program], output)


def address_of(interpreter):
    """The virtual address of the collector, as bpftrace wants it."""
    for line in run("readelf", "-lW", interpreter.file).stdout.splitlines():
        words = line.split()
        if words[:1] != ["LOAD"]:
            continue
        offset, start, size = (int(words[i], 16) for i in (1, 2, 4))
        if offset <= interpreter.offset < offset + size:
            return interpreter.offset - offset + start
    raise Skip("no such segment")


@functools.cache
def kernel_headers():
    """The distribution's headers, for bcc's compiler, where the running kernel brings none."""
    if os.path.exists("/lib/modules/%s/build" % platform.release()):
        return None
    root = pathlib.Path("/usr/src")
    common = sorted(root.glob("linux-headers-*-common"))
    if not common:
        raise Skip("bcc finds no kernel headers for %s; Debian's serve: apt-get install "
                   "linux-headers-amd64" % platform.release())
    folder = tempfile.mkdtemp(prefix="gctrace-headers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    run("cp", "-rsT", common[-1], folder)
    run("cp", "-rsfT", str(common[-1]).replace("-common", "-amd64"), folder)
    return folder


def ugc(interpreter, pid, *options, output=subprocess.DEVNULL):
    """bcc's garbage collection tool, which needs a runtime with USDT probes."""
    if "gc__start" not in run("readelf", "-n", interpreter.file).stdout:
        raise Skip("this CPython was built without USDT probes, which it needs")
    for name in ("ugc-bpfcc", "/usr/sbin/ugc", "/usr/share/bcc/tools/ugc"):
        program = shutil.which(name)
        if program:
            headers = kernel_headers()
            return Tracer([program, "-l", "python", *options, pid], output,
                          {"BCC_KERNEL_SOURCE": headers} if headers else {})
    raise Skip("bcc's ugc is not installed (bpfcc-tools)")


def versions(gctrace):
    """The machine, in a few lines."""
    tools = [last_line(run(gctrace, "--version").stdout)]
    if shutil.which("bpftrace"):
        tools.append(last_line(run("bpftrace", "--version").stdout))
    package = run("dpkg-query", "-W", "-f", "bcc ${Version}", "bpfcc-tools")
    if not package.returncode:
        tools.append(package.stdout)
    with open("/proc/cpuinfo") as stream:
        cpu = re.search(r"model name\s*: (.*)", stream.read())
    return "%s, %d × %s; load before: %s\n%s" % (
        platform.platform(), os.cpu_count(), cpu.group(1) if cpu else platform.machine(),
        " ".join(open("/proc/loadavg").read().split()[:3]), "; ".join(tools))


def spread(values):
    """Median, and the quartiles."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, low, high


def table(head, rows):
    """A Markdown table; the columns after the first are numbers."""
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)
