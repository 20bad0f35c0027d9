"""Ranges of NVTX, by PyPI's nvtx or by NVTX as a library: nvtx_subject.py package | LIBRARY.

Says "ready", makes STEPS steps at a line from stdin, and says how many ranges and marks of which name it has begun.
"""

import collections
import ctypes
import gc
import json
import sys

STEPS = 397
book = collections.Counter()


class Attributes(ctypes.Structure):
    """nvtxEventAttributes_t, with a message that is a text (1), or registered (3)."""

    _fields_ = [(name, kind) for kind, names in (
        (ctypes.c_uint16, ["version", "size"]),
        (ctypes.c_uint32, ["category", "color_type", "color", "payload_type", "reserved"]),
        (ctypes.c_uint64, ["payload"]),
        (ctypes.c_uint64, ["message_type"]),
        (ctypes.c_void_p, ["message"]),
    ) for name in names]


def by_package():
    import nvtx

    library = nvtx.get_domain("library")
    saved = library.get_event_attributes(message="saved")

    @nvtx.annotate("forward", domain="model")
    def forward():
        pass

    def step(number):
        with nvtx.annotate("train_step"):
            for _ in range(3):
                nvtx.push_range("layer")
                nvtx.pop_range()
            forward()
            nvtx.end_range(nvtx.start_range("batch %d" % number))
            if number % 50 == 49:
                library.mark(saved)
                book["library:saved"] += 1
        book.update(["train_step", "model:forward", "batch"] + 3 * ["layer"])

    return step


def by_library(path):
    nvtx = ctypes.CDLL(path)
    for name in ("nvtxDomainCreateA", "nvtxDomainRegisterStringA"):
        getattr(nvtx, name).restype = ctypes.c_void_p
    model = ctypes.c_void_p(nvtx.nvtxDomainCreateA(b"model"))
    same = ctypes.c_void_p(nvtx.nvtxDomainRegisterStringA(model, b"forward"))
    forward = Attributes(3, ctypes.sizeof(Attributes), message_type=3, message=same.value)
    saved = ctypes.c_char_p(b"saved")
    mark = Attributes(3, ctypes.sizeof(Attributes), message_type=1, message=ctypes.cast(saved, ctypes.c_void_p).value)
    short = Attributes(1, 8)

    def step(number):
        levels = [nvtx.nvtxRangePushA(b"train_step")]
        for _ in range(3):
            levels.append(nvtx.nvtxRangePushA(b"layer"))
            nvtx.nvtxRangePop()
        levels.append(nvtx.nvtxDomainRangePushEx(model, ctypes.byref(forward)))
        nvtx.nvtxDomainRangePop(model)
        nvtx.nvtxRangeEnd(nvtx.nvtxRangeStartA(b"batch %d" % number))
        if number % 50 == 49:
            nvtx.nvtxMarkEx(ctypes.byref(mark))
            nvtx.nvtxMarkEx(ctypes.byref(short))
            nvtx.nvtxMarkA(None)
            nvtx.nvtxRangePushA(b"")
            nvtx.nvtxRangePushA(b"x" * 300)
            book.update(["saved", "", "x" * 120])
        nvtx.nvtxRangePop()
        assert set(levels) == {-2}, "NVTX_NO_PUSH_POP_TRACKING"
        book.update(["train_step", "model:forward", "batch"] + 3 * ["layer"])

    return step


gc.disable()
step = by_package() if sys.argv[1] == "package" else by_library(sys.argv[1])
step(0)
book.clear()
print("ready", flush=True)
sys.stdin.readline()
for number in range(STEPS):
    step(number)
    if number % 97 == 96:
        gc.collect()
print(json.dumps(book), flush=True)
