"""What is checked of gctrace on a GPU. Each check takes a framework (programs.py) and returns a Result."""

import bisect
import gzip
import json
import math
import statistics
from dataclasses import dataclass, field

import machine

POINTS = 3  # by which the cost that is stated may differ from the difference in wall time, in % of it
BUSY_SHARE = 0.05  # by which a step's busy time may differ between two runs of the same steps
UTILISATION = 0.10  # NVML's own figure is of periods of its own
ACTIVE, DORMANT = 0.01, 0.005  # of the wall time; where pairs differ by more among themselves, that counts
IDLE_NS = 50000
EVERY = 53


@dataclass
class Result:
    check: str
    framework: str
    ok: bool | None  # None: it cannot be judged
    sentence: str
    columns: list = field(default_factory=list)
    rows: list = field(default_factory=list)


def percent(share):
    return "–" if share is None else "%.2f %%" % (100 * share)


def ms(ns):
    return "–" if ns is None else "%.3f" % (ns / 1e6)


def spread(values):
    """The middle of what they are, and half of how far the middle half of them is apart."""
    values = sorted(values)
    quarter = len(values) // 4
    return statistics.median(values), (values[-1 - quarter] - values[quarter]) / 2


# ── what the shim costs ──


def overhead(framework, steps, pairs, small):
    """Wall time of the same loop without anything, beside a shim that sleeps, and traced; by turns, each first now and then."""
    ways = {"none": framework.plain, "dormant": framework.dormant,
            "traced": lambda *args: framework.recorded(*args).told}
    args = ["--steps", str(steps), "--small", str(small)]
    seconds = {way: [] for way in ways}
    for turn in range(pairs):
        order = list(ways)[turn % 3:] + list(ways)[:turn % 3]
        for way in order:
            seconds[way].append(ways[way](*args)["seconds"])
    noise = spread([s / statistics.median(seconds["none"]) for s in seconds["none"]])[1]
    rows, ok = [], True
    for way, most in (("dormant", DORMANT), ("traced", ACTIVE)):
        more, around = spread([s / n - 1 for s, n in zip(seconds[way], seconds["none"])])
        ok &= more <= max(most, noise, around)
        rows.append([way, percent(more), "± " + percent(around), percent(most)])
    rows.append(["none, among themselves", "", "± " + percent(noise), ""])
    what = "a loop of %d short kernels a step" % small if small else "training"
    sentence = "%s: dormant %s, traced %s (median of %d pairs with no shim)" % (what, rows[0][1], rows[1][1], pairs)
    return Result("overhead", framework.name, ok, sentence, ["", "longer by", "pairs differ by", "at most"], rows)


# ── busy and idle ──


def union_of(trace):
    """By device, when it had work in a profiler's trace, by brute force; ns."""
    opener = gzip.open if str(trace).endswith(".gz") else open
    with opener(trace, "rt", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    spans = {}
    for event in events:
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            start = float(event["ts"]) * 1000
            spans.setdefault(event["args"].get("device", 0), []).append((start, start + float(event.get("dur", 0)) * 1000))
    unions = {}
    for device, works in spans.items():
        merged = []
        for start, end in sorted(works):
            if merged and start - merged[-1][1] < IDLE_NS:
                merged[-1][1] = max(end, merged[-1][1])
            else:
                merged.append([start, end])
        unions[device] = merged
    return unions


def check_reading(framework, profiled, trace):
    """gctrace's reading of the file against a reading of our own: the same idle intervals, to the µs."""
    unions = union_of(trace)
    rows, ok = [], True
    for device, merged in sorted(unions.items()):
        idle = [(merged[i][1], merged[i + 1][0]) for i in range(len(merged) - 1)]
        said = sorted((r["start_ns"], r["end_ns"]) for r in profiled.of("gpu_idle") if r["device"] == device)
        off = [abs((b - a) - (d - c)) for (a, b), (c, d) in zip(idle, said)]
        ok &= len(idle) == len(said) and max(off, default=0) < 1000
        rows.append([device, len(idle), len(said), ms(sum(b - a for a, b in idle)), ms(sum(b - a for a, b in said)),
                     "%.1f" % (max(off, default=0) / 1000)])
    sentence = "the profiler's file: %d idle intervals, %s by gctrace" % (
        sum(r[1] for r in rows), "the same" if ok else "others")
    return Result("reading", framework.name, ok and bool(rows), sentence,
                  ["device", "idle intervals", "by gctrace", "idle, ms", "by gctrace", "most apart, µs"], rows)


def busy_of(recorded):
    """Of its steps: the median busy time, and which share of all their time the device was idle."""
    steps = [s for s in recorded.of("step") if s.get("gpu_idle_ns") is not None]
    if not steps:
        return None, None
    busy = statistics.median(s["duration_ns"] - s["gpu_idle_ns"] for s in steps)
    return busy, sum(s["gpu_idle_ns"] for s in steps) / sum(s["duration_ns"] for s in steps)


def busy_idle(framework, steps, pairs):
    """A step's busy time by the shim and by the profiler, in two runs of the same steps: one user of CUPTI at a time."""
    args = ["--steps", str(steps), "--collect", str(EVERY), "--depth", "2"]
    rows, ratios, results = [], [], []
    for _ in range(pairs):
        shim = framework.recorded(*args)
        profiled, trace = framework.profiled(*args)
        (by_shim, idle), (by_profiler, idle_there) = busy_of(shim), busy_of(profiled)
        rows.append([ms(by_shim), ms(by_profiler), percent(idle), percent(idle_there)])
        if by_shim and by_profiler:
            ratios.append(by_shim / by_profiler)
        results.append(check_reading(framework, profiled, trace))
    ok = len(ratios) == pairs and abs(statistics.median(ratios) - 1) <= BUSY_SHARE
    sentence = "a step keeps the device busy for %s ms by the shim, %s ms by the profiler" % (rows[0][0], rows[0][1])
    busy = Result("busy", framework.name, ok, sentence,
                  ["busy a step, shim, ms", "profiler, ms", "idle, shim", "profiler"], rows)
    return [busy] + results[:1] + [r for r in results[1:] if not r.ok]


def utilisation(framework, here, steps):
    """NVML says which share of its last period any kernel ran: in the middle of a steady run that is the busy share."""
    with machine.Utilisation(here, framework.env) as nvml:
        recorded = framework.recorded("--steps", str(steps), "--depth", "4")
    gpu, said = recorded.gpu(), nvml.share()
    steady = busy_of(recorded)[1]
    share = None if steady is None else 1 - steady
    ok = bool(gpu) and said is not None and share is not None and abs(said - share) <= UTILISATION
    sentence = "NVML says %s, gctrace %s busy within steps" % (percent(said), percent(share))
    return Result("utilisation", framework.name, ok, sentence, ["NVML", "gctrace", "samples"],
                  [[percent(said), percent(share), len(nvml.samples)]])


# ── what pauses cost ──


def certain(values):
    """The median, and how far it may be off: half of its 95 % interval, by the ranks of a binomial distribution."""
    values = sorted(values)
    rank = max(0, math.floor(len(values) / 2 - 0.98 * math.sqrt(len(values))))
    return statistics.median(values), (values[-1 - rank] - values[rank]) / 2


def pairs_of(recorded):
    """Of each pair of blocks (what gctrace states, by how much longer the block with the collection took), in ns; None: untold."""
    blocks, steps = recorded.told["blocks"], sorted((s["start_ns"], s["cost_ns"]) for s in recorded.of("step"))
    starts = [start for start, _ in steps]
    pairs = []
    for two in zip(blocks[::2], blocks[1::2]):
        first, last = (bisect.bisect_left(starts, ns) for ns in (two[0]["begin_ns"], two[1]["end_ns"]))
        costs = [cost for _, cost in steps[first:last]]
        if not costs or None in costs:
            return None
        longer = sum((1 if block["on"] else -1) * (block["end_ns"] - block["begin_ns"]) for block in two)
        pairs.append((sum(costs), longer))
    return pairs


def cost_at(framework, depth, pairs):
    """A row of the table, and whether gctrace is right; None: by these pairs nobody can tell."""
    recorded = framework.recorded("--pairs", str(pairs), "--collect", str(EVERY), "--depth", str(depth))
    track, found = recorded.track(), pairs_of(recorded)
    on = statistics.median(b["end_ns"] - b["begin_ns"] for b in recorded.told["blocks"] if b["on"])
    if not track or track["cost_ns"] is None or not found:
        return [depth, "untold", "", "", "", "", "untold"], None
    apart, around = certain([100 * (stated - longer) / on for stated, longer in found])
    stated, longer = (statistics.median(values) / on for values in zip(*found))
    row = [depth, percent(stated), percent(longer), "%+.2f" % apart, "± %.2f" % around,
           "no" if around > POINTS else "yes", track["cost_source"]]
    return row, abs(apart) <= POINTS if around <= POINTS else None


def depths(framework, pairs, most):
    """Each queue in one process, blocks with and without a collection by turns: what else runs on the machine falls on both."""
    rows, verdicts = zip(*(cost_at(framework, depth, pairs) for depth in range(most + 1)))
    stated = any(row[1] != "untold" for row in rows)
    judged = [abs(float(row[3])) for row, ok in zip(rows, verdicts) if ok is not None]
    sentence = "queues of 0 to %d steps: what collections cost can be judged at %d of %d" % (most, len(judged), most + 1)
    if judged:
        sentence += ", and differs from wall time by %.2f points at most" % max(judged)
    if len(judged) <= most:
        sentence += "; the others cannot be judged: nothing is stated, or pairs differ by more than %d points among themselves" % POINTS
    ok = False if False in verdicts or not stated else None if None in verdicts else True
    return Result("cost", framework.name, ok, sentence,
                  ["steps ahead", "stated", "wall time differs by", "points apart", "within", "can be judged", "known by"], list(rows))


# ── the spike ──


def spike(framework, argv):
    """A training whose collections are its own: what they did to the steps, with the device's idle time beside it."""
    if argv is None:
        recorded = framework.recorded("--steps", "800", "--collect", "101", "--depth", "2", what="spike")
    else:
        recorded = framework.recorded(what="spike", argv=argv)
    recorded.write_pages()
    gpu = recorded.gpu()
    keys = ("duration_ns", "gpu_hidden_ns", "gpu_exposed_ns", "gpu_recovery_ns", "gpu_lost_ns")
    longest = sorted(recorded.of("pause"), key=lambda r: -r["duration_ns"])[:5]
    rows = [[ms(pause.get(key)) for key in keys] for pause in longest]
    ok = bool(gpu) and recorded.summary["steps"] > 0 and any(p.get("gpu_hidden_ns") is not None for p in longest)
    return Result("spike", framework.name, ok, recorded.summary["verdict"],
                  ["longest pauses, ms", "hidden", "exposed", "recovery", "lost"], rows)
