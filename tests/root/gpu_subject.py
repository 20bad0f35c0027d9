"""A program with the shim of gpu_shim.c: hands over what it is told, a JSON line in, a JSON line out.

    ["load", PATH]         loads the shim
    ["attached"]           the probe's semaphore
    ["hand", RECORD…]      hands over records, each an object of gc_gpu_record's fields, all at once
    ["single", RECORD…]    likewise, one at a time
    ["raw", ADDRESS, N]    fires the probe with these arguments
    ["flood", …]           flood() of the shim
    ["fork", COMMAND…]     the same in a forked child, which then exits
    ["threads", N, RECORD] in N threads at once; the record's tid is that of the thread
    ["exec", PATH]         becomes this program anew
    ["collect", N]         gc.collect()
    ["quit"]
"""

import ctypes
import gc
import json
import os
import sys
import threading
import time

gc.disable()


class Record(ctypes.Structure):
    _fields_ = (
        [("kind", ctypes.c_uint16), ("flags", ctypes.c_uint16), ("device", ctypes.c_uint32)]
        + [(name, ctypes.c_uint64) for name in ("start_ns", "end_ns", "launch_ns", "previous_ns")]
        + [("tid", ctypes.c_uint32), ("count", ctypes.c_uint32)]
        + [("value", ctypes.c_uint64), ("starved_ns", ctypes.c_uint64)]
    )


SHIM = None


def load(path):
    global SHIM
    SHIM = ctypes.CDLL(path)
    SHIM.flood.restype = ctypes.c_uint64
    SHIM.flood.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64]
    SHIM.hand_over.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
    SHIM.hand_over.restype = None


def make(fields):
    fields = dict(fields)
    name = fields.pop("name", None)
    record = Record(**fields)
    if name is not None:
        ctypes.memmove(ctypes.addressof(record) + Record.start_ns.offset, name.encode(), len(name.encode()))
    return record


def hand(*fields):
    records = (Record * len(fields))(*[make(f) for f in fields])
    SHIM.hand_over(ctypes.addressof(records), len(fields))


def single(*fields):
    for f in fields:
        hand(f)


def fork(*command):
    pid = os.fork()
    if not pid:
        perform(command)
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def threads(count, record):
    gate = threading.Barrier(count)
    tids = []

    def run(i):
        tid = threading.get_native_id()
        tids.append(tid)
        gate.wait()
        step = 1000000 * i
        hand(dict(record, tid=tid, start_ns=record["start_ns"] + step, end_ns=record["end_ns"] + step))
        gate.wait()
        time.sleep(0.3)  # they live until their records are read

    workers = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(tids)


def perform(command):
    what, *rest = command
    if what == "load":
        return load(*rest)
    if what == "attached":
        return SHIM.attached()
    if what == "raw":
        return SHIM.hand_over(*rest)
    if what == "flood":
        return SHIM.flood(*rest)
    if what == "collect":
        return [gc.collect() for _ in range(rest[0])] and None
    return {"hand": hand, "single": single, "fork": fork, "threads": threads}[what](*rest)


def answer(value):
    print(json.dumps({"pid": os.getpid(), "tid": threading.get_native_id(), "value": value}), flush=True)


if len(sys.argv) > 1:
    load(sys.argv[1])
answer(None)
for line in sys.stdin:
    order = json.loads(line)
    if order[0] == "quit":
        break
    if order[0] == "exec":
        os.execv(sys.executable, [sys.executable, __file__] + order[1:])
    answer(perform(order))
