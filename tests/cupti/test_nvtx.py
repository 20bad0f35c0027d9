"""The shim as the injection of NVIDIA's real NVTX, while nobody traces: a program does what it does without."""

import os
import pathlib
import subprocess
import sys

import mock
import pytest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gctrace"
NVTX = CACHE / "nvtx"
LIBRARY = NVTX / "nvidia" / "nvtx" / "lib" / "libnvtx3interop.so.1"
SUBJECT = mock.HERE.parent / "root" / "nvtx_subject.py"

# The subject's steps, in a forked child, too, and in threads; then what the process has become.
PROGRAM = """
import os, sys, threading, time
child = os.fork()
ended = child and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.argv = ["", sys.argv[1]]
exec(compile(open(%r).read(), "subject", "exec"))
if not child:
    os._exit(5)
threads = [threading.Thread(target=step, args=(n,)) for n in range(7)]
[t.start() for t in threads]
[t.join() for t in threads]
while len(os.listdir("/proc/self/task")) > 1:  # join() does not wait for the kernel
    time.sleep(0.001)
print("child", ended)
print("mapped", "libgctrace_cupti" in open("/proc/self/maps").read(), "libcupti.so" in open("/proc/self/maps").read())
""" % str(SUBJECT)


def run(which, shim):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "NVTX_", "LD_"))}
    env["PYTHONPATH"] = str(NVTX)
    if shim:
        env["NVTX_INJECTION64_PATH"] = str(shim)
    argv = [sys.executable, "-c", PROGRAM, which]
    return subprocess.run(argv, env=env, input="go\ngo\n", capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("which", ("package", "library"))
def test_dormant(which):
    if not LIBRARY.exists():
        pytest.skip("NVTX is not there: run scripts/cuda")
    which = which if which == "package" else str(LIBRARY)
    without, with_it = run(which, None), run(which, mock.SHIM)
    assert without.returncode == with_it.returncode == 0, with_it.stderr
    assert without.stderr == with_it.stderr == ""
    assert "child 5\n" in without.stdout and "mapped False False" in without.stdout
    assert with_it.stdout == without.stdout.replace("mapped False", "mapped True")
