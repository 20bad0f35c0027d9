#!/usr/bin/env python3
"""What the CUPTI shim costs a program on the mock of CUDA (tests/cupti): CPU time of its threads and of CUPTI's.

usage: shim.py BUILD

Dormant; attached while no device works; and for each of 1,000,000 kernels on 64 streams of 8 devices, with its launch."""

import os
import pathlib
import sys
import tempfile

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
def burst():
    cuda.mock_burst(1000000, 5000, 1000, handles, len(streams))
    time.sleep(0.5)
_, recording, reading = spent(burst)
print("a kernel: %.0f ns in CUPTI's thread, %.0f ns in the shim's" % (reading / 1e6, recording / 1e6))
"""


def main(build):
    os.environ["GCTRACE"] = str(pathlib.Path(build).resolve() / "gctrace")
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cupti"))
    import mock
    with tempfile.TemporaryDirectory() as folder:
        out, _, _ = mock.run(pathlib.Path(folder), "13", CODE, timeout=300, MOCK_DEVICES=8)
    print(out, end="")


if __name__ == "__main__":
    main(sys.argv[1])
