#!/usr/bin/env python3
"""A loop that keeps a device busy: a thread that works off what was queued, whether Python runs or not.

The device keeps its own time, as a GPU does: work begins when it was queued or when the device became free, whichever was
later, so that a thread that comes late for the lock of the interpreter does not delay it. Each step begins with
a call of srand48: trace with --step libc.so.6:srand48. See interleaved.py for what it is told and says.
"""

import argparse
import ctypes
import gc
import queue
import threading
import time

import interleaved


class Device(threading.Thread):
    """Tokens in `room` are places in the queue; each comes back when the work that took it is done."""

    def __init__(self, depth):
        super().__init__(daemon=True)
        self.depth = max(1, depth)
        self.jobs, self.room = queue.SimpleQueue(), queue.SimpleQueue()
        for _ in range(self.depth):
            self.room.put(None)

    def submit(self, seconds):
        self.jobs.put((time.monotonic(), seconds))

    def drain(self):
        for _ in range(self.depth):
            self.room.get()
        for _ in range(self.depth):
            self.room.put(None)

    def run(self):
        free = 0.0
        while True:
            queued, seconds = self.jobs.get()
            free = max(free, queued) + seconds
            left = free - time.monotonic()
            if left > 0:
                time.sleep(left)
            self.room.put(None)


def step(work, share, device, seconds, waits):
    work(share)
    if share < 1:
        gc.collect()
        work(1 - share)
    device.room.get()
    device.submit(seconds)
    if waits:
        device.drain()


def main():
    options = interleaved.add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 25)
    options.add_argument("--depth", type=int, default=2, help="of the queue; 0: waits for each step (2)")
    options.add_argument("--work", type=float, default=2, help="ms of the thread's work in a step (2)")
    options.add_argument("--device", type=float, default=8, help="ms of the device's (8)")
    given = options.parse_args()
    lengths = [given.device / 1e3 * share for share in interleaved.draws(given, 0.2)]
    mark = ctypes.PyDLL("libc.so.6").srand48
    work, heap, device = interleaved.Work(given.work), interleaved.Heap(given.pause), Device(given.depth)
    device.start()

    def run_step(draw, share):
        mark(draw)
        step(work, share, device, lengths[draw], given.depth == 0)

    def run(plan):
        ns = interleaved.run_steps(plan, run_step)
        device.drain()
        return ns

    interleaved.serve(given, run)
    del heap


if __name__ == "__main__":
    main()
