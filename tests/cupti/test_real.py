"""The shim beside NVIDIA's real libraries, libcupti of CUDA 12 and 13 and Debian's driver library, on a machine without a device:
it is loaded, as the real driver does it, and a program does what it does without."""

import os
import pathlib
import subprocess
import sys

import mock
import pytest

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gctrace"
CUPTI = {
    "12": CACHE / "cuda-12/nvidia/cuda_cupti/lib",
    "13": CACHE / "cuda-13/nvidia/cu13/lib",
}
DRIVER = CACHE / "cuda-driver"

PROGRAM = """
import ctypes, os, signal, sys, threading, time
def inject():
    if os.environ["HOW"] == "driver":
        assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 100  # CUDA_ERROR_NO_DEVICE
    elif os.environ["SHIM"]:
        assert ctypes.CDLL(os.environ["SHIM"]).InitializeInjection() == 1
inject()
print("begin", flush=True)
signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.05)
time.sleep(0.3)
threads = [threading.Thread(target=sum, args=(range(1000),)) for _ in range(7)]
[t.start() for t in threads]
[t.join() for t in threads]
sys.stdout.flush()
child = os.fork()
if not child:
    print("child", len(os.listdir("/proc/self/task")), flush=True)
    os.execv(sys.executable, [sys.executable, "-c", "print('program'); raise SystemExit(5)"])
print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(os.listdir("/proc/self/fd"))
exec(os.environ.get("THEN", ""))
print("end")
sys.exit(7)
"""


def run(cupti, how, shim, then=""):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "LD_"))}
    libraries = ([str(CUPTI[cupti])] if cupti else []) + [str(DRIVER)]
    env |= {"LD_LIBRARY_PATH": ":".join(libraries), "HOW": how, "SHIM": str(shim) if shim else "", "THEN": then}
    if shim and how == "driver":
        env["CUDA_INJECTION64_PATH"] = str(shim)
    return subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=60)


@pytest.fixture(params=("driver", "dlopen"))
def how(request):
    if request.param == "driver" and not (DRIVER / "libcuda.so.1").exists():
        pytest.skip("Debian's libcuda1 is not there: run scripts/cuda")
    return request.param


@pytest.fixture(params=("12", "13"))
def cupti(request):
    if not CUPTI[request.param].exists():
        pytest.skip(f"libcupti of CUDA {request.param} is not there: run scripts/cuda")
    return request.param


ENDINGS = {
    "exit": "",
    "_exit": "sys.stdout.flush(); os._exit(3)",
    "SIGTERM": "sys.stdout.flush(); os.kill(os.getpid(), signal.SIGTERM)",
    "SIGTERM handled": "signal.signal(signal.SIGTERM, lambda *_: sys.exit(4)); os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)",
    "abort": "sys.stdout.flush(); os.abort()",
    "exec": "sys.stdout.flush(); os.execv('/bin/echo', ['echo', 'other'])",
    "exception": "1 / 0",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_does_what_it_does_without(cupti, how, ending):
    without = run(cupti, how, None, ENDINGS[ending])
    with_it = run(cupti, how, mock.SHIM, ENDINGS[ending])
    assert (with_it.returncode, with_it.stdout, with_it.stderr) == (without.returncode, without.stdout, without.stderr)
    assert "program\nended 5" in without.stdout and "alarm" in without.stdout


DORMANT = """
print("threads", sorted(open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")))
print("mapped", [name for name in ("libgctrace_cupti.so", "libcupti.so") if name in open("/proc/self/maps").read()])
"""


def test_dormant_is_one_thread(cupti, how):
    out = run(cupti, how, mock.SHIM, DORMANT).stdout
    assert "threads ['gctrace-gpu', " in out and out.count("gctrace-gpu") == 1
    assert "mapped ['libgctrace_cupti.so']" in out, "CUPTI is opened though nobody traces"


ATTACHED = """
shim = ctypes.CDLL({shim!r})
shim.collect_attach({out!r})
time.sleep(4)
print("recording", shim.collect_recording(), flush=True)
"""


def attached(tmp_path, cupti, how, first=""):
    """What the shim says in four seconds, in a program with the real driver library."""
    if not (DRIVER / "libcuda.so.1").exists():
        pytest.skip("Debian's libcuda1 is not there: run scripts/cuda")
    then = f"ctypes.CDLL('libcuda.so.1')\n{first}\n"
    then += ATTACHED.format(shim=str(mock.COLLECTED), out=str(tmp_path / "out").encode())
    done = run(cupti, how, mock.COLLECTED, then)
    assert done.returncode == 7 and not done.stderr
    assert "recording 0" in done.stdout
    return [(r.kind, r.value) for r in mock.read_records(tmp_path / "out")]


def test_attached_without_a_device(tmp_path, cupti, how):
    """The real CUPTI is opened and asked, says that there is no driver, and all that comes of it is a record of that.

    Debian's driver is of CUDA 12: CUPTI of 13 is not opened for it, but used where the program has."""
    said = attached(tmp_path, cupti, how)
    assert said == [(mock.REFUSED, mock.NO_DRIVER if cupti == "12" else mock.NO_CUPTI)]


def test_attached_to_a_program_with_cupti(tmp_path, cupti, how):
    said = attached(tmp_path, cupti, how, f"ctypes.CDLL('libcupti.so.{cupti}')")
    assert said == [(mock.REFUSED, mock.NO_DRIVER)]


def test_no_cupti(tmp_path, how):
    assert attached(tmp_path, None, how) == [(mock.REFUSED, mock.NO_CUPTI)]


def test_no_driver(tmp_path):
    """A program without CUDA: nothing is opened and nothing said."""
    then = ATTACHED.format(shim=str(mock.COLLECTED), out=str(tmp_path / "out").encode())
    done = run("12", "dlopen", mock.COLLECTED, then)
    assert done.returncode == 7 and not mock.read_records(tmp_path / "out")
