"""Recordings with steps, as test_html.py describes them to render_html.c, with the figures that the page must show."""
import random
import subprocess

START = 10**12  # ns on the clock of the recording
NONE = 2**32 - 1
TRAIN = "/srv/train/train.py"
STACKS = {  # outermost first
    0: [("<module>", TRAIN, 310), ("Trainer.fit", TRAIN, 201), ("Trainer.step", TRAIN, 131),
        ("Tensor.__init__", "/usr/lib/python3/dist-packages/torch/_tensor.py", 77)],
    1: [("<module>", TRAIN, 310), ("Trainer.fit", TRAIN, 201), ("Trainer.step", TRAIN, 133)],
    2: [("<module>", TRAIN, 310), ("Trainer.fit", TRAIN, 201), ("Trainer.step", TRAIN, 131),
        ("Node.link", "/srv/train/graph.py", 41)],
}


def hexed(text):
    return (text if isinstance(text, bytes) else text.encode()).hex() or "-"


def quantile(values, q):
    ordered = sorted(values)
    return ordered[max(0, -(-int(len(ordered) * q * 10000) // 10000) - 1)] if ordered else 0


class Track:
    def __init__(self, process, signal, note="", confidence=0.97, measured=True):
        self.process, self.signal, self.note = process, signal, note
        self.confidence, self.measured = confidence, measured
        self.steps = []  # (start, end, rss, overlap, cost, base, pauses, worst, generation)
        self.outside, self.outside_ns = 0, 0
        self.source = 1  # enum cost_source: estimated
        self.changes = []

    def durations(self):
        return [step[1] - step[0] for step in self.steps]

    def without(self):
        return [step[1] - step[0] - step[4] for step in self.steps]

    @property
    def time(self):
        return sum(self.durations())

    @property
    def overlap(self):
        return sum(step[3] for step in self.steps)

    @property
    def cost(self):
        return sum(step[4] for step in self.steps)


class Recording:
    def __init__(self, title="run.gct"):
        self.title = title
        self.processes, self.tracks, self.pauses, self.triggers, self.advices = [], [], [], [], []
        self.frames, self.nodes, self.signals, self.candidates, self.drops = {}, {}, [], [], []
        self.complete, self.cut_off, self.damage, self.note, self.host = True, False, "", "", "node23"
        self.elsewhere, self.elsewhere_ns, self.fails = 0, 0, False
        self.jvms, self.safepoints, self.threads, self.stalls, self.phases, self.callers = {}, {}, [], [], [], []
        self.end = START
        self.gpu_memory, self.gpu_memory_total = {}, False  # bytes by the step of the first track at whose end they were
        self.gpus = []  # (process, number, from, until, [(idle from, until, because of pauses), ...], [(unknown from, until), ...])

    def process(self, pid, comm="python3", missed=0, collector=None):
        self.processes.append((pid, comm, missed))
        if collector:
            self.jvms[len(self.processes)] = collector
        return len(self.processes)

    def safepoint(self, pause, operation, cause="", times=(-1, -1, -1, -1), heap=(-1, -1), collections=(-1, -1),
                  tid=0, late=-1, late_stack=0):
        self.safepoints[pause] = " ".join(map(str, (hexed(operation), hexed(cause), *times, *heap, *collections,
                                                    tid, late, late_stack)))

    def frame(self, function, file, line):
        return self.frames.setdefault((function, file, line), len(self.frames) + 1)

    def stack(self, frames):
        node = 0
        for frame in frames:
            node = self.nodes.setdefault((node, self.frame(*frame)), len(self.nodes) + 1)
        return node

    def pause(self, start, ns, process, generation, stack, collected=23, track=NONE, step=NONE,
              cost=0,
              cause=1, worker=0, flags=0):
        self.pauses.append((start, start + ns, process, generation, cause, flags, collected, -1, -1,
                            stack,
                            track, step, ns if track != NONE and step != NONE else 0, cost, worker))
        self.end = max(self.end, start + ns)
        return len(self.pauses) - 1

    def lines(self):
        yield "recording {} {} {} {} {} {} {} {}".format(
            START, self.end, 1790000000 * 10**9 - START, int(self.complete), int(self.cut_off), hexed(self.damage),
            hexed(self.host), hexed(self.note))
        for number, (pid, comm, missed) in enumerate(self.processes, 1):
            yield f"process {pid} {hexed(comm)} {missed}"
            if number in self.jvms:
                yield "jvm " + hexed(self.jvms[number])
        for function, file, line in self.frames:
            yield f"frame {hexed(function)} {hexed(file)} {line}"
        for parent, frame in self.nodes:
            yield f"node {parent} {frame}"
        for count, cause, remedy in self.drops:
            yield f"drop {count} {hexed(cause)} {hexed(remedy)}"
        for name, probe, hits, let_go in self.signals:
            yield f"signal {hexed(name)} {hexed(probe)} {hits} {let_go}"
        for process, marks, per_second, per_step, variation, confidence, chosen, signal, why in self.candidates:
            yield (f"candidate {process} {marks} {per_second} {per_step} {variation} {confidence} {chosen} "
                   f"{hexed(signal)} {hexed(why)}")
        for track in self.tracks:
            yield from self.track_lines(track)
        for i, pause in enumerate(self.pauses):
            yield "pause %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d" % pause
            if i in self.safepoints:
                yield "safepoint " + self.safepoints[i]
        for process, tid, name in self.threads:
            yield f"thread {process} {tid} {hexed(name)}"
        for stall in self.stalls:
            yield "stall %d %d %d %d %d" % stall
        for start, end, runtime, name in self.phases:
            yield f"phase {start} {end} {runtime} {hexed(name)}"
        for process, thread, *figures in self.callers:
            yield f"caller {process} {hexed(thread)} " + " ".join(map(str, figures))
        for process, number, start, end, idles, unknown in self.gpus:
            yield "gpu %d %d %d %d %d %d %d" % (process, number, start, end, sum(b - a for a, b in unknown),
                                                sum(b - a for a, b, _ in idles), sum(p for *_, p in idles))
            for span in unknown:
                yield "unknown %d %d" % span
            for idle in idles:
                yield "idle %d %d %d" % idle
            if self.gpu_memory_total:
                yield "total"
        for memory in self.gpu_memory.items():
            yield "memory %d %d" % memory
        for trigger in self.triggers:
            yield "trigger %d %d %d %d %d" % trigger
        for kind, process, saves, low, high, share, *texts in self.advices:
            yield f"advice {kind} {process} {saves} {low} {high} {share} " + " ".join(map(hexed,
                                                                                          texts))
        yield f"elsewhere {self.elsewhere} {self.elsewhere_ns}"
        if self.fails:
            yield "failure"

    @staticmethod
    def track_lines(track):
        durations, without = track.durations(), track.without()
        period = quantile(durations, 0.5)
        yield (f"track {track.process} 1 {period} {int(track.measured)} 0.021 {track.confidence} "
               f"{hexed(track.signal)} {hexed(track.note)}")
        for change in track.changes:
            yield "change %d %d %d" % change
        figures = [0 if track.steps else 2, track.source, sum(durations),
                   sum(step[6] for step in track.steps) + track.outside,
                   track.overlap + track.outside_ns, track.overlap, track.outside, track.outside_ns, 0, 0, 0,
                   track.cost, int(track.cost * 0.97), int(track.cost * 1.04)]
        for values in (durations, without):
            figures += [quantile(values, q) for q in (0.5, 0.95, 0.99)]
            figures += [max(values, default=0), sum(values) // max(1, len(values))]
        yield "costs " + " ".join(map(str, figures))
        for step in track.steps:
            yield "step %d %d %d %d %d %d %d %d %d" % step

    def render(self, program, path):
        text = "\n".join(self.lines()) + "\n"
        with open(path, "wb") as out:
            subprocess.run([program, self.title], stdout=out, input=text.encode(), check=True,
                           timeout=300)
        return path


def add_training(recording, process, steps=1009, every=97, seed=23, base=20_000_000, odd=None,
                 at=START + 50_000_000):
    """Steps of @base ns; gen 0 in every 3rd, gen 1 in every 31st, gen 2 in every @every-th; step @odd is slow, not by GC."""
    rng = random.Random(seed)
    index = len(recording.tracks)
    track = Track(process, "torch:record Optimizer.step#Adam.step")
    recording.tracks.append(track)
    stacks = {g: recording.stack(frames) for g, frames in STACKS.items()}
    rss = 1_200 << 20
    for i in range(steps):
        plain = int(base * rng.gauss(1, 0.02)) + (1_700_000_000 if i == odd else 0)
        start, inside, worst, oldest = at + plain // 5, [], NONE, -1
        if every and i % every == every - 1:
            inside.append((2, rng.randrange(90_000_000, 104_000_000)))
        elif i % 31 == 30:
            inside.append((1, rng.randrange(1_700_000, 2_300_000)))
        if i % 3 == 2:
            inside.append((0, rng.randrange(240_000, 390_000)))
        overlap = 0
        for generation, ns in inside:
            pause = recording.pause(start, ns, process, generation, stacks[generation],
                                    23 + 97 * generation, index, i, ns)
            worst = pause if worst == NONE else worst
            oldest = max(oldest, generation)
            overlap += ns
            start += ns + plain // 7
        rss += rng.randrange(0,
                             90_000) - (60 << 20 if every and i % every == every - 1 and rss > 1_260 << 20 else 0)
        end = at + plain + overlap
        track.steps.append((at, end, rss, overlap, overlap, base, len(inside), worst, oldest))
        at = end
        if i % 503 == 502:  # an evaluation phase, with one pause in it
            recording.pause(at + 100_000_000, 2_300_000, process, 1, stacks[1], track=index)
            track.outside, track.outside_ns = track.outside + 1, track.outside_ns + 2_300_000
            at += 800_000_000
    recording.end = max(recording.end, at + 20_000_000)
    return track


def add_triggers(recording):
    """By the innermost frame of each stack that is not a library's, dearest first."""
    sums = {}
    for start, end, *_, collected, _before, _after, stack, _track, _step, _overlap, cost, _worker in recording.pauses:
        line = sums.setdefault(stack, [0, 0, 0, 0])
        for i, value in enumerate((1, end - start, cost, collected)):
            line[i] += value
    own = {recording.stack(frames): recording.frame(*[f for f in frames if "dist-packages" not in f[1]][-1])
           for frames in STACKS.values()}
    recording.triggers = sorted(((own.get(stack, 0), *line) for stack, line in sums.items()),
                                key=lambda trigger: -trigger[3])


def training(title="run.gct", **options):
    recording = Recording(title)
    process = recording.process(1234)
    track = add_training(recording, process, **options)
    add_triggers(recording)
    saved = sum(end - start for start, end, _, generation,
                *_ in recording.pauses if generation == 2)
    recording.advices = [
        (1, process, saved, int(saved * 0.96), int(saved * 1.05), saved / max(1, track.time),
         "Call gc.freeze() once, after warm-up", "gc.collect(); gc.freeze()",
         "The 1,204,331 objects that survive warm-up would no longer be traversed: generation 2 would take "
         "1.9 ms instead of 97 ms.", "What is garbage when it is called is never freed: 23 MiB at most."),
        (2, process, saved * 9 // 10, int(saved * 0.8), int(saved * 0.97),
         saved * 0.9 / max(1, track.time),
         "Raise the threshold of generation 2", "gc.set_threshold(700, 10, 100)",
         "One full collection in 970 steps instead of one in 97.",
         "Garbage of up to 41,000 objects would stay alive longer: about 12 MiB."),
    ]
    recording.signals = [("torch:record",
                          "libtorch_cpu.so: _ZN5torch8autograd8profiler25record_function_enter_new+4 (push)",
                          len(track.steps) * 12, 0),
                         ("torch:backward", "libtorch_cpu.so: _ZN5torch8autograd6Engine7executeE+0",
                          len(track.steps), 0),
                         ("torch:gemm", "libtorch_cpu.so: sgemm_", 1_203_331, START + 10**9)]
    recording.candidates = [
        (process, len(track.steps), 46.1, 1, 0.021, 0.97, 1, track.signal, "chosen"),
        (process, len(track.steps), 46.1, 1, 0.021, 0.93, 0, "torch:backward",
         "also one a step; the optimizer goes first"),
        (process, 23_111, 12_000.0, 0, 0.9, 0, 0, "torch:gemm", "let go at 12,000/s")]
    return recording


def without_steps(seed=11):
    recording = Recording("nosteps.gct")
    rng = random.Random(seed)
    processes = [recording.process(1301), recording.process(1302, "loader")]
    stacks = {g: recording.stack(frames) for g, frames in STACKS.items()}
    at = START
    for i in range(743):
        g = 2 if i % 37 == 36 else 1 if i % 7 == 6 else 0
        at += rng.randrange(1_000_000, 60_000_000)
        recording.pause(at, int(rng.lognormvariate((11.2, 13.4, 17.4)[g], 0.4)),
                        processes[i % 5 == 0], g, stacks[g])
    recording.end = at + 10**9
    recording.note = "no step signal: no function of a known framework was called; name one with --step."
    recording.elsewhere = len(recording.pauses)
    recording.elsewhere_ns = sum(p[1] - p[0] for p in recording.pauses)
    return recording


NO_COLLECTION, FULL, INEXACT = 8, 16, 128
JAVA = [("com.example.Main.main", "Main.java", 23), ("com.example.Trainer.fit", "Trainer.java", 97)]


def jvm(pauses=101, mixed=False):
    """Young collections, every 7th safepoint a thread dump that a thread kept waiting, every 31st a full collection."""
    recording = Recording("jvm.gct")
    process = recording.process(4711, "java", collector="G1")
    if mixed:
        python = recording.process(4712)
    stack, late = recording.stack(JAVA), recording.stack([("com.example.Kernel.loop", "Kernel.java", 11)])
    recording.threads = [(process, 7, "main"), (process, 23, "<b>worker</b>")]
    at = START
    for i in range(pauses):
        at += 11_000_000
        if i % 7 == 6:
            pause = recording.pause(at, 5_000_000 + i, process, -1, 0, -1, cause=0, flags=NO_COLLECTION)
            recording.safepoint(pause, "ThreadDump", times=(4_900_000, 0, 100_000, i), tid=7, late=23, late_stack=late)
        elif i % 31 == 30:
            pause = recording.pause(at, 61_000_000 + i, process, 1, stack, -1, cause=4, flags=FULL)
            recording.safepoint(pause, "G1CollectFull", "System.gc()", (100_000, 0, 60_900_000, i),
                                (200 << 20, 90 << 20), (1, 1), 7)
        else:
            pause = recording.pause(at, 2_000_000 + i, process, 0, stack, -1, cause=4,
                                    flags=INEXACT if i == 1 else 0)
            recording.safepoint(pause, "G1CollectForAllocation", "G1 Evacuation Pause", (100_000, 0, 1_900_000, i),
                                (512 << 20, (98 << 20) + i), (1, 0), 7)
        if mixed:
            recording.pause(at + 9_000_000, 300_000, python, i % 3, 0)
        at = recording.end
    recording.stalls = [(START + i * 10**6, START + i * 10**6 + 47_000_000 * (i + 1), 1, 1 + i % 3, i % 2 or -1)
                        for i in range(5)]
    recording.phases = [(START, START + 3 * 10**8, 1, "Concurrent Mark"), (START, START + 10**8, 1, "<i>phase</i>")]
    recording.callers = [(process, "DeallocatorServ", 1, 2, 23, 19, 470_000_000, 180_000_000, 500_000_000, 1)]
    recording.end = at + 10**9
    recording.elsewhere = len(recording.pauses)
    recording.elsewhere_ns = sum(p[1] - p[0] for p in recording.pauses)
    return recording
