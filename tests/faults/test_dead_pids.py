"""The dead are no targets: they fill no map, and no stranger with their number is traced."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

from harness import file_infos, wait_until

CHILDREN = 2003
STRANGERS = 11
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")

# Children that exec, load libraries, exit from a second thread or just go; their numbers.
PARENT = """
import ctypes, os, sys, threading
count = int(sys.argv[1])
def last_one():
    ctypes.CDLL(None).pthread_exit(0)
for line in sys.stdin:
    pids = []
    while len(pids) < count:
        some = []
        for i in range(min(7, count - len(pids))):
            child = os.fork()
            if not child:
                if i < 2:
                    os.execv("/bin/true", ["true"])
                if i == 2:
                    threading.Thread(target=os._exit, args=(0,)).start()
                    last_one()
                os._exit(0)
            some.append(child)
        for child in some:
            os.waitpid(child, 0)
        pids += some
    sys.stdout.write(" ".join(map(str, pids)) + "\\n")
    sys.stdout.flush()
"""


def targets(tracer):
    """The keys of the map of traced processes."""
    for number in {value for _, value in file_infos(tracer.pid, "map_id")}:
        shown = subprocess.run(
            ["bpftool", "-j", "map", "show", "id", number], stdout=subprocess.PIPE, check=True
        )
        if json.loads(shown.stdout).get("name") != "targets":
            continue
        dump = subprocess.run(
            ["bpftool", "-j", "map", "dump", "id", number], stdout=subprocess.PIPE, check=True
        )
        keys = [[int(byte, 16) for byte in entry["key"]] for entry in json.loads(dump.stdout)]
        return sorted(int.from_bytes(bytes(key), "little") for key in keys)
    raise AssertionError("the tracer has no map of targets")


def parent_of(bench, runtime, children):
    target = bench.process(
        [runtime.exe, "-c", PARENT, str(children)], env=runtime.environment
    )
    tracer = bench.record(target)
    target.send("go")
    return target, tracer, [int(pid) for pid in target.out.next(60).split()]


def drained(tracer, path, count):
    """Waits until so many exits are stored, and with them everything before."""
    def ends():
        copy = path.with_suffix(".copy")
        for end in ("", "-wal"):
            shutil.copy(str(path) + end, str(copy) + end)
        db = sqlite3.connect(copy)
        try:
            return db.execute("SELECT count(exit_ns) FROM process").fetchone()[0]
        except sqlite3.DatabaseError:
            return 0  # copied in the middle of a transaction
        finally:
            db.close()

    wait_until(lambda: ends() >= count, 60, "the ends of %d processes" % count)


def test_only_the_living_are_targets(bench, some_runtime):
    target, tracer, children = parent_of(bench, some_runtime, CHILDREN)
    assert len(children) == CHILDREN
    assert targets(tracer) == [target.pid]
    drained(tracer, bench.file, CHILDREN)
    assert targets(tracer) == [target.pid]
    target.popen.stdin.close()
    target.wait()
    tracer.finish()


def stranger_named(bench, runtime, pid):
    """An unrelated oracle with the number @pid; None if another process got it first."""
    LAST_PID.write_text(str(pid - 1))
    stranger = bench.oracle(runtime)
    if stranger.pid == pid:
        return stranger
    stranger.kill()
    return None


def test_a_number_given_anew(bench, some_runtime):
    """Strangers that reuse the pids of dead children are not recorded, nor are their names."""
    target, tracer, children = parent_of(bench, some_runtime, 211)
    strangers = []
    for pid in children[::5]:  # our own threads take the numbers after it
        stranger = stranger_named(bench, some_runtime, pid)
        if stranger:
            stranger.ask("collect 5 3 2")
            strangers.append(stranger)
        if len(strangers) == STRANGERS:
            break
    assert len(strangers) == STRANGERS
    assert targets(tracer) == [target.pid]
    target.popen.stdin.close()
    target.wait()
    tracer.finish()
    records = bench.report()
    assert {p["pid"] for p in records.pauses} <= {target.pid}  # its shutdown
    assert {p["pid"] for p in records.processes} == {target.pid, *children}
    assert not [p for p in records.processes if "oracle.py" in " ".join(p["cmdline"] or [])]
