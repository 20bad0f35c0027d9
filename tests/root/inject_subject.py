"""A program that has loaded CUDA's driver, or what libcuda.so.1 is here: says "ready", obeys the lines of its stdin while it
computes, and says at the end how many scripts of debuggers were run in it and whether the shim's thread is there."""

import os
import select
import sys

scripts = []
sys.addaudithook(lambda event, args: scripts.append(args[0]) if event == "cpython.remote_debugger_script" else None)


def wait_in_c(seconds):
    """Holds the GIL, as a long call of a library does."""
    import ctypes

    ctypes.PyDLL(None).sleep(seconds)


if "SUBJECT_CTYPES" in os.environ:
    import ctypes

    ctypes.CDLL("libcuda.so.1")
print("ready", flush=True)
total, running = 0, True
while running:
    total += sum(range(100))
    while select.select([sys.stdin], [], [], 0.001)[0]:
        line = sys.stdin.readline()
        running = running and line.strip() not in ("", "end")
        if not running:
            break
        exec(line)
        print("done", flush=True)
comms = [open("/proc/self/task/%s/comm" % task).read().strip() for task in os.listdir("/proc/self/task")]
print(len(scripts), int("gctrace-gpu" in comms), flush=True)
