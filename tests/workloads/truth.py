"""What a workload says about itself, to check a tracer against: times of steps, the books.

In: `with truth.step():` around each training step, `with truth.phase("evaluation"):` around what is
none. Out: one JSON object a line in the file named by --truth. Keeps its notes in arrays of integers,
which are none of the collector's business, and writes them when the training is over.
"""

import array
import contextlib
import gc
import json
import os
import sys
import time


def add_options(parser, steps):
    """The options that all workloads take."""
    parser.add_argument("--steps", type=int, default=steps, help="to train for (%d)" % steps)
    parser.add_argument("--seed", type=int, default=23, help="of everything random (23)")
    parser.add_argument("--truth", metavar="FILE", help="write what really happened there")
    parser.add_argument(
        "--wait", action="store_true", help="say READY and wait for a line before training begins"
    )
    return parser


class Truth:
    """Notes of one process; a `with` block around the training."""

    def __init__(self, given):
        self.path = given.truth
        self.wait = given.wait
        self.steps = array.array("q")
        self.phases = {}
        self.facts = []

    def __enter__(self):
        if self.wait:
            os.write(1, b"READY %d\n" % os.getpid())
            sys.stdin.readline()
        self.began = self._books()
        return self

    def __exit__(self, kind, error, trace):
        self.ended = self._books()
        if self.path and kind is None:
            self._write()

    @staticmethod
    def _books():
        """The collector's own counts, and the times between which they were read."""
        before = time.monotonic_ns()
        stats = gc.get_stats()
        after = time.monotonic_ns()
        return {
            "before_ns": before,
            "after_ns": after,
            "collections": [s["collections"] for s in stats],
            "collected": [s["collected"] for s in stats],
        }

    @contextlib.contextmanager
    def step(self):
        begin = time.monotonic_ns()
        yield
        self.steps.append(begin)
        self.steps.append(time.monotonic_ns())

    @contextlib.contextmanager
    def phase(self, name):
        """A time that is not a training step: "evaluation", "wait", "inject"."""
        if name not in self.phases:
            self.phases[name] = array.array("q")
        begin = time.monotonic_ns()
        yield
        self.phases[name].append(begin)
        self.phases[name].append(time.monotonic_ns())

    def note(self, what, **facts):
        """Something that a test may want to know, with its time: a changed batch size."""
        self.facts.append(dict(facts, type="note", what=what, monotonic_ns=time.monotonic_ns()))

    def _records(self):
        yield {
            "type": "process",
            "pid": os.getpid(),
            "argv": sys.argv,
            "python": "%d.%d.%d" % sys.version_info[:3],
        }
        yield dict(self.began, type="books", when="begin")
        for index in range(len(self.steps) // 2):
            begin, end = self.steps[2 * index : 2 * index + 2]
            yield {"type": "step", "index": index, "begin_ns": begin, "end_ns": end}
        for name, times in self.phases.items():
            for index in range(len(times) // 2):
                begin, end = times[2 * index : 2 * index + 2]
                yield {"type": name, "begin_ns": begin, "end_ns": end}
        yield from self.facts
        yield dict(self.ended, type="books", when="end")

    def _write(self):
        with open(self.path, "w") as out:
            for record in self._records():
                out.write(json.dumps(record) + "\n")
