#!/usr/bin/env python3
"""What tracing adds to a JVM's safepoints, takes of its throughput, and loses in a storm of them.

usage: safepoint.py GCTRACE [-r ROUNDS] [--jvm NAME] [--only cost|work|storm]

cost: CPU time of the VM Thread for one of the shortest safepoints (findDeadlockedThreads), beside
empty programs at the same places (read from bpftool). work: an allocating loop under G1, traced and
untraced in pairs. storm: thread dumps back to back, recorded; counted against the JVM's own counter.
Exit status 1: gctrace costs more than 1.3 × the floor, or lost a safepoint.
"""
import argparse
import atexit
import collections
import json
import os
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile

import bench

MOST = 1.3
BATCH, BATCHES = 1500, 12  # safepoints
WORK_ROUNDS = 36
STORM = 40009  # a prime
JVMS = {
    "17": "/usr/lib/jvm/java-17-openjdk-amd64",
    "temurin-25": "/usr/lib/jvm/temurin-25-jdk-amd64",
}


def build():
    """A folder with the floor and the subject's class, or Skip."""
    folder = bench.build_floor()
    for command in (
            ["cc", "-std=gnu17", "-O2", "-D_GNU_SOURCE", bench.HERE / "safepoint_floor.c",
             "-o", folder + "/safepoint_floor", "-lbpf"],
            ["javac", "--release", "11", "-d", folder, bench.HERE / "safepoint_storm.java"]):
        if not shutil.which(command[0]):
            raise bench.Skip("no " + command[0])
        done = bench.run(*command)
        if done.returncode:
            raise bench.Skip("it cannot be built: " + bench.last_line(done.stderr))
    return folder


class Jvm:
    """A JDK with a libjvm of its own, so that nobody else's probes are on its file."""

    def __init__(self, name, home, classes):
        self.name, self.home, self.classes = name, pathlib.Path(os.path.realpath(home)), classes
        self.folder = tempfile.mkdtemp(prefix="gctrace-bench-jvm-")
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        bench.run("cp", "-rsT", self.home, self.folder)
        self.library = pathlib.Path(self.folder) / "lib/server/libjvm.so"
        self.library.unlink()
        shutil.copy2(self.home / "lib/server/libjvm.so", self.library)

    def subject(self, *options):
        return bench.Subject([self.home / "bin/java", "-XXaltjvm=%s" % self.library.parent,
                              "-Xmx256m", *options, "-cp", self.classes, "Storm"],
                             dict(os.environ))


def start_gctrace(binary, pid, *options):
    tracer = bench.Tracer([binary, "-p", pid, "--json", *options])
    tracer.wait_says("Ctrl-C ends it")
    return tracer


def sites(tracer):
    """File offsets in libjvm that @tracer has probed; the file's name as the kernel knows it."""
    done = bench.run("bpftool", "-j", "perf", "show")
    found = collections.defaultdict(set)
    for row in json.loads(done.stdout or "[]"):
        if row["pid"] == tracer.pid and row.get("fd_type") == "uprobe":
            found[row["filename"]].add(row["offset"])
    if not found:
        raise bench.Skip("bpftool does not say where the probes are")
    return max(found.items(), key=lambda item: len(item[1]))


def vm_thread(pid):
    for path in pathlib.Path("/proc/%d/task" % pid).iterdir():
        if (path / "comm").read_text() == "VM Thread\n":
            return path / "schedstat"
    raise bench.Skip("it has no thread \"VM Thread\"")


def batches(subject, schedstat):
    """CPU time of the VM Thread for one safepoint, ns, of each batch."""
    result = []
    for _ in range(BATCHES):
        before = int(schedstat.read_text().split()[0])
        subject.ask("find", BATCH)
        result.append((int(schedstat.read_text().split()[0]) - before) / BATCH)
    return result


def pin(pid):
    """Pins it to one processor: waking a thread on another takes ten times what is measured."""
    for task in os.listdir("/proc/%d/task" % pid):
        os.sched_setaffinity(int(task), {max(os.sched_getaffinity(0))})


def measure_cost(binary, folder, jvm, rounds):
    """True: within the target."""
    subject = jvm.subject("-XX:+UseSerialGC")
    schedstat = vm_thread(subject.pid)
    pin(subject.pid)
    for _ in range(5):
        subject.ask("find", 5000)
    tracer = start_gctrace(binary, subject.pid)
    path, offsets = sites(tracer)
    tracer.stop()
    floor = [folder + "/safepoint_floor", folder + "/floor.bpf.o", path, *sorted(offsets)]
    times = collections.defaultdict(list)
    for _ in range(rounds):
        times["untraced"] += batches(subject, schedstat)
        for name, start in (("floor", lambda: bench.Tracer(floor)),
                            ("gctrace", lambda: start_gctrace(binary, subject.pid))):
            tracer = start()
            tracer.wait_says("ready" if name == "floor" else "Ctrl-C ends it")
            subject.ask("find", BATCH)
            times[name] += batches(subject, schedstat)
            tracer.stop()
    subject.end()
    base = statistics.median(times["untraced"])
    added = {name: statistics.median(values) - base for name, values in times.items()}
    ratio = added["gctrace"] / added["floor"]
    print("\n%s: one safepoint of the shortest kind, VM Thread on one processor, medians of %d batches" % (
        jvm.name, len(times["untraced"])))
    bench.table(("ns of CPU", "added", "× floor"), [
        ("untraced", "%.0f" % base, ""),
        ("floor: empty programs at the same %d places" % len(offsets), "+%.0f" % added["floor"],
         "1"),
        ("**gctrace**", "+%.0f" % added["gctrace"], "%.2f" % ratio)])
    return ratio <= MOST


def cpu_ns(pid):
    """CPU time of all threads that a process has now."""
    return sum(int(path.read_text().split()[0])
               for path in pathlib.Path("/proc/%d/task" % pid).glob("*/schedstat"))


def work(subject):
    """(elapsed, CPU) ns of a fixed amount of work."""
    before = cpu_ns(subject.pid)
    elapsed = subject.ask("work", WORK_ROUNDS)
    return elapsed, cpu_ns(subject.pid) - before


def measure_work(binary, jvm, rounds):
    subject = jvm.subject("-XX:+UseG1GC", "-XX:-UseDynamicNumberOfGCThreads")
    pin(subject.pid)
    for _ in range(3):
        work(subject)
    ratios = []
    for _ in range(rounds):
        before = work(subject)
        tracer = start_gctrace(binary, subject.pid)
        traced = work(subject)
        tracer.stop()
        after = work(subject)
        ratios.append([100 * (traced[i] / ((before[i] + after[i]) / 2) - 1) for i in (0, 1)])
    subject.end()
    for name, values in zip(("longer", "more CPU"), zip(*ratios)):
        print("%s: an allocating loop under G1 takes %+.2f %% %s when traced (quartiles %+.2f … "
              "%+.2f, %d pairs)" % (jvm.name, bench.spread(values)[0], name,
                                    *bench.spread(values)[1:], len(ratios)))


def safepoints_of(pid):
    """The JVM's own count, from its hsperf file."""
    done = bench.run("jcmd", pid, "PerfCounter.print")
    for line in done.stdout.splitlines():
        if line.startswith("sun.rt.safepoints="):
            return int(line.split("=")[1])
    raise bench.Skip("jcmd does not tell sun.rt.safepoints: " + bench.last_line(done.stderr))


def measure_storm(binary, jvm):
    """True: nothing lost."""
    subject = jvm.subject("-XX:+UseSerialGC")
    path = jvm.folder + "/storm.gct"
    tracer = bench.Tracer([binary, "record", "-p", subject.pid, "-o", path])
    tracer.wait_says("Ctrl-C ends it")
    before = safepoints_of(subject.pid)
    seconds = subject.ask("dump", STORM) / 1e9
    within = safepoints_of(subject.pid) - before
    tracer.stop()
    subject.end()
    database = sqlite3.connect(path)
    seen, = database.execute("SELECT count(*) FROM pause").fetchone()
    dumps, = database.execute("SELECT count(*) FROM safepoint JOIN string ON string.id = operation "
                              "WHERE text = 'ThreadDump'").fetchone()
    drops, = database.execute("SELECT coalesce(sum(count), 0) FROM drops").fetchone()
    missed, = database.execute("SELECT coalesce(sum(missed), 0) FROM runtime").fetchone()
    database.close()
    print("%s: %d thread dumps in %.1f s (%.0f a second), %d safepoints by the JVM's own count; "
          "recorded %d pauses, %d of them ThreadDump; %d drops, %d missed" % (
              jvm.name, STORM, seconds, STORM / seconds, within, seen, dumps, drops, missed))
    return not drops and not missed and seen >= within and dumps == STORM


def main():
    parser = argparse.ArgumentParser(description="cost of tracing a JVM")
    parser.add_argument("gctrace")
    parser.add_argument("-r", type=int, default=9, help="rounds")
    parser.add_argument("--jvm", help="only this one: " + ", ".join(JVMS))
    parser.add_argument("--only", choices=("cost", "work", "storm"))
    args = parser.parse_args()
    print(bench.versions(args.gctrace))
    folder, good = build(), True
    for name, home in JVMS.items():
        if args.jvm not in (None, name) or not os.path.exists(home):
            continue
        jvm = Jvm(name, home, folder)
        if args.only in (None, "cost"):
            good &= measure_cost(args.gctrace, folder, jvm, args.r)
        if args.only in (None, "work"):
            measure_work(args.gctrace, jvm, args.r)
        if args.only in (None, "storm"):
            good &= measure_storm(args.gctrace, jvm)
    return int(not good)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except bench.Skip as reason:
        print("skipped: %s" % reason)
        sys.exit(77)
