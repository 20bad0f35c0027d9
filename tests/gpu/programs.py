"""A framework's training loop (loop.py) started without gctrace, beside a shim that sleeps, traced, and profiled."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CUPTI = HERE.parent / "cupti"
OURS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "GCTRACE_SHIM")


class Failed(Exception):
    """A program or gctrace did: what, and what it said."""


def run(argv, env, log):
    with open(log, "wb") as file:
        done = subprocess.run([str(a) for a in argv], env=env, stdout=subprocess.PIPE, stderr=file, timeout=1800, check=False)
    if done.returncode:
        tail = Path(log).read_text(errors="replace").strip().splitlines()[-3:]
        raise Failed("%s ended with status %d: %s" % (" ".join(map(str, argv[-6:])), done.returncode, " / ".join(tail)))
    return done.stdout.decode()


class Traced:
    """A recording and what gctrace says of it."""

    def __init__(self, gctrace, path, told, trace=None):
        self.gctrace, self.path, self.told = gctrace, Path(path), told
        self.more = ["--gpu", trace] if trace else []
        self.records = [json.loads(line) for line in self.report("json").splitlines()]
        self.summary = [r for r in self.records if r["type"] == "summary"][-1]

    def report(self, form, *options):
        argv = [self.gctrace, "report", self.path, "-f", form, *options, *self.more]
        return run(argv, None, self.path.with_suffix(".err"))

    def of(self, kind):
        return [r for r in self.records if r["type"] == kind]

    def gpu(self):
        """The object in the summary of the one that worked most, by its own records; None: there are none."""
        found = [g for g in self.summary.get("gpu", []) if g["seen_ns"] and g["source"] == "measured"]
        return max(found, key=lambda g: g["busy_ns"]) if found else None

    def track(self):
        tracks = self.summary["tracks"]
        return max(tracks, key=lambda t: t["steps"]) if tracks else None

    def write_pages(self):
        """The report as text and page, and the pictures, beside the recording."""
        for form, suffix, options in (("text", ".txt", []), ("html", ".html", []), ("flamegraph", ".gc.svg", []),
                                      ("flamegraph", ".idle.svg", ["--weight", "gpu-idle"])):
            if options and not self.gpu():
                continue
            self.path.with_suffix(suffix).write_text(self.report(form, *options), encoding="utf-8")


class Framework:
    def __init__(self, name, argv, gctrace, shim, out, env=None, step="auto", profiler=True):
        self.name, self.argv, self.gctrace, self.shim, self.out = name, argv, gctrace, shim, out
        self.env = {k: v for k, v in (env or os.environ).items() if k not in OURS}
        self.step, self.profiler, self.runs = step, profiler, 0

    def _file(self, what):
        self.runs += 1
        return self.out / ("%s-%02d-%s" % (self.name, self.runs, what))

    def _read(self, text):
        return json.loads(text.splitlines()[-1])

    def plain(self, *args):
        return self._read(run(self.argv + list(args), self.env, self._file("plain.err")))

    def dormant(self, *args):
        env = dict(self.env, CUDA_INJECTION64_PATH=str(self.shim))
        return self._read(run(self.argv + list(args), env, self._file("dormant.err")))

    def traced(self, *args, what="traced", gpu="measure", argv=None):
        path = self._file(what).with_suffix(".gct")
        command = [self.gctrace, "run", "-o", path, "--step", self.step]
        command += ["--gpu", "off"] if gpu == "off" else []
        text = run(command + ["--"] + (argv or self.argv) + list(args), dict(self.env, GCTRACE_SHIM=str(self.shim)),
                   path.with_suffix(".err"))
        return path, self._read(text) if not argv else None

    def recorded(self, *args, **options):
        path, told = self.traced(*args, **options)
        recorded = Traced(self.gctrace, path, told)
        if not recorded.gpu():
            said = path.with_suffix(".err").read_text(errors="replace").strip().splitlines()
            raise Failed("%s has no records of a GPU: %s" % (path.name, " / ".join(said)))
        return recorded

    def profiled(self, *args):
        """With the framework's own profiler instead of the shim: two users of CUPTI would disturb each other."""
        trace = self._file("profile").with_suffix(".json")
        path, told = self.traced(*args, "--profile", str(trace), what="profiled", gpu="off")
        return Traced(self.gctrace, path, told, trace), trace


def has(python, code):
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


def real(python, gctrace, shim, out):
    """Those that @python has for GPUs, and why not the others: ([Framework], [sentence])."""
    found, lacking = [], []
    for name, code, program, profiler in (
        ("torch", "import torch; assert torch.cuda.is_available()", "train_torch.py", True),
        ("jax", "import equinox, optax, jax; assert jax.devices('gpu')", "train_jax.py", False),
    ):
        if has(python, code):
            env = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
            found.append(Framework(name, [python, HERE / program], gctrace, shim, out, env, profiler=profiler))
        else:
            lacking.append("%s: not run, since `%s -c \"%s\"` fails" % (name, python, code))
    return found, lacking


def mocked(gctrace, shim, out):
    """The mock of CUDA in place of all frameworks."""
    sys.path.insert(0, str(CUPTI))
    os.environ.setdefault("GCTRACE", str(gctrace))
    import mock

    libraries = mock.folder(out / "mock", "13")
    (libraries / "libcuda.so.1").unlink()
    shutil.copy(mock.MOCKS / "libmock_cuda.so", libraries / "libcuda.so.1")  # known by its name
    env = dict(os.environ, LD_LIBRARY_PATH=str(libraries), GPU_CHECK_BOOK=str(out / "mock" / "book"))
    return Framework("mock", [sys.executable, HERE / "train_mock.py"], gctrace, shim, out, env, step="libcuda:cuEventRecord")
