"""Collections that are suspended while their thread runs on another C stack, where gc.collect() is
called again: by switching.c, or by greenlets. Says "ready", then answers each line of stdin."""

import ctypes
import gc
import json
import os
import sys
import threading

gc.set_threshold(0)  # enabled, but nothing runs by itself


class Node:
    pass


def by_library(path, rounds):
    library = ctypes.PyDLL(path)
    library.switching.restype = ctypes.c_ssize_t
    return library.switching(rounds)


def by_greenlets(rounds):
    import greenlet

    hub = greenlet.getcurrent()
    found = []

    class Switcher(Node):
        def __del__(self):
            hub.switch()

    def collect():
        node = Switcher()
        node.itself = node
        del node
        gc.collect()

    for _ in range(rounds):
        worker = greenlet.greenlet(collect)
        worker.switch()  # comes back from the middle of the collection
        assert not worker.dead
        found.append(gc.collect())
        worker.switch()
        assert worker.dead
    return sum(found)


def by_threads(rounds):
    """A finalizer that lets another thread call the collector, to no effect, and waits for it."""
    gate, over = threading.Semaphore(0), threading.Semaphore(0)
    found = []

    class Waiter(Node):
        def __del__(self):
            gate.release()
            over.acquire()

    def other():
        for _ in range(rounds):
            gate.acquire()
            found.append(gc.collect())
            over.release()
        gate.acquire()
        gc.collect()  # this one collects

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(rounds):
        node = Waiter()
        node.itself = node
        del node
        gc.collect()
    gate.release()
    thread.join()
    return sum(found)


def by_frees(rounds):
    """Threads that each make a collection due and, before it runs, free what made it so."""

    def body():
        try:
            "".join(map(list, [()] * 3001))  # makes them all, raises since they are not text, and frees them
        except TypeError:
            pass

    gc.set_threshold(2000, 10, 10)
    for _ in range(rounds):
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
    gc.set_threshold(0)
    return 0


def say(**answer):
    os.write(1, json.dumps(answer).encode() + b"\n")


def main():
    # objects that are created only once are created before anybody counts
    gc.collect()
    say(event="ready")
    for line in sys.stdin:
        how, rounds = line.split()
        before = [s["collections"] for s in gc.get_stats()]
        if how == "greenlets":
            found = by_greenlets(int(rounds))
        elif how == "threads":
            found = by_threads(int(rounds))
        elif how == "frees":
            found = by_frees(int(rounds))
        else:
            found = by_library(how, int(rounds))
        after = [s["collections"] for s in gc.get_stats()]
        say(found=found, collections=[a - b for a, b in zip(after, before)])
    os._exit(0)


main()
