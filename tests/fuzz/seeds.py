"""Makes the fuzzers' first inputs: valid bytes to start from.

usage: seeds.py FOLDER SCHEMA.sql GOLDEN_FOLDER; writes FOLDER/{elf,event,store}/*.
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
        struct.pack("<QQIiIIQQQQQII", 23, 4096, 0, 2, 2, 0, 47, 0, 1, 2, 3, 1, 0)
        + struct.pack("<QiI", 7, 4, 0),
    )
    fork = record(4, struct.pack("<IIQ", 17, 0, 0))
    for name, data in (("all", table + code + pause + fork), ("pause", pause), ("fork", fork)):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)


def store(folder, schema, golden):
    for script in glob.glob(os.path.join(golden, "*.sql")):
        path = os.path.join(folder, os.path.basename(script)[:-4])
        if os.path.exists(path):
            os.unlink(path)
        database = sqlite3.connect(path)
        with open(schema, encoding="utf-8") as tables, open(script, encoding="utf-8") as rows:
            database.executescript(tables.read() + rows.read())
        database.close()


def main():
    folder, schema, golden = sys.argv[1:]
    for name in ("elf", "event", "store"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    elf(os.path.join(folder, "elf"))
    event(os.path.join(folder, "event"))
    store(os.path.join(folder, "store"), schema, golden)


main()
