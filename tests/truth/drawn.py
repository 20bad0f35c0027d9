"""Loops that nobody chose: what they consist of is drawn, so that no estimator can have been fitted to them.

In: a number. Out: a Loop, the same one each time.
"""

import math
import random

from loop import (MS, US, Loop, allocated, also, bursts, chance_of, drift, kinds, locked, mixed, normal, pairs, shift,
                  skewed, spaced, together, trend)


def _between(chance, low, high):
    """Each power of ten alike."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _values(chance, mean):
    cv = _between(chance, 0.02, 0.3)
    plain = normal(mean, cv)
    return chance.choice([
        lambda: plain,
        lambda: skewed(mean, _between(chance, 0.1, 1.2)),
        lambda: kinds(int(mean * 0.5), int(mean * 1.5), cv=cv),
        lambda: mixed({int(mean * 0.8): 0.8, int(mean * 1.8): 0.2}, cv),
        lambda: trend(mean, int(mean * chance.uniform(0.6, 1.8)), cv),
        lambda: drift(mean, chance.uniform(0.05, 0.3), chance.choice([0.9, 0.98, 0.995]), cv),
        lambda: shift(mean, int(mean * chance.uniform(0.5, 2)), chance.uniform(0.2, 0.8), cv),
        lambda: also(plain, chance.randint(2, 30), int(mean * chance.uniform(1, 5)), cv=cv),
    ])()


def _pauses(chance, step, every, length):
    cv = chance.choice([0.1, 0.1, 0.5])
    return chance.choice([
        lambda: spaced(every, length, chance.uniform(0.1, 0.4), cv),
        lambda: spaced(every, length, cv=cv),
        lambda: chance_of(1 / every, length, cv),
        lambda: locked(every, length, cv=cv),
        lambda: allocated(every * step, length, cv),
        lambda: pairs(every + 8, chance.randint(1, 7), length, length, cv),
        lambda: bursts(every + 10, 3, length // 2, cv),
        lambda: together(locked(2, max(20 * US, length // 100), generation=0), spaced(every, length, cv=cv)),
    ])()


def drawn(number):
    chance = random.Random("loop %d" % number)
    step = int(_between(chance, 1, 100) * MS)
    every = int(_between(chance, 8, 80))
    steps = int(_between(chance, max(200, 10 * every), max(2500, 12 * every)))
    length = int(step * _between(chance, 0.3, 8))
    host = int(step * chance.choice([0.25, 0.5, 0.8, 1]))
    more = {"steps": steps, "other": chance.random() < 0.3}
    kind = chance.choice(["synchronous", "queue", "queue", "queue", "loader", "loader", "both", "tick"])
    if kind == "synchronous":
        host = step
        if chance.random() < 0.3:
            more["idle"] = _values(chance, int(step * chance.uniform(0.1, 0.5)))
    if kind in ("queue", "both"):
        more["device"] = _values(chance, step)
        more["queue"] = chance.choice([0, 1, 2, 3, 4, 6, 8, 12])
        more["sync"] = chance.choice([0, 0, 0, 5, 10, 50])
    if kind in ("loader", "both"):
        more["load"] = _values(chance, int(step * chance.choice([0.6, 0.9, 1, 1.3])))
        more["prefetch"] = chance.choice([1, 2, 4, 8])
    if kind == "tick":
        more["tick"] = step
        more["skip"] = chance.random() < 0.5
    if chance.random() < 0.15:
        more["after"] = (chance.uniform(0.1, 0.5), chance.randint(1, 6))
    return Loop(_values(chance, host), _pauses(chance, step, every, length), **more)
