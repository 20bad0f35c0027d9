"""Workload of test_facts.py: oracle.py's loop, with commands that tell the truth about a pause."""

import gc
import mmap
import os
import time

import oracle

PAGE = os.sysconf("SC_PAGE_SIZE")
KEPT = []


def resident():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * PAGE


def old_objects():
    return len(gc.get_objects(generation=2))


def do_heap(rounds, objects):
    """heap N OBJECTS: N full collections, each after OBJECTS more were made, aged and kept."""
    gc.collect()
    gc.collect()
    before, aged = [], []
    for _ in range(int(rounds)):
        settled = old_objects()
        KEPT.append([[] for _ in range(int(objects))])
        gc.collect(0)
        gc.collect(1)
        before.append(settled)
        aged.append(old_objects() - settled)
        gc.collect()
    return {"before": before, "aged": aged, "after": old_objects()}


class Holder:
    """One half of a cycle with memory that goes back to the system when it is freed."""

    def __init__(self, size):
        self.me = self
        self.memory = mmap.mmap(-1, size)
        for offset in range(0, size, PAGE):
            self.memory[offset] = 1


def do_resident(rounds, size):
    """resident N BYTES: N full collections, each of which frees that much memory."""
    gc.collect()
    before, after = [], []
    for _ in range(int(rounds)):
        Holder(int(size))
        before.append(resident())
        gc.collect()
        after.append(resident())
    return {"before": before, "after": after}


def is_asleep(pid):
    with open("/proc/%d/stat" % pid) as stream:
        return stream.read().rpartition(") ")[2].startswith("S")


class Worker:
    """A forked child that collects once, for some time, when told; @late: once its parent is asleep."""

    def __init__(self, seconds, late=False):
        ours, self.told = os.pipe()
        self.answers, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(ours)
            os.close(theirs)
            return
        oracle.Sleeper.__del__ = lambda sleeper: spin(seconds)
        oracle.cycles(1, oracle.Sleeper)
        os.read(ours, 1)
        while late and not is_asleep(os.getppid()):
            time.sleep(0.001)
        gc.collect()
        os.write(theirs, b"x")
        os._exit(0)

    def start(self):
        os.write(self.told, b"x")

    def end(self):
        os.close(self.told)
        os.close(self.answers)
        os.waitpid(self.pid, 0)


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def do_waiting(milliseconds):
    """waiting MS: a child collects for twice that long while this thread waits for its answer."""
    worker = Worker(int(milliseconds) / 1e3, late=True)
    worker.start()
    os.read(worker.answers, 1)
    worker.end()
    return {"child": worker.pid}


def do_computing(milliseconds):
    """computing MS: the same while this thread computes until after the child's answer."""
    worker = Worker(int(milliseconds) / 1e3)
    os.set_blocking(worker.answers, False)
    worker.start()
    while True:
        try:
            os.read(worker.answers, 1)
            break
        except BlockingIOError:
            spin(0.001)
    worker.end()
    return {"child": worker.pid}


WORKERS = []


def do_worker(milliseconds):
    """worker MS: makes a child that waits to be told."""
    WORKERS.append(Worker(int(milliseconds) / 1e3))
    return {"child": WORKERS[-1].pid}


def do_go():
    """go: tells it, and waits for its answer."""
    worker = WORKERS.pop()
    worker.start()
    os.read(worker.answers, 1)
    worker.end()
    return {}


def do_half(milliseconds):
    """half MS: the same, but this thread computes for MS and waits for the rest."""
    worker = Worker(int(milliseconds) / 1e3)
    worker.start()
    spin(int(milliseconds) / 1e3)
    os.read(worker.answers, 1)
    worker.end()
    return {"child": worker.pid}


if __name__ == "__main__":
    vars(oracle).update({name: do for name, do in globals().items() if name.startswith("do_")})
    oracle.main()
