#!/usr/bin/env python3
"""What the CUPTI shim costs a program on the mock of CUDA (tests/cupti): CPU time of its threads and of CUPTI's.

usage: shim.py BUILD

Dormant; attached while no device works; and for each of 1,000,000 kernels, with its launch, on one stream, and on 64 streams on each
of 8 devices, where each kernel is looked at by itself. Then the wall
time of a loop that launches a kernel of 5 us every 5 us, by turns dormant and attached; and what a range of NVTX takes (NVIDIA's
libnvtx3interop, which scripts/cuda fetches) without the shim and beside it."""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "gctrace"

CODE = """
def cpu():
    found = {}
    for task in os.listdir("/proc/self/task"):
        name = open(f"/proc/self/task/{task}/comm").read().strip()
        found[name, int(task)] = int(open(f"/proc/self/task/{task}/schedstat").read().split()[0])
    return found

def spent(work):
    before = cpu()
    work()
    after = cpu()
    own = [after[k] - before.get(k, 0) for k in sorted(after) if k[0] == "gctrace-gpu"]
    return own + [0] * (3 - len(own))  # looking for a tracer, recording, the mock's CUPTI

collected().InitializeInjection()
print("dormant: %.2f ms a second" % (spent(lambda: time.sleep(20))[0] / 20e6))
streams = [stream(device) for device in range(8) for _ in range(64)]
handles = (pointer * len(streams))(*(s.value for s in streams))
attach()
looking, recording, _ = spent(lambda: time.sleep(20))
print("attached: %.2f ms a second" % ((looking + recording) / 20e6))
def burst(width, ns):
    cuda.mock_burst(1000000, ns, 1000, handles, width)
    time.sleep(0.5)
for of, width, ns in ("one stream", 1, 800), ("64 streams on each of 8 devices", len(streams), 5000):
    _, recording, reading = spent(lambda: burst(width, ns))
    print("a kernel of %s: %.0f ns in CUPTI's thread, %.0f ns in the shim's" % (of, reading / 1e6, recording / 1e6))
def loop():
    begin = time.monotonic_ns()
    cuda.mock_burst(200000, 5000, 5000, handles, 1)
    return time.monotonic_ns() - begin
more = []
for _ in range(11):
    detach()
    dormant = loop()
    attach()
    more.append(100 * (loop() - dormant) / dormant)
more.sort()
print("a launch every 5 us: %+.3f %% (%+.3f ... %+.3f) while attached" % (more[5], more[2], more[8]))
"""

NVTX = """
import ctypes, os, sys, time
nvtx = ctypes.CDLL(sys.argv[1])
push, pop, text = nvtx.nvtxRangePushA, nvtx.nvtxRangePop, b"forward"
def once():
    begin = time.perf_counter_ns()
    for _ in range(100000):
        push(text)
        pop()
    return (time.perf_counter_ns() - begin) / 100000
print(sorted(once() for _ in range(11))[5])
"""


def main(build):
    os.environ["GCTRACE"] = str(pathlib.Path(build).resolve() / "gctrace")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cupti"))
    import mock
    with tempfile.TemporaryDirectory() as folder:
        out, _, _ = mock.run(pathlib.Path(folder), "13", CODE, timeout=300, MOCK_DEVICES=8)
    print(out, end="")
    library = CACHE / "nvtx/nvidia/nvtx/lib/libnvtx3interop.so.1"
    if library.exists():
        pairs = [(ranges(library), ranges(library, mock.SHIM)) for _ in range(7)]
        print("a range of NVTX, from Python: %.0f ns, %.0f ns beside the shim" % tuple(map(statistics.median, zip(*pairs))))


def ranges(library, shim=None):
    env = dict(os.environ, NVTX_INJECTION64_PATH=str(shim or ""))
    return float(subprocess.run([sys.executable, "-c", NVTX, library], env=env, capture_output=True, check=True).stdout)


if __name__ == "__main__":
    main(sys.argv[1])
