"""Trains, so to speak: a loop of steps, each with a call of getpgid(2) at its begin, that makes garbage and drops it.

Meanwhile it answers each line of stdin with a line of JSON: [enabled, thresholds] of its collector as it sees them,
after it has done what the line says: "get", "set 500 5 5", "disable", "enable", "fork" (the child's values follow when it is sent
"child"), "subinterpreter", "steps" (instead: how many had other settings than at the begin and how many had those, and the ns of
each kind, from the first change of settings to the last), "exit", "exec" (another program, which answers one line likewise).

A step takes less than a millisecond, more than half of it for collections: so blocks hold enough steps, and what a setting does is seen,
also where the process gets a small part of one core.
"""

import gc
import json
import os
import sys
import threading
import time

# What another program says of its own collector, once it is asked.
AFTER = "import gc, json; input(); print(json.dumps([gc.isenabled(), list(gc.get_threshold())]), flush=True)"
BOOK = {"steps": [0, 0], "ns": [0, 0]}  # with other settings than at the begin, and with those, all along
FIRST = [True, [600, 2, 2]]
REFERENCES = 60  # of an object: it is quickly made, and its collection goes through all of them several times
KIND = [FIRST]  # the settings of the step before
CHANGES = []  # the book each time that they had become others
CHILD = []
WANTED = []  # what the loop's own thread is to do


def settings():
    return [gc.isenabled(), list(gc.get_threshold())]


def fork():
    ours, theirs = os.pipe()
    back, forth = os.pipe()
    if os.fork():
        CHILD[:] = [theirs, back]
        return
    os.read(ours, 1)
    os.write(forth, json.dumps(settings()).encode())
    os._exit(0)


def child():
    os.write(CHILD[0], b"x")
    return json.loads(os.read(CHILD[1], 1000).decode())


def subinterpreter():
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    CHILD.append(interpreters.create())
    WANTED.clear()


def answer(words):
    if words[0] == "set":
        gc.set_threshold(*map(int, words[1:]))
    elif words[0] == "disable":
        gc.disable()
    elif words[0] == "enable":
        gc.enable()
    elif words[0] == "fork":
        fork()
    elif words[0] == "child":
        return child()
    elif words[0] == "subinterpreter":
        WANTED.append(subinterpreter)
        while WANTED:
            time.sleep(0.01)
    elif words[0] == "steps":
        return [b - a for a, b in zip(CHANGES[0], CHANGES[-1])]
    elif words[0] == "exit":
        os._exit(0)
    elif words[0] == "exec":
        os.execv(sys.executable, [sys.executable, "-c", AFTER])
    return settings()


def listen():
    for line in sys.stdin:
        print(json.dumps(answer(line.split())), flush=True)
    os._exit(0)


def step():
    os.getpgid(0)
    burst = [[None] * REFERENCES for _ in range(1000)]


def book(began, before):
    """From one step's begin to the next one's, as gctrace has it: what a step leaves is dropped after its last line."""
    if before != KIND[0]:
        KIND[0] = before
        CHANGES.append(BOOK["steps"] + BOOK["ns"])
    if before == settings():
        BOOK["steps"][before == FIRST] += 1
        BOOK["ns"][before == FIRST] += time.perf_counter_ns() - began


def main():
    old = [[i] for i in range(20000)]
    gc.set_threshold(*FIRST[1])
    threading.Thread(target=listen, daemon=True).start()
    print(json.dumps(settings()), flush=True)
    while old:
        began, before = time.perf_counter_ns(), settings()
        step()
        book(began, before)
        if WANTED:
            WANTED[0]()


main()
