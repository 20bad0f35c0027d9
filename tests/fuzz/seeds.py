"""Makes the fuzzers' first inputs: valid bytes to start from.

usage: seeds.py FOLDER SCHEMA.sql GOLDEN_FOLDER; writes FOLDER/{budget,elf,event,step,store}/*.
"""

import glob
import os
import shutil
import sqlite3
import struct
import subprocess
import sys

PROBED = """
#include <sys/sdt.h>
int collect(int n) { DTRACE_PROBE1(python, gc__start, n); return n; }
int PyGC_Collect(void) { return collect(2); }
"""


def elf(folder):
    """A shared object with symbols and, where <sys/sdt.h> is, USDT notes; the same stripped."""
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


def record(kind, body):
    data = struct.pack("<IIIIQ", kind, 24 + len(body), 11, 13, 5000) + body
    return struct.pack("<H", len(data)) + data


def text(characters):
    data = characters.encode("latin-1")
    return struct.pack("<IHH512s", len(data), 1, 1, data)


def event(folder):
    """A line table, its code object, and a pause whose only frame is in it (bpf/gc_wire.h)."""
    lines = bytes([0x80 | 13 << 3 | 7, 2])
    table = record(3, struct.pack("<QII1024s", 7, 0, len(lines), lines))
    code = record(2, struct.pack("<QIIII", 7, 0, 40, len(lines), 0) + text("f") + text("t.py"))
    pause = record(
        1,
        struct.pack("<QQIiIIQQQQQQQQQQII", 23, 4096, 0, 2, 2, 0xE0, 47, 0, 1, 2, 3, 29, 31, 37, 41, 5, 1, 0)
        + struct.pack("<QiI", 7, 4, 0),
    )
    fork = record(4, struct.pack("<IIQ", 17, 0, 0))
    label = record(10, struct.pack("<IIQ128s", 3, 14, 7, b"Optimizer.step"))
    mark = record(9, struct.pack("<IIQQQ", 3, 1, 7, 460, 1 << 30))
    seeds = {"all": table + code + pause + fork + label + mark, "pause": pause, "fork": fork, "mark": label + mark}
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
    5000000000 + 97000000 * i, CASE WHEN i % 7 THEN 1000000 + 4096 * i END FROM n;
"""
BEFORE = """
DROP TABLE step_mark; DROP TABLE step_series; DROP TABLE step_signal;
ALTER TABLE pause DROP COLUMN waited_ns; ALTER TABLE pause DROP COLUMN rss_end;
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
            database(os.path.join(folder, "steps"), tables, rows, STEPS)
            database(os.path.join(folder, "before"), tables, rows, BEFORE)


def step(folder):
    """What --step takes, a newline, and bytes that fuzz_step.c makes marks of."""
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
    """A budget, a newline, and bytes that fuzz_budget.c makes steps and pauses of."""
    for i, text in enumerate(("step.cost.max<50ms", "pause.p99 <= 2.5us", "cost.share>1%", "gen2.count>=7")):
        with open(os.path.join(folder, str(i)), "wb") as file:
            file.write(text.encode() + b"\n" + bytes((i * 37 + j * 61) % 256 for j in range(14 + 64 * i)))


def main():
    folder, schema, golden = sys.argv[1:]
    for name in ("budget", "elf", "event", "step", "store"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    budget(os.path.join(folder, "budget"))
    elf(os.path.join(folder, "elf"))
    event(os.path.join(folder, "event"))
    step(os.path.join(folder, "step"))
    store(os.path.join(folder, "store"), schema, golden)


main()
