"""A program on the mock of CUDA (mock.h): runs argv[1] with the names below, writes the mock's book, and ends."""

import ctypes
import gc
import os
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
u64, pointer = ctypes.c_uint64, ctypes.c_void_p
cuda.mock_burst.argtypes = (u64, u64, u64, pointer, ctypes.c_uint32)
cuda.mock_free.argtypes = (u64, ctypes.c_size_t)
cuda.mock_runtime_launch.argtypes = (u64, pointer)


class Node:
    """What a collection has to look at."""

    def __init__(self, other):
        self.other = other


def garbage(count):
    """Cycles, and how long the collector takes for them grows with @count."""
    nodes = [Node(None) for _ in range(count)]
    for left, right in zip(nodes, nodes[1:]):
        left.other, right.other = right, left
    return nodes


def stream(device=0):
    made = pointer()
    cuda.cuCtxSetCurrent(pointer(device + 1))
    cuda.cuStreamCreate(ctypes.byref(made), 0)
    return made


def launch(ns, on=None):
    cuda.cuLaunchKernel(pointer(ns), 1, 1, 1, 1, 1, 1, 0, on, None, None)


def sync(on=None):
    cuda.cuStreamSynchronize(on)


def event(on=None):
    made = u64()
    cuda.cuEventRecord(ctypes.byref(made), on)
    return made


def wait_for(made):
    cuda.cuEventSynchronize(ctypes.byref(made))


def collected():
    return ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])


def cupti():
    """The one that is mapped."""
    for line in open("/proc/self/maps"):
        if "mock_cupti" in line:
            return ctypes.CDLL(line.split()[-1])
    return None


def attach(wait=True):
    """As a tracer does; returns after how many seconds CUPTI records."""
    begin = time.monotonic()
    collected().collect_attach(os.environ["SUBJECT_OUT"].encode())
    while wait and not collected().collect_recording():
        assert time.monotonic() < begin + 20, "nothing is recorded"
        time.sleep(0.001)
    return time.monotonic() - begin


def detach():
    collected().collect_attach(None)
    while collected().collect_recording():
        time.sleep(0.001)


def write_book():
    assert cuda.mock_write_book(os.environ["SUBJECT_BOOK"].encode()) == 0


def train(steps, kernels, ns, depth, on=None, host_ns=0, nodes=0):
    """Steps of @kernels each; the host is at most @depth steps ahead of the device; a collection every 7th step."""
    ahead = []
    for step in range(steps):
        for _ in range(kernels):
            launch(ns, on)
            until = time.monotonic_ns() + host_ns
            while time.monotonic_ns() < until:
                pass
        ahead.append(event(on))
        if len(ahead) > depth:
            wait_for(ahead.pop(0))
        if nodes and step % 7 == 6:
            garbage(nodes)
            gc.collect()
    sync(on)


gc.disable()
cuda.cuInit(0)
exec(sys.argv[1])
write_book()
