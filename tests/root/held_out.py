"""Takes steps out of a recording, as if they had never been made: what is left is the recording of a loop of the others.

In: a .gct file and, of each process, which of its steps are kept. Out: the file without the others; what comes later moves up,
in time and in work, by what they took. gctrace sees nothing of steps that are held out so: they can say whether it is right.
"""

import sqlite3


class Thread:
    """The thread of a process that makes the steps."""

    def __init__(self, db, pid, label):
        """@label: of the marks that begin steps; None: there are no others."""
        found = db.execute(
            "SELECT s.id, s.tid, s.process FROM step_series s JOIN process p ON p.id = s.process"
            " WHERE p.pid = ? AND s.label IS ?", (pid, label)).fetchall()
        assert len(found) == 1, found
        series, self.tid, self.process = found[0]
        self.begins = db.execute(
            "SELECT time_ns, work_ns FROM step_mark WHERE series = ? ORDER BY id", (series,)).fetchall()
        assert all(work is not None for _, work in self.begins)


def _spans(thread, moves, kept):
    """(from, to, by how much its time moves up, by how much its work) of each row of steps in @kept."""
    begins, worked, at = thread.begins, 0, 0
    for (first, end), by in zip(kept, moves):
        worked += begins[first][1] - at
        at = begins[end][1]
        yield begins[first][0], begins[end][0], by, worked


def _moves(thread, kept):
    """By how much time each row of steps moves up: the first one stays."""
    moved, at = 0, thread.begins[kept[0][0]][0]
    for first, end in kept:
        moved += thread.begins[first][0] - at
        at = thread.begins[end][0]
        yield moved


def _span_of(spans, time):
    for span in spans:
        if span[0] <= time < span[1]:
            return span
    return None


def _move(db, thread, spans):
    rows = db.execute(
        "SELECT m.id, m.time_ns, m.work_ns, s.tid FROM step_mark m JOIN step_series s ON s.id = m.series"
        " WHERE s.process = ?", (thread.process,)).fetchall()
    last = spans[-1]
    for number, time, work, tid in rows:
        assert tid == thread.tid
        span = last if time == last[1] else _span_of(spans, time)  # where the last step ends is kept, too
        if span:
            db.execute("UPDATE step_mark SET time_ns = ?, work_ns = ? WHERE id = ?",
                       (time - span[2], work - span[3], number))
        else:
            db.execute("DELETE FROM step_mark WHERE id = ?", (number,))
    rows = db.execute(
        "SELECT p.id, p.start_ns FROM pause p JOIN runtime r ON r.id = p.runtime WHERE r.process = ?",
        (thread.process,)).fetchall()
    for number, start in rows:
        span = _span_of(spans, start)
        assert span, "a pause in a step that is held out"
        db.execute("UPDATE pause SET start_ns = ? WHERE id = ?", (start - span[2], number))


def keep(path, pids, label, kept, steps):
    """
    Of each of the processes only the rows of steps in @kept: (number of the first, of the one behind the last), in order. As a
    step's number is that of its mark, and all do the same at the same time, one clock moves for all. @steps: so many they made.
    """
    db = sqlite3.connect(str(path), isolation_level=None)
    db.execute("BEGIN")
    threads = [Thread(db, pid, label) for pid in pids]
    assert all(len(thread.begins) == steps for thread in threads), [len(thread.begins) for thread in threads]
    moves = list(_moves(threads[0], kept))
    for thread in threads:
        _move(db, thread, list(_spans(thread, moves, kept)))
    db.execute("UPDATE meta SET value = CAST(value AS INTEGER) - ? WHERE key = 'end_ns'", (moves[-1],))
    db.execute("COMMIT")
    db.close()
