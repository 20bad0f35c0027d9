"""Simulated training loops: the same draws with pauses and without, and so what the pauses cost.

In: a Loop and a seed. Out: the times of its steps' marks, the work of the thread that makes them, its
pauses, and by how much later its last result was there than without the pauses. Times are ns.
"""

import math
import random
from collections import namedtuple
from types import SimpleNamespace

US = 1_000
MS = 1_000_000

# The first steps have no pauses, and neither have the last: what they cost would not show in a mark.
HEAD, TAIL = 8, 24

Pause = namedtuple("Pause", "start length generation")  # generation as of CPython: 2 is a full one
Planned = namedtuple("Planned", "fraction length generation")  # at this fraction of the step's work


# What a step takes: each returns a function of (random numbers, number of steps) to a list of ns.


def normal(mean, cv=0.05):
    return lambda chance, steps: [
        max(mean // 5, int(chance.gauss(mean, cv * mean))) for _ in range(steps)
    ]


def skewed(mean, cv):
    """Like a log-normal distribution but for the far end: no step is longer than 20 means."""

    def draw(chance, steps):
        spread = math.sqrt(math.log(1 + cv * cv))
        centre = math.log(mean) - spread * spread / 2
        return [min(20 * mean, int(chance.lognormvariate(centre, spread))) for _ in range(steps)]

    return draw


def kinds(*means, cv=0.05):
    """Kinds of steps in turn."""
    return lambda chance, steps: [
        int(chance.gauss(1, cv) * means[i % len(means)]) for i in range(steps)
    ]


def mixed(shares, cv=0.05):
    """Kinds of steps by chance; shares: {mean: probability}."""

    def draw(chance, steps):
        picked = chance.choices(list(shares), list(shares.values()), k=steps)
        return [int(chance.gauss(1, cv) * mean) for mean in picked]

    return draw


def trend(mean, to, cv=0.05):
    """From `mean` at the first step to `to` at the last."""
    return lambda chance, steps: [
        int(chance.gauss(1, cv) * (mean + (to - mean) * i / steps)) for i in range(steps)
    ]


def drift(mean, sway=0.3, memory=0.99, cv=0.05):
    """Slow ups and downs, as of a machine that others use too."""

    def draw(chance, steps):
        level, out = 0.0, []
        for _ in range(steps):
            level = memory * level + chance.gauss(0, sway * (1 - memory * memory) ** 0.5)
            out.append(max(mean // 5, int(mean * (1 + level) * chance.gauss(1, cv))))
        return out

    return draw


def shift(mean, to, at=0.5, cv=0.05):
    """Another batch size from there on."""
    return lambda chance, steps: [
        int(chance.gauss(1, cv) * (mean if i < at * steps else to)) for i in range(steps)
    ]


def also(draw, every, more, phase=0, cv=0.05):
    """Each step of `draw`, and `more` in one of `every`: a log line, a checkpoint, a shard."""

    def both(chance, steps):
        out = draw(chance, steps)
        for i in range(phase, steps, every):
            out[i] += int(chance.gauss(1, cv) * more)
        return out

    return both


def stretches(length, *draws):
    """So many steps of each in turn: epochs, data sets, stages of a curriculum."""

    def draw(chance, steps):
        drawn = [one(chance, steps) for one in draws]
        return [drawn[i // length % len(draws)][i] for i in range(steps)]

    return draw


def warm_up(draw, first, more):
    """The first so many steps take `more` at first, less with each: caches fill, functions are compiled."""

    def both(chance, steps):
        out = draw(chance, steps)
        for i in range(first):
            out[i] += more * (first - i) // first
        return out

    return both


def at_times(draw, probability, more):
    """Each step of `draw`, and with this probability some `more`, of any length up to twice that."""

    def both(chance, steps):
        out = draw(chance, steps)
        for i in range(steps):
            if chance.random() < probability:
                out[i] += int(chance.uniform(0, 2 * more))
        return out

    return both


# When there are pauses: each returns a function of (random numbers, the steps' work) to {step: [Planned]}.


def _length(chance, length, cv):
    return max(length // 5, int(chance.gauss(length, cv * length)))


def spaced(every, length, jitter=0.2, cv=0.1, generation=2):
    """One in about `every` steps, anywhere in the step; no jitter: locked to the steps."""

    def plan(chance, work):
        at, out = float(every + chance.random() * every), {}
        while at < len(work):
            out[int(at)] = [Planned(chance.random(), _length(chance, length, cv), generation)]
            at += max(1.0, chance.gauss(every, jitter * every)) if jitter else every
        return out

    return plan


def locked(every, length, phase=0, fraction=0.5, cv=0.1, generation=2):
    """In every `every`th step, at the same place."""
    return lambda chance, work: {
        i: [Planned(fraction, _length(chance, length, cv), generation)]
        for i in range(phase, len(work), every)
    }


def chance_of(probability, length, cv=0.1, generation=2):
    def plan(chance, work):
        return {
            i: [Planned(chance.random(), _length(chance, length, cv), generation)]
            for i in range(len(work))
            if chance.random() < probability
        }

    return plan


def allocated(every_ns, length, cv=0.1, generation=2):
    """One each time that the thread has worked for so long, as allocations would have it: the longer
    a step, the more likely it has one."""

    def plan(chance, work):
        due, done, out = every_ns * (0.5 + chance.random()), 0, {}
        for i, ns in enumerate(work):
            while done + ns > due:
                pause = Planned((due - done) / ns, _length(chance, length, cv), generation)
                out.setdefault(i, []).append(pause)
                due += every_ns * chance.uniform(0.9, 1.1)
            done += ns
        return out

    return plan


def after_long(least, length, cv=0.1):
    """At the end of each step with so much work: what made the work made the garbage."""
    return lambda chance, work: {
        i: [Planned(1.0, _length(chance, length, cv), 2)] for i, ns in enumerate(work) if ns >= least
    }


def bursts(every, count, length, cv=0.1):
    """`count` steps on end with a pause each, then some without: a heap that grows in leaps."""

    def plan(chance, work):
        out, at = {}, int(every * (0.5 + chance.random()))
        while at + count < len(work):
            for i in range(at, at + count):
                out[i] = [Planned(chance.random(), _length(chance, length, cv), 2)]
            at += int(every * chance.uniform(0.8, 1.2))
        return out

    return plan


def pairs(every, apart, first, second, cv=0.1):
    """One in about `every` steps, and so many steps later another: what the first did is not over then."""

    def plan(chance, work):
        at, out = every * (0.5 + chance.random()), {}
        while at + apart < len(work):
            out[int(at)] = [Planned(chance.random(), _length(chance, first, cv), 1)]
            out[int(at) + apart] = [Planned(chance.random(), _length(chance, second, cv), 2)]
            at += max(apart + 1, chance.gauss(every, 0.2 * every))
        return out

    return plan


def rare(count, length, cv=0.1):
    def plan(chance, work):
        return {
            i: [Planned(chance.random(), _length(chance, length, cv), 2)]
            for i in chance.sample(range(HEAD, len(work) - TAIL), count)
        }

    return plan


def growing(every, length, to, cv=0.1):
    """One in about `every` steps, from `length` at the first step to `to` at the last: a heap that grows."""

    def plan(chance, work):
        at, out = float(every + chance.random() * every), {}
        while at < len(work):
            mean = int(length + (to - length) * at / len(work))
            out[int(at)] = [Planned(chance.random(), _length(chance, mean, cv), 2)]
            at += max(1.0, chance.gauss(every, 0.2 * every))
        return out

    return plan


def until(share, plan):
    """No more from that share of the steps on: somebody froze the heap."""
    return lambda chance, work: {
        i: pauses for i, pauses in plan(chance, work).items() if i < share * len(work)
    }


def together(*plans):
    def plan(chance, work):
        out = {}
        for one in plans:
            for i, pauses in one(chance, work).items():
                out[i] = sorted(out.get(i, []) + pauses)
        return out

    return plan


class Loop:
    """A training loop. All draws are of a step; what is not given is not there."""

    def __init__(self, work, pauses, steps=997, **more):
        self.work = work  # of the thread that makes the steps
        self.pauses = pauses
        self.steps = steps
        self.idle = more.pop("idle", None)  # sleeps that nothing shortens
        self.away = more.pop("away", None)  # not scheduled, in the middle of the work
        self.device = more.pop("device", None)  # what it works on the device
        self.queue = more.pop("queue", 0)  # kernels begun and not finished; 0: waits for each step's
        self.kernels = more.pop("kernels", 1)  # of a step, each queued when its part of the work is done
        self.sync = more.pop("sync", 0)  # every so many steps it waits for the result
        self.load = more.pop("load", None)  # what its loader takes for a batch, beside it
        self.prefetch = more.pop("prefetch", 2)  # batches that the loader may be ahead
        self.tick = more.pop("tick", 0)  # a step begins on a multiple of this, if the last had ended by then
        self.skip = more.pop("skip", True)  # a missed tick is left out, not made up for
        self.ranks = more.pop("ranks", 1)
        self.collective = more.pop("collective", None)  # "host", "device": waits for all ranks
        self.after = more.pop("after", (0, 1))  # work added: share of a pause, over so many steps
        self.place = more.pop("place", "work")  # or "wait": a pause begins when the work is done
        self.other = more.pop("other", False)  # another thread collects, this one is kept from running
        assert not more, more


class Draws:
    """Everything that is left to chance in one run of one rank."""

    def __init__(self, loop, seed, rank):
        def draw(what, of):
            return of and of(random.Random("%s/%s/%s" % (seed, rank, what)), loop.steps)

        self.work = draw("work", loop.work)
        self.idle = draw("idle", loop.idle)
        self.away = draw("away", loop.away)
        self.device = draw("device", loop.device)
        self.load = draw("load", loop.load)
        planned = loop.pauses(random.Random("%s/%s/pauses" % (seed, rank)), self.work)
        last = loop.steps - TAIL
        self.pauses = {i: p for i, p in planned.items() if HEAD <= i < last}


class Rank:
    """One process of a run."""

    def __init__(self, loop, draws, paused, begin):
        self.loop, self.draws = loop, draws
        self.planned = draws.pauses if paused else {}
        self.now = begin
        self.worked = 7 * MS  # its CPU time outside waits, so far
        self.marks, self.work, self.pauses = [], [], []
        self.taken, self.loaded = [], begin
        self.finished, self.free = [], begin  # kernels; since when the device has nothing to do
        self.added = {}  # after-effects: work, by step

    def _take_batch(self, i):
        loop = self.loop
        behind = i - loop.prefetch
        self.loaded = max(self.loaded, self.taken[behind] if behind >= 0 else 0) + self.draws.load[i]
        self.now = max(self.now, self.loaded)
        self.taken.append(self.now)

    def _run(self, ns):
        self.now += ns
        self.worked += ns

    def _stop(self, i, pause):
        self.pauses.append(Pause(self.now, pause.length, pause.generation))
        self.now += pause.length
        if not self.loop.other:
            self.worked += pause.length
        share, steps = self.loop.after
        for j in range(i, i + steps if share else i):
            self.added[j] = self.added.get(j, 0) + int(share * pause.length / steps)

    def _begin_kernel(self, i):
        """Waits for room in the queue; of the step's last kernel, finish() knows when it is done."""
        number, queue = len(self.finished), self.loop.queue
        if queue and number >= queue:
            self.now = max(self.now, self.finished[number - queue])
        self.free = max(self.free, self.now)
        self.finished.append(self.free + self.draws.device[i] // self.loop.kernels)
        if (number + 1) % self.loop.kernels:
            self.free = self.finished[-1]

    def step(self, i):
        """Up to the wait for what the step has made."""
        loop, draws = self.loop, self.draws
        self.marks.append(self.now)
        self.work.append(self.worked)
        if draws.load:
            self._take_batch(i)
        if draws.idle:
            self.now += draws.idle[i]
        work = draws.work[i]
        events = [(p.fraction, 0, p) for p in self.planned.get(i, ()) if loop.place == "work"]
        if draws.device:
            events += [((k + 1) / loop.kernels, 1, None) for k in range(loop.kernels)]
        if draws.away:
            events.append((0.5, 2, None))
        done = 0
        for fraction, what, pause in sorted(events, key=lambda e: e[:2]):
            self._run(int(work * fraction) - done)
            done = int(work * fraction)
            if what == 0:
                self._stop(i, pause)
            elif what == 1:
                self._begin_kernel(i)
            else:
                self.now += draws.away[i]
        self._run(work - done + self.added.get(i, 0))

    def finish(self, i, ranks):
        """The wait, once all ranks are as far."""
        loop, until = self.loop, self.now
        if self.draws.device:
            if loop.collective == "device":
                self.free = max(rank.free for rank in ranks)
            self.finished[-1] = self.free + self.draws.device[i] // loop.kernels
        if loop.place == "wait":
            for pause in self.planned.get(i, ()):
                self.pauses.append(Pause(until, pause.length, pause.generation))
                until += pause.length
        if self.draws.device and (not loop.queue or loop.sync and i % loop.sync == loop.sync - 1):
            until = max(until, self.finished[-1])
        return until

    def settle(self, i, until):
        loop = self.loop
        if self.draws.device:
            self.free = self.finished[-1]
        self.now = until
        if loop.tick:
            due = self.marks[0] + (i + 1) * loop.tick
            if loop.skip:
                due = -(-self.now // loop.tick) * loop.tick
            self.now = max(self.now, due)


def _play(loop, draws, paused, begin):
    ranks = [Rank(loop, one, paused, begin) for one in draws]
    for i in range(loop.steps):
        for rank in ranks:
            rank.step(i)
        until = [rank.finish(i, ranks) for rank in ranks]
        if loop.collective == "host":
            until = [max(until)] * len(ranks)
        for rank, end in zip(ranks, until):
            rank.settle(i, end)
    for rank in ranks:
        rank.end = max([rank.now] + rank.finished[-1:])
    return ranks


def covered(pauses):
    """The length of the union of pauses."""
    total, until = 0, 0
    for pause in sorted(pauses):
        total += max(0, pause.start + pause.length - max(until, pause.start))
        until = max(until, pause.start + pause.length)
    return total


def play(loop, seed, begin=1_000 * MS):
    """One run. For each rank: marks, work at each mark, pauses; ns stopped, by itself and by any rank;
    ns lost; end; ns for which its loader worked."""
    draws = [Draws(loop, seed, rank) for rank in range(loop.ranks)]
    with_pauses, without = _play(loop, draws, True, begin), _play(loop, draws, False, begin)
    everywhere = covered([p for rank in with_pauses for p in rank.pauses])
    return [
        SimpleNamespace(
            marks=a.marks, work=a.work, pauses=a.pauses, stopped=covered(a.pauses),
            stopped_by_any=everywhere, lost=a.end - b.end, end=a.end, other=loop.other,
            loaded=sum(a.draws.load or ()),
        )
        for a, b in zip(with_pauses, without)
    ]
