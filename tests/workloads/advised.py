#!/usr/bin/env python3
"""Training loops in miniature, for what comes of advice: each leaves its own kind of objects behind.

A step begins with a call of the C library: trace with --step libc.so.6:srand48. --follow does what a line of advice
says. The last line is the truth: collections by gc.callbacks, steps after the first 20 by the program's own clock.
"""

import argparse
import collections
import ctypes
import gc
import json
import re
import resource
import time

WARM = 20


class Value:
    """A scalar that remembers how it was made; its closure refers back to it, so each step's graph is a cycle."""

    def __init__(self, data, parents=()):
        self.data, self.grad, self.parents = data, 0.0, parents
        self.backward = lambda: None

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))

        def backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.backward = backward
        return out

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))

        def backward():
            self.grad += out.grad
            other.grad += out.grad

        out.backward = backward
        return out


class Node:
    def __init__(self, parent, depth):
        self.parent = parent
        self.children = [Node(self, depth - 1) for _ in range(3)] if depth else []


def library(count):
    """What imports and a model leave: modules, classes, configurations."""
    return [{"name": str(i), "shape": [i, i + 1]} for i in range(count // 2)]


def autograd(width):
    weights = [Value(i * 0.1) for i in range(width)]

    def step(number):
        total = Value(0.0)
        for row in range(6):
            for weight in weights:
                total = total + weight * Value(row * 0.01)
        todo, seen, order = [total], set(), []
        while todo:
            value = todo.pop()
            if id(value) not in seen:
                seen.add(id(value))
                order.append(value)
                todo += value.parents
        for value in order:
            value.backward()

    return step


def trees(depth, count):
    def step(number):
        for _ in range(count):
            Node(None, depth)

    return step


def cycles(count):
    def step(number):
        for _ in range(count):
            loop = []
            loop.append([loop])

    return step


def flight(count):
    def step(number):
        kept = [[i] for i in range(count)]
        return len(kept)

    return step


def replay(size, count):
    memory = collections.deque(([i, (i, i)] for i in range(size)), maxlen=size)

    def step(number):
        for i in range(count):
            memory.append([number, [i, i]])

    return step


def corpus(count):
    sentences = []

    def step(number):
        sentences.extend([[i], {"id": number}] for i in range(count))
        [[i] for i in range(1500)]

    return step


def errors(count):
    def fail(depth):
        if depth:
            return fail(depth - 1)
        raise KeyError(depth)

    def step(number):
        for i in range(count):
            try:
                fail(10)
            except KeyError as error:
                kept = error  # the traceback's frame refers to it
            kept.again = kept

    return step


def epochs(count, every):
    def step(number):
        if number % every == every // 2:
            nodes = [Node(None, 3) for _ in range(count)]
            for node in nodes:
                node.parent = nodes
        [[i] for i in range(2000)]

    return step


def cache(size, count):
    table = {i: [i, [i]] for i in range(size)}

    def step(number):
        for i in range(count):
            table[(number * 7919 + i * 104729) % size] = [i, [i]]

    return step


def search(moves):
    """Positions of a game: most die at once, their parents' links keep some."""

    def grow(parent, depth):
        node = {"parent": parent, "moves": []}
        for _ in range(moves if depth else 0):
            node["moves"].append(grow(node, depth - 1))
        return node

    def step(number):
        for _ in range(4):
            grow(None, 3)
        [(i, [i]) for i in range(3000)]

    return step


def both(*steps):
    def step(number):
        for one in steps:
            one(number)

    return step


# name: (objects of libraries, steps, what a step does, threshold or None, gc.collect() every so many steps)
PROGRAMS = {
    "autograd": (150000, 150, lambda: autograd(200), None, 0),
    "autograd-small": (60000, 400, lambda: autograd(30), None, 0),
    "autograd-large": (100000, 40, lambda: autograd(1200), None, 0),
    "trees": (200000, 500, lambda: trees(5, 3), None, 0),
    "trees-small-heap": (5000, 600, lambda: trees(4, 10), None, 0),
    "cycles": (300000, 500, lambda: cycles(1500), None, 0),
    "cycles-few": (400000, 500, lambda: both(cycles(20), flight(5000)), None, 0),
    "no-cycles": (400000, 500, lambda: flight(6000), None, 0),
    "flight-large": (200000, 40, lambda: flight(150000), None, 0),
    "replay": (150000, 700, lambda: both(replay(100000, 1000), flight(1500)), None, 0),
    "replay-cycles": (100000, 600, lambda: both(replay(60000, 500), cycles(300)), None, 0),
    "corpus": (100000, 600, lambda: corpus(300), None, 0),
    "corpus-cycles": (150000, 600, lambda: both(corpus(100), cycles(200)), None, 0),
    "errors": (200000, 500, lambda: errors(150), None, 0),
    "epochs": (200000, 600, lambda: epochs(2000, 100), None, 0),
    "cache": (100000, 400, lambda: both(cache(60000, 600), flight(2000)), None, 0),
    "search": (120000, 400, lambda: search(6), None, 0),
    "search-flight": (250000, 200, lambda: both(search(4), flight(8000)), None, 0),
    "threshold-10": (30000, 150, lambda: both(flight(3000), cycles(20)), (10, 10, 10), 0),
    "threshold-100": (100000, 300, lambda: both(flight(4000), cycles(100)), (100, 10, 10), 0),
    "threshold-5-5": (100000, 300, lambda: both(flight(3000), cycles(50)), (700, 5, 5), 0),
    "each-step": (150000, 60, lambda: flight(3000), None, 1),
    "each-step-cycles": (150000, 60, lambda: cycles(800), None, 1),
    "each-20": (150000, 300, lambda: both(flight(3000), cycles(100)), None, 20),
}


class Books:
    """What collections took of each step, and how many were full."""

    def __init__(self):
        self.ns = [0]
        self.collections = self.full = self.collected = self.most = self.began = 0
        gc.callbacks.append(self)

    def __call__(self, phase, info):
        if phase == "start":
            self.began = time.perf_counter_ns()
        else:
            self.ns[-1] += time.perf_counter_ns() - self.began
            self.collections += 1
            self.full += info["generation"] == 2
            self.collected += info["collected"]
            self.most = max(self.most, info["collected"])


def follow(line):
    """Does what is done once before the loop; returns every how many steps the program is to collect, 0: never."""
    every = re.search(r"step % (\d+) == 0", line)
    if "gc.disable()" in line:
        gc.disable()
    if "gc.enable()" in line:
        gc.enable()
    threshold = re.search(r"gc.set_threshold\(([\d, ]+)\)", line)
    if threshold:
        gc.set_threshold(*map(int, threshold[1].split(",")))
    return int(every[1]) if every else 0


def main(programs):
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=programs)
    parser.add_argument("--follow", metavar="LINE", help="as it does; nothing, to be held against such a run")
    given = parser.parse_args()
    told = given.follow or ""
    objects, steps, make, threshold, by_hand = programs[given.program]
    mark = ctypes.CDLL("libc.so.6").srand48
    kept = library(objects)
    step = make()
    if threshold:
        gc.set_threshold(*threshold)
    every = follow(told)
    by_hand = every or by_hand * ("# remove" not in told)
    books = Books()
    lengths = []
    for number in range(steps):
        books.ns.append(0)
        start = time.perf_counter_ns()
        if number == min(WARM // 2, steps // 10) and "gc.freeze()" in told:
            gc.collect()
            gc.freeze()
            books.ns[-1] = 0  # advice names that one apart
        mark(number)
        step(number)
        time.sleep(0.002)  # so that a real-time priority leaves something to others
        if by_hand and number % by_hand == 0:
            gc.collect()
        lengths.append(time.perf_counter_ns() - start)
    mark(steps)
    lengths = sorted(lengths[WARM:])
    if given.follow is not None:  # what garbage there is; a recording has nothing of that
        gc.callbacks.remove(books)
        gc.unfreeze()
        books.most = max(books.most, gc.collect())
    print(json.dumps({"program": given.program, "libraries": len(kept), "ns": sum(books.ns),
                      "collections": books.collections,
                      "full": books.full, "collected": books.collected, "most": books.most,
                      "longest": max(books.ns[WARM + 1:]),
                      "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "worst": lengths[-1],
                      "p99": lengths[int(len(lengths) * 0.99)], "median": lengths[len(lengths) // 2]}))


if __name__ == "__main__":
    main(PROGRAMS)
