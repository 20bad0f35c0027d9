"""The loops whose pauses' cost gctrace has to state rightly, or say that it cannot be told.

TOLD names those for which it must be stated, given the steps alone or also the thread's work at each mark: where
"cannot be told" would be the easy way out. A few seeds of such a loop may be left untold: see test_loops.py.
"""

from loop import (MS, US, Loop, after_long, allocated, also, at_times, bursts, chance_of, drift, growing, kinds,
                  locked, mixed, normal, pairs, rare, shift, skewed, spaced, stretches, together, trend,
                  until, warm_up)

HOST, DEVICE = normal(2 * MS), normal(8 * MS)  # a step of the loops that keep a device busy
FULL = spaced(23, 25 * MS)

# Of the issue.
LOOPS = {
    "synchronous": Loop(normal(10 * MS), FULL),
    "queue of 4": Loop(HOST, FULL, device=DEVICE, queue=4),
    "queue of 2": Loop(HOST, FULL, device=DEVICE, queue=2),
    "queue of 4, item() every 10th": Loop(HOST, FULL, device=DEVICE, queue=4, sync=10),
    "loader-bound, prefetch 4": Loop(HOST, FULL, load=normal(8 * MS), prefetch=4),
    "young in every step, hidden": Loop(
        HOST, locked(1, 2 * MS, generation=0), device=DEVICE, queue=4
    ),
    "log and checkpoint, locked, hidden": Loop(
        HOST, locked(20, 25 * MS), device=also(also(DEVICE, 10, 10 * MS), 20, 40 * MS),
        place="wait", other=True,
    ),
    "irregular, hidden": Loop(HOST, FULL, device=skewed(8 * MS, 0.8), queue=16),
    "two kinds in turn, hidden": Loop(
        HOST, spaced(23, 15 * MS), device=kinds(4 * MS, 12 * MS), queue=4
    ),
    "after-effects of 30 %": Loop(normal(10 * MS), FULL, after=(0.3, 5)),
    "trend": Loop(trend(8 * MS, 16 * MS), FULL),
    "drift": Loop(drift(10 * MS), FULL),
    "idle till a tick": Loop(normal(3 * MS), FULL, tick=10 * MS),
    "8 ranks, barrier": Loop(
        normal(10 * MS), spaced(60, 25 * MS), steps=499, ranks=8, collective="host"
    ),
}

# Others.
LOOPS.update({
    "synchronous, irregular": Loop(skewed(10 * MS, 0.8), FULL),
    "irregular, by allocation": Loop(skewed(10 * MS, 0.8), allocated(230 * MS, 25 * MS)),
    "queue of 2, irregular": Loop(skewed(2 * MS, 0.8), FULL, device=skewed(8 * MS, 0.8), queue=2),
    "queue of 4, irregular host": Loop(
        skewed(6 * MS, 0.8), FULL, device=normal(8 * MS), queue=4
    ),
    "queue of 4, host-bound": Loop(normal(8 * MS), FULL, device=normal(3 * MS), queue=4),
    "queue of 2, by allocation": Loop(
        skewed(2 * MS, 0.8), allocated(46 * MS, 25 * MS), device=DEVICE, queue=2
    ),
    "queue of 2, drift": Loop(HOST, FULL, device=drift(8 * MS), queue=2),
    "queue of 2, trend": Loop(HOST, FULL, device=trend(6 * MS, 12 * MS), queue=2),
    "queue of 2, other batch size": Loop(HOST, FULL, device=shift(8 * MS, 12 * MS), queue=2),
    "queue of 2, after-effects": Loop(HOST, FULL, device=DEVICE, queue=2, after=(0.3, 5)),
    "queue of 4, after-effects hidden": Loop(HOST, FULL, device=DEVICE, queue=4, after=(0.3, 5)),
    "queue of 2, pauses every 5th": Loop(HOST, spaced(5, 25 * MS), device=DEVICE, queue=2),
    "queue of 3, bursts": Loop(HOST, bursts(40, 4, 12 * MS), device=DEVICE, queue=3),
    "queue of 2, rare and long": Loop(HOST, rare(4, 150 * MS), device=DEVICE, queue=2),
    "queue of 3, young and full": Loop(
        HOST, together(locked(2, 300 * US, generation=0), FULL), device=DEVICE, queue=3
    ),
    "queue of 8, four kernels a step": Loop(HOST, FULL, device=DEVICE, queue=8, kernels=4),
    "queue of 2, another thread collects": Loop(HOST, FULL, device=DEVICE, queue=2, other=True),
    "in the wait, another thread collects": Loop(
        HOST, spaced(23, 12 * MS), device=DEVICE, other=True, place="wait"
    ),
    "each step waits for its result": Loop(HOST, FULL, device=DEVICE),
    "synchronous, young in every step": Loop(
        normal(10 * MS), locked(1, 3 * MS, generation=0)
    ),
    "synchronous, full when a shard is read": Loop(
        also(normal(10 * MS), 20, 30 * MS), locked(20, 25 * MS)
    ),
    "synchronous, locked": Loop(normal(10 * MS), locked(20, 25 * MS)),
    "synchronous, collects when it reads a shard": Loop(
        at_times(normal(10 * MS), 0.05, 50 * MS), after_long(20 * MS, 25 * MS)
    ),
    "queue of 9, collects when it reads a shard": Loop(
        at_times(HOST, 0.05, 20 * MS), after_long(10 * MS, 25 * MS), device=DEVICE, queue=9
    ),
    "queue of 9, log and checkpoint, locked": Loop(
        also(also(HOST, 10, 10 * MS), 20, 20 * MS), locked(20, 25 * MS), device=DEVICE, queue=9
    ),
    "synchronous, preempted": Loop(
        normal(10 * MS), FULL, away=at_times(normal(0, 0), 0.1, 5 * MS)
    ),
    "queue of 2, preempted": Loop(
        HOST, FULL, device=DEVICE, queue=2, away=at_times(normal(0, 0), 0.1, 5 * MS)
    ),
    "synchronous, sleeps": Loop(normal(6 * MS), FULL, idle=skewed(4 * MS, 0.5)),
    "two kinds by chance": Loop(mixed({5 * MS: 0.7, 20 * MS: 0.3}), FULL),
    "loader about as fast, prefetch 4": Loop(
        normal(8 * MS), FULL, load=skewed(8 * MS, 0.5), prefetch=4
    ),
    "loader-bound, shard every 16th": Loop(
        HOST, FULL, load=also(normal(5 * MS), 16, 40 * MS), prefetch=4
    ),
    "tick, missed by most pauses": Loop(normal(8 * MS), FULL, tick=10 * MS),
    "tick made up for": Loop(normal(6 * MS), FULL, tick=10 * MS, skip=False),
    "short, every third, noisy": Loop(
        normal(10 * MS, 0.1), chance_of(0.33, 50 * US, generation=0)
    ),
    "slow steps for another reason": Loop(at_times(normal(10 * MS), 0.05, 100 * MS), FULL),
    "few steps": Loop(normal(10 * MS), spaced(12, 25 * MS), steps=103),
    "queue of 2, few steps": Loop(HOST, spaced(12, 25 * MS), device=DEVICE, queue=2, steps=103),
    "queue of 2, many steps": Loop(HOST, FULL, device=DEVICE, queue=2, steps=4999),
    "queue of 3, at any time": Loop(HOST, chance_of(0.05, 25 * MS), device=DEVICE, queue=3),
    "loader and queue": Loop(
        HOST, FULL, device=normal(6 * MS), queue=2, load=skewed(6 * MS, 0.5), prefetch=2
    ),
    "queue of 2, slow warm-up": Loop(
        warm_up(HOST, 40, 80 * MS), spaced(15, 25 * MS), device=DEVICE, queue=2
    ),
    "queue of 2, pauses until midway": Loop(
        HOST, until(0.5, spaced(8, 25 * MS)), device=DEVICE, queue=2
    ),
    "queue of 2, lengths vary": Loop(HOST, spaced(15, 20 * MS, cv=0.8), device=DEVICE, queue=2),
    "synchronous, work drifts": Loop(drift(10 * MS, memory=0.9), spaced(7, 5 * MS)),
    "2 ranks, device barrier": Loop(
        HOST, spaced(40, 25 * MS), device=DEVICE, queue=2, ranks=2, collective="device"
    ),
    "4 ranks, one collects": Loop(
        normal(10 * MS), rare(17, 40 * MS), steps=499, ranks=4, collective="host"
    ),
})

# Written after the estimators, and before anybody had seen what they make of them: docs/steps.md has that first run.
LATER = {
    "steps of 3 ms, queue of 6": Loop(
        normal(1 * MS, 0.2), spaced(37, 11 * MS, jitter=0.3), device=normal(3 * MS, 0.1), queue=6, steps=1999
    ),
    "steps of 200 ms, pauses of 500": Loop(normal(200 * MS, 0.03), spaced(31, 500 * MS), steps=397),
    "queue of 3, pauses in pairs": Loop(
        normal(3 * MS), pairs(41, 2, 4 * MS, 30 * MS), device=normal(7 * MS), queue=3
    ),
    "queue of 2, pauses in pairs 6 apart": Loop(
        normal(3 * MS), pairs(37, 6, 15 * MS, 15 * MS), device=normal(7 * MS), queue=2
    ),
    "queue of 3, trend and lengths vary": Loop(
        normal(2 * MS), spaced(29, 20 * MS, cv=0.5), device=trend(7 * MS, 15 * MS), queue=3
    ),
    "3 ranks, device barrier, queue of 2": Loop(
        normal(3 * MS), spaced(67, 30 * MS), device=normal(9 * MS), queue=2, ranks=3,
        collective="device", steps=701
    ),
    "loader-bound, then host-bound": Loop(
        normal(6 * MS), spaced(27, 20 * MS), load=shift(10 * MS, 3 * MS), prefetch=3
    ),
    "synchronous, another thread collects": Loop(
        normal(5 * MS, 0.15), spaced(17, 6 * MS), other=True
    ),
    "checkpoint every 7th, collects every 13th": Loop(
        also(normal(6 * MS), 7, 20 * MS), locked(13, 15 * MS, phase=5)
    ),
    "the same on the device, queue of 3": Loop(
        normal(2 * MS), locked(13, 15 * MS, phase=5), device=also(normal(6 * MS), 7, 20 * MS), queue=3
    ),
    "queue of 4, heavy tails": Loop(
        normal(2 * MS), spaced(25, 30 * MS), device=skewed(8 * MS, 1.5), queue=4
    ),
    "queue of 3, two kinds by chance": Loop(
        normal(2 * MS), spaced(33, 25 * MS), device=mixed({5 * MS: 0.8, 25 * MS: 0.2}), queue=3
    ),
    "loader a little slower, prefetch 8": Loop(
        normal(8 * MS), spaced(26, 25 * MS), load=skewed(8_400 * US, 0.6), prefetch=8
    ),
    "loader a little faster, prefetch 2": Loop(
        normal(8 * MS), spaced(19, 20 * MS), load=skewed(7 * MS, 0.5), prefetch=2
    ),
    "loader about as fast, prefetch 16": Loop(
        normal(5 * MS, 0.2), spaced(43, 60 * MS), load=skewed(5 * MS, 0.4), prefetch=16
    ),
    "device about as fast, queue of 4": Loop(
        skewed(6 * MS, 0.4), spaced(21, 20 * MS), device=skewed(6 * MS, 0.4), queue=4
    ),
    "queue of 1, long after-effects": Loop(
        normal(3 * MS), spaced(47, 40 * MS), device=normal(4 * MS), queue=1, after=(0.5, 8)
    ),
    "queue of 8, item() every 4th": Loop(
        normal(3 * MS), spaced(24, 18 * MS), device=normal(7 * MS), queue=8, sync=4
    ),
    "tick of 33 ms, half missed": Loop(normal(20 * MS, 0.1), spaced(22, 20 * MS), tick=33 * MS),
    "queue of 4, drift, few and long": Loop(
        normal(2 * MS), rare(9, 300 * MS), device=drift(8 * MS, sway=0.2), queue=4
    ),
    "synchronous, young every 3rd, full every 61st": Loop(
        normal(4 * MS, 0.1), together(locked(3, 400 * US, generation=0), locked(61, 60 * MS))
    ),
    "131 steps, queue of 1": Loop(
        normal(3 * MS), spaced(11, 20 * MS), device=normal(5 * MS), queue=1, steps=131
    ),
    "queue of 5, collects every 16th, no other work": Loop(
        normal(2 * MS), locked(16, 25 * MS, phase=3), device=normal(7 * MS), queue=5
    ),
    "queue of 2, collects every 40th, hidden log on the device": Loop(
        normal(2 * MS), locked(40, 25 * MS, phase=0), device=also(normal(8 * MS), 40, 12 * MS, phase=39), queue=2
    ),
    "queue of 2, collects every 30th, host log": Loop(
        also(normal(2 * MS), 30, 15 * MS), locked(30, 20 * MS), device=normal(8 * MS), queue=2
    ),
    "queue of 3, other batch size twice": Loop(
        normal(2 * MS), spaced(28, 22 * MS), queue=3,
        device=lambda chance, steps: shift(6 * MS, 11 * MS, at=0.3)(chance, steps)[: steps * 2 // 3]
        + normal(4 * MS)(chance, steps - steps * 2 // 3),
    ),
}

# Written before the rule for what a queue may hide was: near balance, and far from it.
BALANCE = {
    "loader 5 % slower, prefetch 4, jitter": Loop(
        normal(10 * MS), spaced(30, 30 * MS), load=skewed(10_500 * US, 0.3), prefetch=4
    ),
    "loader 3 % faster, prefetch 8": Loop(
        normal(10 * MS), spaced(40, 50 * MS), load=normal(9_700 * US, 0.1), prefetch=8
    ),
    "loader as fast, prefetch 2": Loop(
        normal(10 * MS, 0.1), spaced(27, 35 * MS), load=normal(10 * MS, 0.1)
    ),
    "loader 15 % slower, prefetch 32": Loop(
        normal(6 * MS), spaced(25, 22 * MS), load=normal(6_900 * US), prefetch=32
    ),
    "loader 30 % slower, prefetch 64": Loop(
        normal(5 * MS), spaced(20, 40 * MS), load=normal(6_500 * US), prefetch=64
    ),
    "loader as fast, pauses every 8th": Loop(
        normal(9 * MS), spaced(8, 9 * MS), load=skewed(9 * MS, 0.3), prefetch=6
    ),
    "loader as fast, rare and long": Loop(
        normal(7 * MS), rare(9, 150 * MS), load=skewed(7 * MS, 0.5), prefetch=12
    ),
    "loader as fast, another thread collects": Loop(
        normal(8 * MS), spaced(33, 40 * MS), load=skewed(8 * MS, 0.2), prefetch=6, other=True
    ),
    "loader as fast but for shards, prefetch 8": Loop(
        normal(8 * MS), spaced(29, 30 * MS), load=also(normal(5 * MS), 40, 120 * MS), prefetch=8
    ),
    "loader faster as caches warm": Loop(
        normal(8 * MS), spaced(24, 25 * MS), load=trend(12 * MS, 6 * MS), prefetch=4
    ),
    "loader slow and fast in turn": Loop(
        normal(8 * MS), spaced(26, 30 * MS), load=stretches(100, normal(6 * MS), normal(11 * MS)), prefetch=4
    ),
    "loader faster by far": Loop(normal(8 * MS), spaced(23, 30 * MS), load=normal(3 * MS), prefetch=4),
    "loader slower by far, prefetch 8": Loop(
        normal(3 * MS), spaced(31, 120 * MS), load=normal(9 * MS, 0.1), prefetch=8
    ),
    "two stages, each about as fast": Loop(
        normal(2 * MS), spaced(28, 25 * MS), load=skewed(7 * MS, 0.3), prefetch=4,
        device=skewed(7 * MS, 0.3), queue=4
    ),
    "device 5 % slower, queue of 8": Loop(
        normal(8 * MS), spaced(34, 30 * MS), device=normal(8_400 * US, 0.2), queue=8
    ),
    "device 20 % faster, queue of 6": Loop(
        skewed(8 * MS, 0.4), spaced(25, 25 * MS), device=skewed(6_400 * US, 0.4), queue=6
    ),
    "device works in batches, queue of 4": Loop(
        normal(6 * MS), spaced(27, 25 * MS), device=kinds(2 * MS, 2 * MS, 2 * MS, 22 * MS), queue=4
    ),
    "queue of 12, pauses shorter than jitter": Loop(
        normal(7 * MS, 0.2), spaced(15, 3 * MS), device=skewed(8 * MS, 0.5), queue=12
    ),
    "pauses of two lengths, queue of 3": Loop(
        normal(2 * MS), together(spaced(11, 4 * MS, generation=1), spaced(50, 60 * MS)),
        device=normal(8 * MS), queue=3
    ),
    "pauses of two lengths, synchronous": Loop(
        normal(8 * MS), together(spaced(11, 4 * MS, generation=1), spaced(50, 60 * MS))
    ),
    "validation every 50th": Loop(also(normal(8 * MS), 50, 400 * MS), spaced(27, 25 * MS)),
    "validation every 50th, loader about as fast": Loop(
        also(normal(8 * MS), 50, 400 * MS), spaced(27, 25 * MS), load=skewed(8_200 * US, 0.4), prefetch=8
    ),
    "growing pauses, synchronous": Loop(normal(7 * MS), growing(26, 5 * MS, 80 * MS)),
    "growing pauses, queue of 4": Loop(
        normal(2 * MS), growing(26, 5 * MS, 80 * MS), device=normal(8 * MS), queue=4
    ),
    "growing pauses, loader as fast": Loop(
        normal(7 * MS), growing(26, 5 * MS, 80 * MS), load=skewed(7 * MS, 0.4), prefetch=8
    ),
    "3 ranks, loaders about as fast": Loop(
        normal(8 * MS), spaced(61, 30 * MS), load=skewed(8 * MS, 0.3), prefetch=4, steps=701, ranks=3,
        collective="host"
    ),
    "4 ranks, pauses of two lengths": Loop(
        normal(9 * MS), together(spaced(90, 8 * MS, generation=1), spaced(130, 50 * MS)), steps=601, ranks=4,
        collective="host"
    ),
    "idle and a queue of 2": Loop(
        normal(3 * MS), spaced(24, 25 * MS), idle=normal(2 * MS, 0.2), device=normal(8 * MS), queue=2
    ),
}

TOLD = {
    "steps": ["synchronous", "trend", "drift", "idle till a tick", "queue of 4", "queue of 2",
              "loader-bound, prefetch 4", "after-effects of 30 %"],
    "work": ["synchronous", "trend", "drift", "idle till a tick", "queue of 4", "queue of 2",
             "loader-bound, prefetch 4", "after-effects of 30 %", "queue of 4, item() every 10th",
             "queue of 4, host-bound", "synchronous, irregular",
             "synchronous, young in every step", "synchronous, locked", "few steps",
             "slow steps for another reason"],
}

# Which no test holds gctrace to (docs/steps.md has by how much they are wrong). Pauses keep a device's queue full all along, or a
# wait is not longer than steps vary: nothing that is recorded without records of the device differs from a thread that never
# waits. The last two are said 0 to 4 % too high, within intervals that are too narrow.
UNSEEN = {
    "steps": ["device about as fast, queue of 4", "device 5 % slower, queue of 8"],
    "work": ["device 5 % slower, queue of 8", "validation every 50th, loader about as fast",
             "3 ranks, loaders about as fast"],
}
