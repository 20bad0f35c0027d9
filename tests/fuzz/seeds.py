"""Makes the fuzzers' first inputs: valid bytes to start from.

usage: seeds.py FOLDER SCHEMA.sql GOLDEN_FOLDER; writes FOLDER/{budget,elf,event,perfdata,step,store,vmstructs,…}/*.
"""

import glob
import gzip
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import zlib

PROBED = """
#include <sys/sdt.h>
int collect(int n) { DTRACE_PROBE1(python, gc__start, n); return n; }
int PyGC_Collect(void) { return collect(2); }
long look(void);
void gc_collect_main(int *busy, int reason, long *counted)
{
    int idle = 0;
    if (!__atomic_compare_exchange_n(busy, &idle, 1, 0, 5, 5))
        return;
    *counted += look();
    if (reason != 1)
        look();
    __atomic_store_n(busy, 0, 5);
}
"""


# stp, mov x29, adrp, add, bl, cbnz, ldr, add, str, casal, b.eq, stlr, tbz, ldp, ret
A64 = (0xA9BE7BFD, 0x910003FD, 0x90000000, 0x91004000, 0x94000002, 0x35000080, 0xF9404260, 0x91000400,
       0xF9004260, 0x88E0FC41, 0x54000040, 0x889FFE7F, 0x36000020, 0xA8C27BFD, 0xD65F03C0)


def elf(folder):
    """A shared object with symbols and, where <sys/sdt.h> is, USDT notes; the same stripped; with code of AArch64."""
    whole = os.path.join(folder, "whole.so")
    for attempt in (PROBED, PROBED.split("\n", 2)[2].replace("DTRACE_PROBE1(python, gc__start, n);", "")):
        done = subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", whole],
            input=attempt.encode(),
            stderr=subprocess.DEVNULL,
        )
        if done.returncode == 0:
            break
    shutil.copy(whole, os.path.join(folder, "stripped.so"))
    subprocess.run(["strip", "--strip-all", os.path.join(folder, "stripped.so")], check=True)
    with open(whole, "rb") as file:
        data = bytearray(file.read())
    struct.pack_into("<H", data, 18, 183)  # e_machine: AArch64
    start, = struct.unpack_from("<Q", data, 24)  # e_entry: 0 in a library, so from where code usually begins
    for at in range(start or 0x1000, 0x1400, 4):
        struct.pack_into("<I", data, at, A64[at // 4 % len(A64)])
    with open(os.path.join(folder, "aarch64.so"), "wb") as file:
        file.write(data)


def jit_object(folder):
    """tests/unit/jit_fixture.c as a JIT keeps it: loaded at an address; with debug information of each version."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "jit_fixture.c")
    for version in ("0", "-gdwarf-4", "-gdwarf-5"):
        path = os.path.join(folder, "object" + version)
        debug = ["-g", version] if version != "0" else []
        subprocess.run(["cc", "-c", "-O1", "-fno-pic", *debug, "-o", path, source], check=True)
        if version == "-gdwarf-4":
            packed_objects(folder, path)
        with open(path, "rb") as file:
            data = bytearray(file.read().replace(b"stepB_", b"step!_"))
        table, count = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
        address = 0x7F0000001000
        for at in range(table, table + 64 * count, 64):
            flags, _, _, size = struct.unpack_from("<4Q", data, at + 8)
            if flags & 2 and size:  # SHF_ALLOC
                struct.pack_into("<Q", data, at + 16, address)
                address += (size + 15) & ~15
        with open(path, "wb") as file:
            file.write(data)


def zstandard(data):
    """One block of a frame (RFC 8878) that is not compressed: what Python has had no module for."""
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data)) + struct.pack("<I", len(data) << 3 | 1)[:3] + data


def packed_objects(folder, path):
    """The object at @path, not loaded, as Julia 1.12 keeps it: a node, what it refers to, and the packed object."""
    with open(path, "rb") as file:
        data = bytearray(file.read().replace(b"stepB_", b"step!_"))
    table = struct.unpack_from("<Q", data, 40)[0]
    size = struct.unpack_from("<Q", data, table + 64 + 32)[0]  # of section 1, the code
    address = 0x7F0000001000
    for name, packed in (("zlib", zlib.compress(data)), ("zstd", zstandard(data)), ("stored", bytes(data))):
        unpacked = 0 if name == "stored" else len(data)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack("<5Q", address, 4096, size, -address & 2**64 - 1, 1))
            file.write(struct.pack("<4Q", 8192, len(packed), len(packed), unpacked) + packed)


def record(kind, body):
    data = struct.pack("<IIIIQ", kind, 24 + len(body), 11, 13, 5000) + body
    return struct.pack("<H", len(data)) + data


def text(characters):
    data = characters.encode("latin-1")
    return struct.pack("<IHH512s", len(data), 1, 1, data)


def jvm_events():
    """One record of each kind that a JVM causes, with a frame of each kind; and all of them together."""
    frames = struct.pack("<QQIiII", 4096, 4112, 0, 7, 1, 0) + struct.pack("<QQIiII", 8192, 8208, 59, 23, 2, 0)
    safepoint = record(
        11,
        struct.pack("<10Q", 23, 29, 7, 11, 13, 4096, 8192, 4128, 1 << 20, 1 << 10)
        + struct.pack("<10I", 17, 19, 31, 2, 3, 0, 2, 56, 192, 7)
        + struct.pack("<64s64s512s", b"Cleanup", b"statics", b"perf")
        + frames,
    )
    late = record(12, struct.pack("<QQQIIII", 23, 31, 5, 17, 0, 2, 0) + frames)
    stall = record(13, struct.pack("<11Q4I", 23, 8192, 1, 2, 3, 4, 1, 3, 3, 4, 5, 1, 4, 2, 0) + frames)
    phase = record(14, struct.pack("<II64s", 1, 15, b"Concurrent Mark"))
    return {"jvm": safepoint + late + stall + phase, "safepoint": safepoint, "late": late, "stall": stall, "phase": phase}


def julia(folder):
    """A stack whose return addresses are its own words, as a walk along frame pointers goes; and a pause behind it."""
    words = [0x7000 + 16 * i if i % 2 == 0 else 0x400000 + i for i in range(256)]
    stack = struct.pack("<4Q4QII", 0x401000, 0x6FF0, 0x6FF0, 1, 2, 3, 4, 5, 2048, 0) + struct.pack("<256Q", *words)
    pause = struct.pack("<9Q12Q4I", 23, 29, 31, 5, 0, 7, 27, 4096, 2048, *range(12), 0, 0, 11, 13)
    seeds = {"stack": record(33, stack), "late": record(34, stack), "all": record(33, stack) + record(32, pause)}
    for name, data in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def event(folder):
    """A line table, its code object, and a pause whose only frame is in it (bpf/gc_wire.h)."""
    lines = bytes([0x80 | 13 << 3 | 7, 2])
    table = record(3, struct.pack("<QII1024s", 7, 0, len(lines), lines))
    code = record(2, struct.pack("<QIIII", 7, 0, 40, len(lines), 0) + text("f") + text("t.py"))
    pause = record(
        1,
        struct.pack("<QQIiIIQQQQQQQQQQiiiIII", 23, 4096, 0, 2, 2, 0x2E0, 47, 0, 1, 2, 3, 29, 31, 37, 41, 5, 700, 10, 10, 0, 1, 0)
        + struct.pack("<QiI", 7, 4, 0),
    )
    fork = record(4, struct.pack("<IIQ", 17, 0, 0))
    label = record(10, struct.pack("<IIQ128s", 3, 14, 7, b"Optimizer.step"))
    mark = record(9, struct.pack("<IIQQQQII", 3, 1 | 2, 7, 460, 1 << 30, 61000000, 5, 0))
    gpu_record = struct.pack("<HHIQQQQIIQQ", 1, 0, 3, 4000, 4900, 3900, 3000, 13, 0, 101, 97)
    gpu_state = struct.pack("<HHIQQQQIIQQ", 9, 0, 3, 3500, 4950, 0, 0, 0, 0, 0, 0)
    gpu = record(4096, struct.pack("<IIQQQ", 2, 0, 7, 3000, 3100) + gpu_record + gpu_state)
    seeds = {"gpu": gpu, "all": table + code + pause + fork + label + mark, "pause": pause, "fork": fork, "mark": label + mark}
    seeds.update(jvm_events())
    for name, data in seeds.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


# Signals, series of all kinds and their marks, for processes 1 and 2; and a recording from before there were any.
STEPS = """
UPDATE pause SET heap_objects = 1000 * id, heap_pending = id, rss_start = 4096 * id, waited_ns = duration_ns / 2;
INSERT INTO step_signal VALUES (1, 'torch:backward', 'libtorch_cpu.so: e+4 (push)', 5000, 23, NULL),
    (2, 'jax:execute', NULL, 5000, 99999, 6000), (3, 'user:libfoo:bar', '', 5000, 0, NULL);
INSERT INTO step_series VALUES (1, 1, 1, 4711, NULL, NULL), (2, 1, 2, 4712, 'Optimizer.step#Adam.step', NULL),
    (3, 2, 1, 4790, NULL, 460), (7, 2, 1, 4790, '', -5);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 101)
INSERT INTO step_mark SELECT i, CASE i % 5 WHEN 4 THEN 7 WHEN 3 THEN 3 WHEN 2 THEN 2 ELSE 1 END,
    5000000000 + 97000000 * i, CASE WHEN i % 7 THEN 1000000 + 4096 * i END, CASE WHEN i % 5 = 4 THEN i END,
    CASE WHEN i % 11 THEN 61000000 * i END FROM n;
"""
# A JVM under Parallel: allocation failures, a thread that calls System.gc(), safepoints without a collection, some of
# them long in coming; a concurrent phase and stalls of each kind, as other collectors have.
JVM = """
INSERT INTO meta VALUES ('version', '0.1.0'), ('host', 'node9'), ('boot_id', '01234567-89ab-cdef-0123-456789abcdef'),
    ('start_ns', '5000000000'), ('end_ns', '35000000000'), ('complete', '1');
INSERT INTO clock VALUES (5000000000, 1763726400000000000);
INSERT INTO process VALUES (1, 6007, 6007, 1, 'java', NULL, 5000000000, NULL);
INSERT INTO runtime (id, process, kind, version, tier, attached_ns, missed, collector)
    VALUES (1, 1, 'hotspot', '17.0.15+6', 'symbol', 5000100000, 0, 'Parallel');
INSERT INTO thread VALUES (1, 6011, 'VM Thread'), (1, 6023, 'main'), (1, 6029, 'DeallocatorServ'), (1, 6037, 'worker-1');
INSERT INTO string VALUES (1, 'ParallelGCFailedAllocation'), (2, 'Allocation Failure'), (3, 'ParallelGCSystemGC'),
    (4, 'System.gc()'), (5, 'Cleanup'), (6, 'java.lang.System.gc'), (7, 'System.java'),
    (8, 'org.nd4j.linalg.api.memory.BasicMemoryManager.invokeGc'), (9, 'BasicMemoryManager.java'),
    (10, 'com.example.Train.fit'), (11, 'Train.java'), (12, 'Concurrent Mark'), (13, 'java.lang.Runtime.gc'), (14, 'Runtime.java');
INSERT INTO frame VALUES (1, 10, 11, 61, 2), (2, 8, 9, 83, 2), (3, 6, 7, 1907, 2), (4, 13, 14, NULL, 2);
INSERT INTO stack VALUES (1, 0, 1), (2, 0, 2), (3, 2, 3), (4, 3, 4), (5, 1, 3), (6, 5, 4);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 59)
INSERT INTO pause (id, start_ns, duration_ns, runtime, tid, generation, cause, flags, stack)
    SELECT i, 6000000000 + 400000000 * i, CASE WHEN i % 11 = 0 THEN 210000000 WHEN i % 7 = 0 THEN 2900000 ELSE 9000000 END
        + 1009 * i, 1, 6011, CASE WHEN i % 11 = 0 THEN 1 WHEN i % 7 = 0 THEN NULL ELSE 0 END,
        CASE WHEN i % 7 = 0 AND i % 11 > 0 THEN 0 ELSE 4 END,
        CASE WHEN i % 11 = 0 THEN 64 + 16 WHEN i % 7 = 0 THEN 64 + 8 ELSE 64 END, CASE WHEN i % 11 = 0 THEN 4 ELSE 1 END FROM n;
INSERT INTO safepoint SELECT id, CASE WHEN generation = 1 THEN 3 WHEN generation = 0 THEN 1 ELSE 5 END,
    CASE WHEN generation = 1 THEN 4 WHEN generation = 0 THEN 2 END, duration_ns / (CASE WHEN cause = 0 THEN 2 ELSE 37 END), 300,
    duration_ns - duration_ns / (CASE WHEN cause = 0 THEN 2 ELSE 37 END) - 1300, 1000,
    CASE WHEN cause > 0 THEN 400000000 + id END, CASE WHEN cause > 0 THEN 90000000 + 4096 * id END, generation = 0, generation = 1,
    CASE WHEN cause = 0 THEN 6037 END, CASE WHEN cause = 0 THEN 1 END, CASE WHEN cause = 0 THEN 7 END FROM pause;
INSERT INTO stall SELECT id, start_ns - 2000, duration_ns + 5000, 1, CASE WHEN id = 55 THEN 6023 ELSE 6029 END, 1, 1,
    CASE WHEN id = 55 THEN 6 ELSE 4 END FROM pause WHERE generation = 1;
INSERT INTO stall VALUES (97, 31000000000, 17000000, 1, 6023, 2, NULL, 1), (98, 32000000000, 1000000, 1, 6037, 3, NULL, NULL),
    (99, 33000000000, 0, 1, 6037, 4, NULL, NULL);
INSERT INTO phase VALUES (1, 31000000000, 700000000, 1, 6011, 12);
"""
GPU = """
INSERT INTO gpu_device SELECT 1, value, 'NVIDIA H100', 85520809984, 1000000000, 9000000000, 1400 FROM json_each('[0,1,7]');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 211) INSERT INTO gpu_busy SELECT i, 1, i % 2,
    2000000000 + i * 100000, 40000 + i, 1999990000 + i * 100000, 1999980000 + i * 100000, 6007, i % 7, i % 3,
    CASE i % 5 WHEN 0 THEN NULL ELSE i END FROM n WHERE i % 7 > i % 3;
INSERT INTO gpu_call SELECT id, 1, NULL, 6007, 1 + id % 2, start_ns + 7, 1000, start_ns + 900,
    CASE id % 3 WHEN 0 THEN NULL ELSE id % 16 END FROM gpu_busy WHERE id % 5 = 0;
INSERT INTO process_cpu VALUES (1, 1000000000, 9000000000, 7000000000);
INSERT INTO gpu_launcher VALUES (1, 6007, 1009, 5003);
INSERT INTO gpu_memory SELECT id, 1, 0, start_ns, 4096 * (id % 11 - 5) FROM gpu_busy WHERE id % 3 = 0;
INSERT INTO gpu_driver VALUES (1, 1500000000, NULL, 3);
INSERT INTO gpu_driver_call SELECT id, 1, 6007, 1 + id % 3, CASE id % 3 WHEN 0 THEN 'cuCtxSynchronize' WHEN 1 THEN 'cuMemAlloc_v2'
    ELSE 'cuMemFree_v2' END, start_ns + 11, 900 + id, 7 * id, CASE id % 7 WHEN 0 THEN NULL ELSE 4096 * id END FROM gpu_busy;
INSERT INTO gpu_unknown VALUES (1, 1, NULL, 2050000000, 2051000000, 31, 1), (2, 1, 7, NULL, NULL, 3, 2), (3, 1, 1, 2, 2, 0, 4);
"""
BEFORE = """
DROP TABLE gpu_device; DROP TABLE gpu_busy; DROP TABLE gpu_call; DROP TABLE gpu_launcher; DROP TABLE gpu_memory;
DROP TABLE gpu_unknown; DROP TABLE process_cpu; DROP TABLE gpu_driver; DROP TABLE gpu_driver_call; DROP TABLE safepoint; DROP TABLE stall; DROP TABLE phase; DROP TABLE thread;
ALTER TABLE runtime DROP COLUMN collector; DROP TABLE step_mark; DROP TABLE step_series; DROP TABLE step_signal;
ALTER TABLE pause DROP COLUMN waited_ns; ALTER TABLE pause DROP COLUMN rss_end;
"""


# Long texts that everything names, and a chain of frames without end.
ENDLESS = """
UPDATE string SET text = printf('%.5000c', 'y'); UPDATE process SET cmdline = zeroblob(17000);
DELETE FROM stack;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1009) INSERT INTO stack SELECT i, i - 1, 1 FROM n;
WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 199) INSERT INTO runtime
    (id, process, kind, version, tier, attached_ns, missed) SELECT i, 1, 'cpython', '3.13.0', 'symbol', 1, 0 FROM n;
UPDATE pause SET stack = 101;
"""


def database(path, *scripts):
    if os.path.exists(path):
        os.unlink(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA page_size = 1024")  # small seeds, of many pages
    for script in scripts:
        connection.executescript(script)
    connection.close()


def store(folder, schema, golden):
    with open(schema, encoding="utf-8") as file:
        tables = file.read()
    for script in glob.glob(os.path.join(golden, "*.sql")):
        name = os.path.basename(script)[:-4]
        with open(script, encoding="utf-8") as file:
            rows = file.read()
        database(os.path.join(folder, name), tables, rows)
        if name == "busy":
            database(os.path.join(folder, "jvm"), tables, JVM)
            database(os.path.join(folder, "steps"), tables, rows, STEPS)
            database(os.path.join(folder, "gpu"), tables, rows, STEPS, GPU)
            database(os.path.join(folder, "before"), tables, rows, BEFORE)
            database(os.path.join(folder, "endless"), tables, rows, ENDLESS)


def step(folder):
    """A --step value, a newline, and bytes that fuzz_step.c turns into marks."""
    for name, text, calls, times in (
        ("torch", "auto", (3, 2, 6, 0, 1), 40),
        ("accumulation", "torch:backward/2", (6, 0, 6, 0, 1, 2), 40),
        ("jax", "jax:pjit:train_step", (10, 8, 9, 7), 40),
        ("calls", "blas:gemm", (12, 12, 13), 50),
        ("window", "window:1us", (3, 2, 6, 0, 1), 40),
        ("user", "libfoo:bar/3", (14,), 60),
        ("near", "torch:recrd:x", (1, 2, 17, 33), 40),
    ):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(text.encode() + b"\n" + bytes(calls) * times)


def budget(folder):
    """A budget, a newline, and bytes that fuzz_budget.c turns into steps and pauses."""
    for i, text in enumerate(("step.cost.max<50ms", "pause.p99 <= 2.5us", "cost.share>1%", "gen2.count>=7", "stopped.share<1%")):
        with open(os.path.join(folder, str(i)), "wb") as file:
            file.write(text.encode() + b"\n" + bytes((i * 37 + j * 61) % 256 for j in range(14 + 64 * i)))


def perfdata(folder):
    """A block of hsperf counters as a JVM keeps it: numbers, texts, one of a kind that nobody reads; and its begin."""
    entries = b""
    counters = [("sun.rt.safepoints", 23), ("sun.rt.safepointTime", 2003), ("sun.gc.cause", b"No GC"), ("x", None)]
    counters += [("sun.gc.collector.0.invocations", 13), ("sun.os.hrt.frequency", 10**9), ("java.cls.unloadedClasses", 7)]
    for name, value in counters:
        label = name.encode() + bytes(8 - (len(name) + 20) % 8)
        body = value.ljust(88, b"\0") if isinstance(value, bytes) else struct.pack("<q", value or 0)
        kind = b"B" if isinstance(value, bytes) else b"J" if value else b"I"
        head = struct.pack("<iii1sBBBi", 20 + len(label) + len(body), 20, 81 * (kind == b"B"), kind, 1, 3, 2, 20 + len(label))
        entries += head + label + body
    block = b"\xca\xfe\xc0\xc0" + struct.pack("<BBBBiiqii", 1, 2, 0, 1, 32 + len(entries), 0, 5000, 32, len(counters)) + entries
    for name, data in {"whole": block, "cut": block[:101]}.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def kineto(folder):
    """Traces of process 4711 as PyTorch's profiler writes them: today's, an older one's, one of a damaged end."""
    def trace(wall, runtime="cuda_runtime", kernel="kernel", tid=4711, **more):
        events = []
        for i in range(11):
            at = wall + 10000 * i + i * i / 10
            events.append({"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#Adam.step", "pid": 4711, "tid": 4711,
                           "ts": at, "dur": 5.5})
            for j, name in enumerate(("cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize", "cudaStreamEndCapture")):
                events.append({"ph": "X", "cat": runtime, "name": name, "pid": 4711, "tid": tid, "ts": at + 100 * j, "dur": 7,
                               "args": {"correlation": 10 * i + j}})
            for j in range(2):
                events.append({"ph": "X", "cat": kernel, "name": "void k<\\>(float*)", "pid": j, "tid": "stream 7",
                               "ts": at + 110 * j + 20, "dur": 70.125, "args": {"device": j, "correlation": 10 * i + j, "x": [1, {}]}})
        events.append({"ph": "s", "cat": "ac2g", "id": 1, "pid": 4711, "tid": 4711, "ts": wall})
        return json.dumps(dict(more, traceEvents=events)).encode()

    base = {"baseTimeNanoseconds": 1699913600000000000, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}]}
    today, old = trace(86400000000, **base), trace(1700000000000000, "Runtime", "Kernel", "4711")
    for name, data in {"today": today, "old": old, "cut": today[:1999], "packed": gzip.compress(today, mtime=0),
                       "packed-cut": gzip.compress(old, mtime=0)[:301], "list": b"[" + today + b"]",
                       "slips": old.replace(b"70.125", b"-Infinity").replace(b"\\\\", b"\\U")}.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def vmstructs(folder):
    """Patches of a sound JVM, see fuzz_vmstructs.c: none, with and without symbols, and a byte or a word in some places."""
    for kind in range(8):
        patches = [b""] + [struct.pack("<HBB", 4099 * i % 65521, i % 2, 7 * (i % 2)) + bytes(1 + 7 * (i % 2)) for i in range(1, 8)]
        for number, data in enumerate(patches):
            with open(os.path.join(folder, f"{kind}-{number}"), "wb") as file:
                file.write(bytes([kind]) + data)


def main():
    folder, schema, golden = sys.argv[1:]
    for name in ("budget", "elf", "event", "java_code", "jit_object", "julia", "kineto", "perfdata", "step", "store", "vmstructs"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    budget(os.path.join(folder, "budget"))
    kineto(os.path.join(folder, "kineto"))
    perfdata(os.path.join(folder, "perfdata"))
    vmstructs(os.path.join(folder, "vmstructs"))
    elf(os.path.join(folder, "elf"))
    jit_object(os.path.join(folder, "jit_object"))
    event(os.path.join(folder, "event"))
    julia(os.path.join(folder, "julia"))
    step(os.path.join(folder, "step"))
    store(os.path.join(folder, "store"), schema, golden)


main()
