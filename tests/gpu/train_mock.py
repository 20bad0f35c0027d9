"""Training on the mock of CUDA (tests/cupti), to try scripts/gpu-check with where no GPU is; options in loop.py.

Its profiler is the mock's book, written as PyTorch's would be."""

import contextlib
import ctypes
import json
import os
import struct
import threading
import time

import loop

KERNELS, KERNEL_NS, SMALL_NS = 4, 1000000, 5000
ENTRY = struct.Struct("=6I4Q")  # struct mock_entry
cuda = ctypes.CDLL("libcuda.so.1")
u64, pointer = ctypes.c_uint64, ctypes.c_void_p


class Mock:
    name = "a mock of CUDA"
    library = "libcuda.so"

    def __init__(self, _):
        cuda.cuInit(0)
        threading.Thread(target=self.show, daemon=True).start()

    def launch(self, ns):
        cuda.cuLaunchKernel(pointer(ns), 1, 1, 1, 1, 1, 1, 0, None, None, None)

    def step(self):
        for _ in range(KERNELS):
            self.launch(KERNEL_NS)

    def small(self):
        self.launch(SMALL_NS)

    def event(self):
        made = u64()
        cuda.cuEventRecord(ctypes.byref(made), None)
        return made

    def wait(self, event):
        cuda.cuEventSynchronize(ctypes.byref(event))

    def show(self):
        """Keeps the book where the mock of nvidia-smi finds it."""
        path = os.environ["GPU_CHECK_BOOK"]
        while True:
            self.write_book(path)
            time.sleep(0.1)

    def write_book(self, path):
        cuda.mock_write_book((path + ".new").encode())
        os.rename(path + ".new", path)

    @contextlib.contextmanager
    def profile(self, path):
        begin = time.monotonic_ns()
        yield
        book = path + ".book"
        self.write_book(book)
        with open(book, "rb") as file:
            entries = [row for row in ENTRY.iter_unpack(file.read()) if row[8] >= begin]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace_of(entries), file)


def trace_of(entries):
    """As Kineto writes it: microseconds, from a time that is said."""
    base, pid, events = time.time_ns() - time.monotonic_ns(), os.getpid(), []

    def add(category, name, start, end, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": args.pop("tid", 7), "ts": start / 1000,
                       "dur": (end - start) / 1000, "args": args})

    for kind, device, stream, correlation, tid, _, start, end, call, returned in entries:
        name = "cudaEventSynchronize" if kind == 6 else "cudaLaunchKernel"
        add("cuda_runtime", name, call, returned, tid=tid, correlation=correlation)
        if kind != 6:
            add("kernel", "mock", start, end, device=device, stream=stream, correlation=correlation)
    return {"schemaVersion": 1, "baseTimeNanoseconds": base, "traceEvents": events}


loop.main(Mock)
