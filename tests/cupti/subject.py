"""A program on the mock of CUDA (mock.h): runs argv[1] with the names below, writes the mock's book, and ends."""

import ctypes
import gc
import os
import struct
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
u64, pointer = ctypes.c_uint64, ctypes.c_void_p
BEGIN = 9  # of gpu_wire.h
cuda.mock_burst.argtypes = (u64, u64, u64, pointer, ctypes.c_uint32)
cuda.mock_free.argtypes = (u64, ctypes.c_size_t)
cuda.mock_runtime_launch.argtypes = (u64, pointer)
cuda.mock_replay.argtypes = (ctypes.c_char_p, u64, ctypes.c_char_p, u64)
cuda.mock_replay.restype = u64


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


class Cache:
    """A caching allocator: what is released is kept by its size, and freed when there is no room."""

    def __init__(self):
        self.kept, self.retries = {}, 0

    def _ask(self, size):
        made = u64()
        return None if cuda.cuMemAlloc_v2(ctypes.byref(made), ctypes.c_size_t(size)) else made

    def allocate(self, size):
        if self.kept.get(size):
            return size, self.kept[size].pop()
        made = self._ask(size)
        if made is None:
            self.retries += 1
            for kept, blocks in self.kept.items():
                while blocks:
                    cuda.mock_free(blocks.pop(), kept)
            made = self._ask(size)
            assert made is not None, "out of memory"
        return size, made

    def release(self, block):
        self.kept.setdefault(block[0], []).append(block[1])


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


def profile(other, kernels):
    """As another user of CUPTI: how many records it gets."""
    before = other.mock_other(1)
    for _ in range(kernels):
        launch(100000)
    sync()
    time.sleep(0.5)
    return other.mock_other(0) - before


def complete():
    """Waits until all that was done so far has been handed over, whenever the shim's thread gets to run."""
    sync()
    now, record = time.monotonic_ns(), struct.Struct("=H14xQ40x")  # kind, end
    while not any(kind == BEGIN and end > now for kind, end in record.iter_unpack(open(os.environ["SUBJECT_OUT"], "rb").read())):
        time.sleep(0.01)


def allocate(size, how="cuMemAlloc_v2"):
    """Returns the address, or None."""
    made = u64()
    more = (None,) if how.endswith("Async") else ()
    return made.value if getattr(cuda, how)(ctypes.byref(made), ctypes.c_size_t(size), *more) == 0 else None


def free(address, how="cuMemFree_v2"):
    return getattr(cuda, how)(u64(address), *((None,) if how.endswith("Async") else ()))


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


def replay(works, calls):
    """Plays entries of the book from these files; prints when it began."""
    read = [open(path, "rb").read() for path in (works, calls)]
    print(cuda.mock_replay(read[0], len(read[0]) // 56, read[1], len(read[1]) // 56), flush=True)


gc.disable()
cuda.cuInit(0)
exec(sys.argv[1])
write_book()
