"""Writes a simulated run as a .gct file and reads what gctrace makes of it."""

import functools
import json
import os
import sqlite3
import subprocess

PID = 4711  # of the first rank; the thread that makes the steps has the same number
WORKER = 8000  # of the first rank's loader
BEFORE = 1_000_000  # ns by which the recording begins before the first step
REALTIME = 1763726400 * 10**9  # then
OTHER = 100_000  # added to it: a thread that collects while the loop's is kept from running


def gctrace(*args):
    return subprocess.run(
        [os.environ["GCTRACE"]] + [str(a) for a in args],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        timeout=120, check=True, universal_newlines=True,
    ).stdout


@functools.lru_cache(maxsize=None)
def schema():
    return gctrace("schema", "sql")


def knows_work():
    """Whether this gctrace records how long the loop's thread worked."""
    with sqlite3.connect(":memory:") as db:
        db.executescript(schema())
        return "work_ns" in [row[1] for row in db.execute("PRAGMA table_info(step_mark)")]


def _rank(db, number, rank, begin, work):
    pid = PID + number
    db.execute("INSERT INTO process VALUES (?, ?, ?, 1, 'python3', NULL, ?, NULL)",
               (number + 1, pid, pid, begin))
    db.execute(
        "INSERT INTO runtime (id, process, kind, version, tier, detail, attached_ns, missed)"
        " VALUES (?, ?, 'cpython', '3.11.2', 'symbol', 'gc_collect_main', ?, 0)",
        (number + 1, number + 1, begin),
    )
    db.execute("INSERT INTO step_series VALUES (?, 1, ?, ?, 'Optimizer.step#Adam.step', NULL)",
               (number + 1, number + 1, pid))
    db.executemany(
        "INSERT INTO pause (start_ns, duration_ns, runtime, tid, interpreter, generation, cause, flags,"
        " collected, uncollectable) VALUES (?, ?, ?, ?, 0, ?, 1, 0, 97, 0)",
        [(p.start, p.length, number + 1, pid + (OTHER if rank.other else 0), p.generation)
         for p in rank.pauses],
    )
    if work:
        db.executemany("INSERT INTO step_mark (series, time_ns, work_ns) VALUES (?, ?, ?)",
                       [(number + 1, t, w) for t, w in zip(rank.marks, rank.work)])
    else:
        db.executemany("INSERT INTO step_mark (series, time_ns) VALUES (?, ?)",
                       [(number + 1, t) for t in rank.marks])


def _worker(db, number, rank, begin, ranks):
    """The rank's loader, a process of its own that is on a CPU whenever it works."""
    db.execute("INSERT INTO process VALUES (?, ?, ?, ?, 'python3', NULL, ?, NULL)",
               (ranks + number + 1, WORKER + number, WORKER + number, PID + number, begin))
    db.execute("INSERT INTO process_cpu VALUES (?, ?, ?, ?)",
               (ranks + number + 1, begin, rank.end, min(rank.loaded, rank.end - begin)))


def create(path, begin, end):
    """An empty recording, in a transaction that the caller commits."""
    db = sqlite3.connect(str(path), isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA journal_mode = OFF")
    db.executescript(schema())
    db.execute("BEGIN")
    meta = {"version": "0.1.0", "host": "node7", "boot_id": "x", "start_ns": begin, "end_ns": end,
            "complete": 1}
    db.executemany("INSERT INTO meta VALUES (?, ?)", [(k, str(v)) for k, v in meta.items()])
    db.execute("INSERT INTO clock VALUES (?, ?)", (begin, REALTIME))
    return db


def write(path, ranks, work):
    """work: with the CPU time at each mark, which this gctrace's schema must have."""
    begin = ranks[0].marks[0] - BEFORE
    db = create(path, begin, max(rank.end for rank in ranks) + 1_000_000)
    db.execute("INSERT INTO step_signal VALUES (1, 'torch:record', 'libtrain.so: step+0 (push)', ?, 0,"
               " NULL)", (begin,))
    for number, rank in enumerate(ranks):
        _rank(db, number, rank, begin, work)
    for number, rank in enumerate(ranks):
        if rank.loaded:
            _worker(db, number, rank, begin, len(ranks))
    db.execute("COMMIT")
    db.close()


def write_marks(path, marks, pauses, end):
    """One process whose calls are marks, (ns, CPU time, signal, label or None, number or None), by time."""
    begin = marks[0][0] - BEFORE
    db = create(path, begin, end + 1_000_000)
    db.execute("INSERT INTO process VALUES (1, ?, ?, 1, 'python3', NULL, ?, NULL)", (PID, PID, begin))
    db.execute("INSERT INTO runtime (id, process, kind, version, tier, detail, attached_ns, missed)"
               " VALUES (1, 1, 'cpython', '3.11.2', 'symbol', 'gc_collect_main', ?, 0)", (begin,))
    db.executemany("INSERT INTO pause (start_ns, duration_ns, runtime, tid, interpreter, generation, cause, flags,"
                   " collected, uncollectable) VALUES (?, ?, 1, ?, 0, 2, 1, 0, 97, 0)",
                   [(start, length, PID) for start, length in pauses])
    signals, series = {}, {}
    for _, _, signal, label, number in marks:
        signals.setdefault(signal, len(signals) + 1)
        series.setdefault((signal, label, number), len(series) + 1)
    db.executemany("INSERT INTO step_signal VALUES (?, ?, 'libtrain.so: call+0 (push)', ?, 0, NULL)",
                   [(i, signal, begin) for signal, i in signals.items()])
    db.executemany("INSERT INTO step_series VALUES (?, ?, 1, ?, ?, ?)",
                   [(i, signals[signal], PID, label, number) for (signal, label, number), i in series.items()])
    db.executemany("INSERT INTO step_mark (series, time_ns, work_ns) VALUES (?, ?, ?)",
                   [(series[tuple(what)], ns, work) for ns, work, *what in marks])
    db.execute("COMMIT")
    db.close()


def summary(path, *options):
    return json.loads(gctrace("report", path, "-f", "json", *options).rstrip("\n").rsplit("\n", 1)[-1])


def tracks(path):
    """The tracks of the report's summary, by the number of the rank."""
    return {track["pid"] - PID: track for track in summary(path)["tracks"]}
