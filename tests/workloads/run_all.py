#!/usr/bin/env python3
"""Traces every workload and writes the tables and pictures of docs/workloads.md.

In: $GCTRACE, what scripts/workloads installed, root. Out: the recordings and this machine's tables in the
folder named; with --docs also in docs/workloads.md, between its marks, and the pictures in docs/pictures.
Takes about five minutes; run nothing beside it.
"""

import argparse
import datetime
import io
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "root"))

import harness
import training


class Folder:
    """What training.attach() needs of a test's bench."""

    def __init__(self, path):
        self.scratch = path
        self.processes = []
        path.mkdir(parents=True, exist_ok=True)

    def keep(self, process):
        self.processes.append(process)
        return process

    def process(self, argv, **options):
        return self.keep(harness.Process(argv, **options))

    def tracer(self, *args, **options):
        return self.keep(harness.Tracer([str(a) for a in args], **options))

    def close(self):
        for process in self.processes:
            process.kill()


def ms(ns):
    return "-" if ns is None else "%.2f ms" % (ns / 1e6) if ns < 1e8 else "%.0f ms" % (ns / 1e6)


def percent(part, whole):
    return "%.2f %%" % (100 * part / whole) if whole else "-"


def table(out, head, rows):
    out.write("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head) + "\n")
    for row in rows:
        out.write("| " + " | ".join(str(cell) for cell in row) + " |\n")


def machine(runs, out):
    model = "?"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
    version = harness.gctrace("--version").stdout.decode().strip()
    commit = subprocess.run(
        ["git", "-C", HERE, "describe", "--always", "--dirty"], stdout=subprocess.PIPE
    ).stdout.decode().strip()
    out.write("%s (%s), %s: %d cores, %s, Linux %s; load average at the start %.1f.\n" % (
        version, commit, datetime.date.today(), os.cpu_count(), model, platform.release(),
        os.getloadavg()[0]))


class All:
    def __init__(self, given):
        self.folder = Folder(given.output)
        self.environments = {e.name: e for e in training.load_environments()}
        self.known = {}

    def of(self, kind):
        return sorted(
            (e for e in self.environments.values() if e.kind == kind), key=lambda e: (e.minor, e.name)
        )

    def train(self, name, environment, script, *args, options=()):
        """Trains once; a second call with the same name gets the same recording."""
        if name not in self.known:
            print("%s: %s %s" % (name, script, " ".join(map(str, args))), flush=True)
            self.known[name] = training.attach(
                self.folder, environment, script, *args, options=options, name=name
            )
        return self.known[name]


def step_row(name, trained):
    true = len(trained.truth.steps)
    if not trained.track:
        return [name, "none", "-", true, 0, "-", 0, "-", "-"]
    exact, invented = trained.boundaries()
    changes = ", ".join("%d → %d" % (c["from"], c["to"]) for c in trained.track["changes"])
    return [
        name,
        "`%s`" % trained.track["signal"],
        changes or trained.track["per_step"],
        true,
        len(trained.steps),
        "%.1f %%" % (100 * exact / true),
        invented,
        ms(trained.track["period_ns"]),
        "%.2f" % trained.track["confidence"],
    ]


STEP_HEAD = ["Workload", "Signal", "A step", "True steps", "Found", "Exact", "Invented", "Period",
             "Confidence"]


def steps(runs, out):
    rows = []
    for e in runs.of("torch"):
        rows.append(step_row("CNN, " + e.name, runs.train("cnn-" + e.name, e, "torch_cnn.py")))
        rows.append(step_row("checkpointing, " + e.name, runs.train(
            "checkpoint-" + e.name, e, "torch_checkpoint.py", "--width", 32, "--layers", 2,
            "--steps", 307)))
        accumulated = runs.train("accumulate-" + e.name, e, "torch_accumulate.py", "--steps", 401)
        rows.append(step_row("accumulation, " + e.name, accumulated))
        rows.append(step_row("the same by `--step torch:backward`",
                             accumulated.again("--step", "torch:backward")))
        rows.append(step_row("DataLoader, " + e.name, runs.train(
            "loader-" + e.name, e, "torch_dataloader.py")))
    for e in runs.of("jax"):
        rows.append(step_row("Equinox, " + e.name, runs.train("equinox-" + e.name, e,
                                                              "equinox_train.py")))
        rows.append(step_row("Equinox, batch doubled, evaluations, " + e.name, runs.train(
            "grow-" + e.name, e, "equinox_train.py", "--grow", "--evaluate", 53, "--steps", 401)))
        rows.append(step_row("several functions, " + e.name, runs.train(
            "several-" + e.name, e, "jax_accumulate.py", "--steps", 401)))
    rows.append(step_row("plain Python", runs.train("plain", None, "plain.py", "--steps", 1009)))
    table(out, STEP_HEAD, rows)


def between(track, form):
    """The ends of the interval; none where they are the same."""
    low, high = form(track["cost_low_ns"]), form(track["cost_high_ns"])
    return None if low == high else "%s – %s" % (low, high)


def lost(track):
    if track["cost_ns"] is None:
        return "cannot be told"
    ends = between(track, lambda ns: "%.2f" % (100 * ns / track["time_ns"]))
    return percent(track["cost_ns"], track["time_ns"]) + (" (%s)" % ends if ends else "")


def cost_row(name, trained):
    track = trained.track
    return [
        name,
        ms(track["p50_ns"]),
        ms(track["p99_ns"]),
        ms(track["max_ns"]),
        len(trained.in_training()),
        percent(track["overlap_ns"], track["time_ns"]),
        lost(track),
        "every %.0f: %.1f ×" % (track["slow_every"], track["slow_ratio"])
        if track["slow_steps"] > 2 else track["slow_steps"] or "none",
    ]


COST_HEAD = ["", "Median step", "p99", "Worst", "Pauses", "Stopped", "Lost (95 %)",
             "Slow steps by GC"]


def settings(runs, out):
    for e in runs.of("torch"):
        rows = [
            cost_row(setting, runs.train(
                "%s-%s" % (setting, e.name), e, "torch_cnn.py", "--gc", setting, "--steps", 127,
                "--annotated", 3000))
            for setting in ("threshold10", "threshold1000", "disabled", "every")
        ]
        out.write("\n%s\n" % e.name)
        table(out, COST_HEAD, rows)


# The flag of equinox_train.py that does what a piece of advice says.
def cure(advice):
    if advice["advice"] == "freeze":
        return ("--freeze",)
    if advice["advice"] == "disable":
        return ("--manual", 10**6)
    if advice["advice"] == "manual" and advice["every"]:
        return ("--manual", advice["every"])
    if advice["advice"] == "threshold":
        return ("--threshold", advice["line"].split("(")[1].split(",")[0].rstrip(")"))
    return None


def advice(runs, out):
    for e in runs.of("jax"):
        before = runs.train("equinox-" + e.name, e, "equinox_train.py")
        rows = [cost_row("before", before)]
        promises = []
        for item in before.records.of("advice"):
            flags = cure(item)
            if not flags:
                continue
            after = runs.train("equinox-%s-%s" % (item["advice"], e.name), e, "equinox_train.py",
                               *flags)
            rows.append(cost_row(item["advice"], after))
            measured = before.settled_pauses() - after.settled_pauses()
            promises.append([
                "`%s`" % item["line"],
                "%s (%s – %s)" % (ms(item["saves_ns"]), ms(item["saves_low_ns"]),
                                  ms(item["saves_high_ns"])),
                ms(measured),
                "%.2f" % (measured / item["saves_ns"]) if item["saves_ns"] else "-",
                "not known" if item["grows_objects"] is None else item["grows_objects"],
            ])
        out.write("\nEquinox, %s\n" % e.name)
        table(out, COST_HEAD, rows)
        table(out, ["Advice", "Predicted saving (range)", "Saved", "Measured ÷ predicted",
                    "Garbage objects kept"], promises)


def workers(runs, out):
    rows = []
    for e in runs.of("torch"):
        for name, flags in (("consumer waits", ("--model", "small")),
                            ("workers ahead", ("--model", "large", "--length", 8))):
            trained = runs.train("%s-%s" % (name.replace(" ", "-"), e.name), e,
                                 "torch_dataloader.py", *flags)
            track = trained.track
            pauses = [p for p in trained.records.pauses if p["pid"] != trained.pid]
            spans = training.united((p["start_ns"], p["end_ns"]) for p in pauses)
            waited = sum(
                training.shared(span, wait)
                for span in spans for wait in trained.truth.phases["wait"]
            )
            rows.append(["%s, %s" % (name, e.name), len(pauses), ms(track["worker_ns"]),
                         ms(waited), ms(track["worker_waited_ns"])])
    table(out, ["", "Pauses in workers", "Their length", "Of it the consumer waited (truth)",
                "Charged"], rows)


def injected(runs, out):
    rows = []
    for sleep, every in ((20, 7), (5, 7), (20, 1), (200, 47)):
        trained = runs.train(
            "injected-%d-%d" % (sleep, every), None, "injected.py", "--sleep", sleep, "--every",
            every, options=("--step", "libc.so.6:srand48"))
        put = trained.truth.total("inject")
        track = trained.track
        rows.append([
            "%d ms every %sstep" % (sleep, "" if every == 1 else "%dth " % every),
            ms(put), ms(track["overlap_ns"]),
            *(["cannot be told", "-", "-"] if track["cost_ns"] is None else [
                ms(track["cost_ns"]),
                "%+.2f %%" % (100 * (track["cost_ns"] - put) / put),
                between(track, ms) or "-"]),
        ])
    table(out, ["Injected", "In all (truth)", "Stopped", "Lost", "Error", "95 %"], rows)


def verdict(runs, out):
    for e in runs.of("jax")[:1]:
        trained = runs.train("equinox-" + e.name, e, "equinox_train.py")
        out.write("\n> %s\n" % trained.records.summary["verdict"])


PARTS = {"machine": machine, "verdict": verdict, "steps": steps, "settings": settings,
         "advice": advice, "workers": workers, "injected": injected}


def draw(runs, folder):
    """The Equinox training as a flame graph and, where there is Chromium, the top of its page."""
    e = runs.of("jax")[0]
    trained = runs.train("equinox-" + e.name, e, "equinox_train.py")
    page = runs.folder.scratch / "equinox.html"
    for args in (
        ("-f", "flamegraph", "--min-generation", 1, "-o", folder / "equinox.svg"),
        ("-f", "html", "-o", page),
    ):
        done = harness.gctrace("report", trained.file, *args)
        assert done.returncode == 0, done.stderr.decode()
    browser = shutil.which("chromium")
    if browser:
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--window-size=1200,1720", "--screenshot=%s" % (folder / "equinox.png").resolve(),
             page.resolve().as_uri()],
            stderr=subprocess.DEVNULL, check=True, timeout=120,
        )


def insert(path, name, text):
    """Replaces the text between the marks of @name."""
    page = path.read_text()
    marks = "<!-- %s -->" % name, "<!-- end of %s -->" % name
    pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
    assert re.search(pattern, page, re.S), "%s has no place for %s" % (path, name)
    fresh = "%s\n%s\n%s" % (marks[0], text.strip("\n"), marks[1])
    path.write_text(re.sub(pattern, lambda _: fresh, page, flags=re.S))


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--output", type=Path, default=Path("workloads-out"), help="folder")
    options.add_argument("--only", nargs="*", choices=sorted(PARTS), default=list(PARTS))
    options.add_argument("--docs", action="store_true", help="rewrite docs/workloads.md")
    given = options.parse_args()
    if not os.access(os.environ.get("GCTRACE", ""), os.X_OK):
        sys.exit("GCTRACE must name the gctrace binary")
    docs = HERE.parent.parent / "docs"
    runs = All(given)
    try:
        for name in given.only:
            out = io.StringIO()
            PARTS[name](runs, out)
            (given.output / (name + ".md")).write_text(out.getvalue())
            if given.docs:
                insert(docs / "workloads.md", name, out.getvalue())
        draw(runs, docs / "pictures" if given.docs else given.output)
    finally:
        runs.folder.close()


if __name__ == "__main__":
    main()
