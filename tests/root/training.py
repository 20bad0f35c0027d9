"""Trains the programs of tests/workloads under the tracer and checks its report against their truth.

In: scripts/workloads --list, a Bench. Out: a Training: the records, what really happened, and checks.
"""

import bisect
import json
import statistics
import subprocess

import harness
from harness import SOURCE, Records, gctrace

WORKLOADS = SOURCE / "tests/workloads"
SYSTEM = "/usr/bin/python3"
START_S = 60  # until a program has imported its libraries
TRAIN_S = 75


class Environment:
    """One row of scripts/workloads --list."""

    def __init__(self, row):
        self.__dict__.update(row)
        self.versions = dict(p.split("==") for p in self.packages.split(" ") if p)
        self.minor = tuple(int(n) for n in self.version.split(".")[:2])

    def __repr__(self):
        return self.name


def load_environments():
    listed = subprocess.run(
        [SOURCE / "scripts/workloads", "--list"], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    head, *rows = [line.split("\t") for line in listed.splitlines()]
    return [Environment(dict(zip(head, row))) for row in rows]


class Truth:
    """What a workload wrote about itself (tests/workloads/truth.py)."""

    def __init__(self, path):
        self.phases, self.notes, self.books = {}, {}, {}
        with open(path) as lines:
            for record in map(json.loads, lines):
                kind = record["type"]
                if kind == "process":
                    self.pid = record["pid"]
                elif kind == "books":
                    self.books[record["when"]] = record
                elif kind == "note":
                    self.notes[record["what"]] = record
                else:
                    span = (record["begin_ns"], record["end_ns"])
                    self.phases.setdefault(kind, []).append(span)
        self.steps = self.phases.pop("step")

    def total(self, phase):
        return sum(end - begin for begin, end in self.phases.get(phase, []))

    def line_of(self, script, text):
        """The number of the one line of @script that holds @text."""
        lines = (WORKLOADS / script).read_text().splitlines()
        found = [i for i, line in enumerate(lines, 1) if text in line]
        assert len(found) == 1, "%r is on lines %s of %s" % (text, found, script)
        return found[0]


def shared(one, other):
    """How long two spans overlap."""
    return max(0, min(one[1], other[1]) - max(one[0], other[0]))


def united(spans):
    """The same time without overlaps."""
    found = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


class Training:
    """One recorded training; report options choose how steps are found."""

    def __init__(self, file, truth, *options):
        self.file, self.truth = file, truth
        done = gctrace("report", file, "-f", "json", *options)
        assert done.returncode == 0, done.stderr.decode()
        self.records = Records(done.stdout.decode())
        self.pid = truth.pid
        self.steps = [s for s in self.records.of("step") if s["pid"] == self.pid]
        self.pauses = sorted(self.records.of_pid(self.pid), key=lambda p: p["start_ns"])
        tracks = self.records.summary.get("tracks") or []
        self.track = next((t for t in tracks if t["pid"] == self.pid), None)

    def again(self, *options):
        """The same recording, reported with other options."""
        return Training(self.file, self.truth, *options)

    def in_training(self):
        """The pauses between the two readings of the program's books."""
        begin = self.truth.books["begin"]["after_ns"]
        end = self.truth.books["end"]["before_ns"]
        return [p for p in self.pauses if begin <= p["start_ns"] <= end]

    def boundaries(self):
        """How many of the true steps hold exactly one step's start, and starts that are in none."""
        starts = sorted(s["start_ns"] for s in self.steps)
        exact, inside = 0, 0
        for begin, end in self.truth.steps:
            held = bisect.bisect_right(starts, end) - bisect.bisect_left(starts, begin)
            exact += held == 1
            inside += held
        return exact, len(starts) - inside

    def settled_pauses(self, warmup=20):
        """How long pauses stopped the steps after the warm-up, in which following the advice may take time itself."""
        return sum(step["pause_ns"] for step in self.steps[warmup:])

    def check_steps(self):
        """At least 99 % of the steps, and nothing that is not a step."""
        assert self.steps, self.records.summary.get("step_note") or self.records.summary
        exact, invented = self.boundaries()
        told = "%d of %d steps exact, %d invented; %s" % (
            exact, len(self.truth.steps), invented, self.track)
        assert invented == 0, told
        assert exact >= 0.99 * len(self.truth.steps), told
        for step, after in zip(self.steps, self.steps[1:]):
            assert step["start_ns"] < step["end_ns"] <= after["start_ns"]
            assert step["duration_ns"] == step["end_ns"] - step["start_ns"]

    def step_near(self, when, count=11):
        """The usual length of the true steps just before or after @when, whichever is longer."""
        before = [end - begin for begin, end in self.truth.steps if end <= when][-count:]
        after = [end - begin for begin, end in self.truth.steps if begin > when][:count]
        return max(statistics.median(before), statistics.median(after or before))

    def check_evaluation(self):
        """What is not training is outside steps, except for the tail of the last one. Beside steps that the machine
        made long, an evaluation may be too short to tell."""
        spans = [(s["start_ns"], s["end_ns"]) for s in self.steps]
        tails = usual = 0
        for phase in self.truth.phases["evaluation"]:
            covered, length = sum(shared(phase, span) for span in spans), phase[1] - phase[0]
            near = self.step_near(phase[0])
            if length <= 3 * near:
                continue
            assert covered < length / 2, "%.1f ms of an evaluation of %.1f ms are in steps" % (
                covered / 1e6, length / 1e6)
            tails, usual = tails + covered, usual + near
        assert usual, "all evaluations are too short to tell"
        assert tails <= 1.5 * usual, "%.1f ms of evaluations are in steps, %.1f ms usual" % (
            tails / 1e6, usual / 1e6)

    def check_books(self):
        """Every collection during the training, and nothing else."""
        begin, end = self.truth.books["begin"], self.truth.books["end"]
        for key, ours in (("collections", None), ("collected", "collected")):
            wanted = [b - a for a, b in zip(begin[key], end[key])]
            assert harness.per_generation(self.in_training(), ours) == wanted, key
        assert self.records.recording["complete"] is True
        assert self.records.drops == []

    def check_sums(self):
        """Pauses and steps give the same total; a pause within steps is charged in full."""
        own = [p for p in self.pauses if p.get("overlap_ns")]
        assert sum(p["overlap_ns"] for p in own) == sum(s["pause_ns"] for s in self.steps)
        assert self.track["overlap_ns"] == sum(s["pause_ns"] for s in self.steps)
        if self.track["cost_source"] == "untold":
            assert {one["cost_ns"] for one in own + self.steps} <= {None}
        else:
            assert sum(p["cost_ns"] for p in own) == sum(s["cost_ns"] for s in self.steps)
        assert self.track["pause_ns"] == sum(p["duration_ns"] for p in self.pauses)
        assert self.track["outside_ns"] + self.track["overlap_ns"] == self.track["pause_ns"]
        spans = sorted((s["start_ns"], s["end_ns"]) for s in self.steps)
        for pause in self.pauses:
            span = (pause["start_ns"], pause["end_ns"])
            # the last step's end is a guess, and the interpreter's exit belongs to no step
            covered = 0 if pause["cause"] == "shutdown" else self.covered(spans, span)
            assert (pause["overlap_ns"] or 0) == covered, pause
        for step in self.steps:
            assert 0 <= step["pause_ns"] <= step["duration_ns"]
            assert step["cost_ns"] == self.part_of_cost(step)

    def part_of_cost(self, step):
        """Of what the track lost, as much as @step's part of what it was stopped; no more than the step."""
        if self.track["cost_source"] == "untold":
            return None
        stopped = self.track["overlap_ns"] + self.track.get("held_ns", 0)
        share = self.track["cost_ns"] / stopped if stopped else 1
        return int(max(0, min(share * step["pause_ns"] + 0.5, step["duration_ns"])))

    @staticmethod
    def covered(spans, span):
        first = max(0, bisect.bisect_left(spans, span) - 1)
        total = 0
        for other in spans[first:]:
            if other[0] >= span[1]:
                break
            total += shared(other, span)
        return total


def command(environment, script, truth, *args):
    python = environment.python if environment else SYSTEM
    return [python, WORKLOADS / script, "--truth", truth] + [str(a) for a in args]


def attach(bench, environment, script, *args, options=(), name="run", prefix=()):
    """Starts the program, attaches before it trains, and reports when it has ended."""
    file, truth = bench.scratch / (name + ".gct"), bench.scratch / (name + ".jsonl")
    target = bench.process([*prefix, *command(environment, script, truth, "--wait", *args)])
    ready = target.out.find(lambda line: line.startswith("READY"), START_S)
    assert ready, target.err.text()
    tracer = bench.tracer("record", "-p", target.pid, "-o", file, *options)
    target.send("go")
    assert target.wait(TRAIN_S) == 0, target.err.text()
    tracer.finish()
    return Training(file, Truth(truth))


def run(bench, environment, script, *args, options=(), name="run", status=0):
    """The same by `gctrace run`: from the first collection of the interpreter's start."""
    file, truth = bench.scratch / (name + ".gct"), bench.scratch / (name + ".jsonl")
    argv = command(environment, script, truth, *args)
    tracer = bench.keep(harness.Tracer(["run", "-o", file, *options, "--", *argv], ready=False))
    assert tracer.wait(START_S + TRAIN_S) == status, tracer.err.text()
    return Training(file, Truth(truth))
