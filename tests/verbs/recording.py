"""Recordings of training that never was: steps and pauses of known length, written as a .gct file.

In: lists of (start, length) in ns. Out: a file for report, check and diff to read.
"""

import os
import sqlite3
import subprocess

BEGIN = 1_000_000_000  # of every recording, on CLOCK_MONOTONIC
MS = 1_000_000


def gctrace(*args, **options):
    return subprocess.run(
        [os.environ["GCTRACE"]] + [str(a) for a in args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=60,
        universal_newlines=True,
        **options,
    )


class Recording:
    """One python process; times are ns from the recording's begin."""

    def __init__(self, path, complete=True, runtime=True):
        self.path = path
        self.end = 0
        self.complete = complete
        self.db = sqlite3.connect(str(path))
        self.db.executescript(gctrace("schema", "sql").stdout)
        self.db.execute(
            "INSERT INTO process VALUES (1, 4711, 4711, 1, 'python3', NULL, ?, NULL)", (BEGIN,)
        )
        if runtime:
            self.db.execute(
                "INSERT INTO runtime (id, process, kind, version, tier, path, detail, attached_ns, missed)"
                " VALUES (1, 1, 'cpython', '3.11.2', 'symbol', NULL, 'gc_collect_main', ?, 0)",
                (BEGIN,),
            )
        self.db.executescript(
            "INSERT INTO string VALUES (1, 'Trainer.step'), (2, '/home/ada/train.py');"
            "INSERT INTO frame VALUES (1, 1, 2, 41, 1);"
            "INSERT INTO stack VALUES (1, 0, 1);"
        )
        self.signals = 0

    def signal(self, name, label=None, number=None, tid=4711, let_go=None):
        self.signals += 1
        self.db.execute(
            "INSERT INTO step_signal VALUES (?, ?, 'libtrain.so: step+0 (push)', ?, 0, ?)",
            (self.signals, name, BEGIN, let_go),
        )
        self.db.execute(
            "INSERT INTO step_series VALUES (?, ?, 1, ?, ?, ?)",
            (self.signals, self.signals, tid, label, number),
        )
        return self.signals

    def mark(self, series, time, rss=None):
        self.db.execute(
            "INSERT INTO step_mark (series, time_ns, rss_bytes) VALUES (?, ?, ?)",
            (series, BEGIN + time, rss),
        )
        self.end = max(self.end, time)

    def pause(self, start, length, generation=0, collected=0, cause=1, stack=1, **facts):
        names = ["start_ns", "duration_ns", "runtime", "tid", "interpreter", "generation",
                 "cause", "flags", "collected", "uncollectable", "stack"] + list(facts)
        values = [BEGIN + start, length, 1, 4711, 0, generation, cause, 0, collected, 0, stack]
        self.db.execute(
            "INSERT INTO pause (%s) VALUES (%s)"
            % (", ".join(names), ", ".join("?" * len(names))),
            values + list(facts.values()),
        )
        self.end = max(self.end, start + length)

    def drop(self, cause, count):
        self.db.execute("INSERT INTO drops VALUES (?, 'give more', ?, ?)", (cause, count, BEGIN))

    def close(self, end=None):
        end = BEGIN + (self.end + MS if end is None else end)
        meta = {"version": "0.1.0", "host": "node7", "boot_id": "x", "start_ns": BEGIN,
                "end_ns": end, "complete": int(self.complete)}
        self.db.executemany(
            "INSERT INTO meta VALUES (?, ?)", [(k, str(v)) for k, v in meta.items()]
        )
        self.db.execute("INSERT INTO clock VALUES (?, ?)", (BEGIN, 1763726400 * 10**9))
        self.db.commit()
        self.db.close()
        return self.path


def training(path, steps=211, step=10 * MS, every=0, pause=50 * MS, signal="torch:record",
             label="Optimizer.step#Adam.step", jitter=True, **options):
    """A loop of `steps` steps; one in `every` has a full collection of `pause` ns in its middle."""
    made = Recording(path, **options)
    series = made.signal(signal, label)
    now = 0
    for i in range(steps):
        made.mark(series, now, rss=10**8 + i)
        length = step + (i * 7919 % 101 - 50) * 1000 * jitter
        if every and i % every == every - 1:
            made.pause(now + length // 2, pause, generation=2, collected=97)
            length += pause
        now += length
    made.close(now)
    return path
