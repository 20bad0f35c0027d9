"""What kernels.py runs as root in an emulated machine whose nanosecond is an instruction.

In: /work/gctrace. Out: one JSON object on the last line: instructions, KiB, by way of probing.
"""
import gc
import json
import os
import subprocess
import sys
import time

GCTRACE = "/work/gctrace"
COLLECTIONS = 10007
WAYS = {"as found": "", "by uprobe_multi": "session", "by perf uprobes": "session,multi"}


def cpu_ns():
    return time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)


def subject():
    """Collects whenever it is asked to, and reports what one collection cost this thread."""
    gc.disable()
    for _ in sys.stdin:
        begun = cpu_ns()
        for _ in range(COLLECTIONS):
            gc.collect(0)
        print((cpu_ns() - begun) / COLLECTIONS, flush=True)


class Subject:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, __file__, "subject"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.cost()  # the caches are warm from here on

    def cost(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def of_bpf(pause_programs=("on_collect_",)):
    """Instructions of BPF programs for one collection, by the kernel's own statistics."""
    programs = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], check=True,
                                         stdout=subprocess.PIPE).stdout)
    ours = [p for p in programs if p.get("name", "").startswith(pause_programs)]
    return sum(p.get("run_time_ns", 0) for p in ours) / (2 * COLLECTIONS)


def statistics(on):
    with open("/proc/sys/kernel/bpf_stats_enabled", "w", encoding="ascii") as stream:
        stream.write("%d" % on)


def traced(refuse):
    """Costs while gctrace records; its own until it is attached; its memory."""
    target = Subject()
    untraced = target.cost()
    tracer = subprocess.Popen(
        [GCTRACE, "record", "-p", str(target.process.pid), "-o", "/tmp/x.gct"],
        stderr=subprocess.PIPE, text=True, env=dict(os.environ, GCTRACE_REFUSE=refuse))
    for line in tracer.stderr:
        if "tracing;" in line:
            break
    else:
        raise SystemExit("gctrace did not get so far")
    with open("/proc/%d/schedstat" % tracer.pid, encoding="ascii") as stream:
        attach = int(stream.read().split()[0])
    cost = target.cost()
    statistics(True)
    target.cost()
    target.cost()
    bpf = of_bpf()
    statistics(False)
    target.end()
    usage = os.wait4(tracer.pid, 0)[2]
    return {"untraced": untraced, "added": cost - untraced, "bpf": bpf, "attach": attach,
            "rss_kib": usage.ru_maxrss}


def main():
    if sys.argv[1:] == ["subject"]:
        subject()
        return
    print(json.dumps({name: traced(refuse) for name, refuse in WAYS.items()}), flush=True)


if __name__ == "__main__":
    main()
