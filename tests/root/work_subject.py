"""Makes steps with work_loop.c and keeps books of each: a JSON line in, a JSON line out.

    ["run", STEPS, BUSY, SLEEP, FUNCTION, SPIN, NAP, CALLS]   in C; FUNCTION of the driver or null
    ["queue", STEPS, BUSY, EVERY]   in Python: takes what another thread puts into a queue
    ["quit"]
Times are in ns. Each answer is a list of work_loop.c's books at each mark.
"""

import ctypes
import gc
import json
import queue
import sys
import threading
import time

import clocks

gc.disable()
loop = ctypes.CDLL(sys.argv[1])
driver = ctypes.CDLL(sys.argv[2])


class Book(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("cpu_ns", "spun_ns", "gone_ns", "taken_ns", "took_ns")]


def run(steps, busy, sleep, function, spin, nap, calls):
    books, stream = (Book * (steps + 1))(), (ctypes.c_long * 3)(spin, nap)
    called = ctypes.cast(getattr(driver, function), ctypes.c_void_p) if function else None
    numbers = [ctypes.c_long(number) for number in (steps, busy, sleep)]
    loop.work_run(*numbers, called, stream, ctypes.byref(stream, 2 * ctypes.sizeof(ctypes.c_long)), ctypes.c_long(calls), books)
    return [[getattr(book, name) for name, _ in Book._fields_] for book in books]


def fed(steps, busy, every):
    items, books = queue.Queue(2), []

    def feed():
        for item in range(steps):
            time.sleep(every / 1e9)
            items.put(item)

    feeder = threading.Thread(target=feed)
    def set_mark():
        start = time.monotonic_ns()
        loop.work_step()
        used = time.thread_time_ns()
        took = time.monotonic_ns() - start
        books.append([used, 0, 0, taken.ns(), took])

    taken = clocks.Taken()
    feeder.start()
    for _ in range(steps):
        set_mark()
        taken.without(items.get)
        until = time.monotonic_ns() + busy
        while time.monotonic_ns() < until:
            pass
    set_mark()
    feeder.join()
    return books


COMMANDS = {"run": run, "queue": fed}

print("[]", flush=True)
for line in sys.stdin:
    command, *rest = json.loads(line)
    if command == "quit":
        break
    print(json.dumps(COMMANDS[command](*rest)), flush=True)
