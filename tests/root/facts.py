"""Workload of test_facts.py: oracle.py's loop, with commands that report the truth about a pause."""

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


def do_thresholds(*values):
    """thresholds A,B,C …: sets each and collects twice by hand. What gc.get_threshold() said before the first."""
    before = gc.get_threshold()
    gc.collect(0)
    for value in values:
        gc.set_threshold(*map(int, value.split(",")))
        gc.collect(0)
        gc.collect(1)
    return {"before": before}


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


def spin(seconds, answers=None):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def awake_ns(pid):
    """For how long another thread ran or was runnable: sched_info of linux/sched.h."""
    with open("/proc/%d/schedstat" % pid) as stream:
        ran, queued, _ = stream.read().split()
    return int(ran) + int(queued)


def wait_for_sleep(pid):
    while not is_asleep(pid):
        time.sleep(0.001)


class Worker:
    """A forked child that collects once, for some time, when told; @late: once its parent is asleep."""

    def __init__(self, seconds, late=False, within=None):
        ours, self.told = os.pipe()
        self.answers, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(ours)
            os.close(theirs)
            return
        oracle.Sleeper.__del__ = lambda sleeper: (within or spin)(seconds, theirs)
        oracle.cycles(1, oracle.Sleeper)
        os.read(ours, 1)
        if late:
            wait_for_sleep(os.getppid())
        gc.collect()
        os.write(theirs, b"%d" % sum(AWAKE_NS))
        os._exit(0)

    def start(self):
        os.write(self.told, b"x")

    def end(self):
        os.close(self.told)
        os.close(self.answers)
        os.waitpid(self.pid, 0)


def do_waiting(milliseconds):
    """waiting MS: a child collects for twice that long while this thread waits for its answer."""
    worker = Worker(int(milliseconds) / 1e3, late=True)
    worker.start()
    os.read(worker.answers, 1)
    worker.end()
    return {"child": worker.pid}


def do_computing(milliseconds):
    """computing MS: the same while this thread computes until after the child has answered."""
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
    """worker MS: makes a child that waits for a command."""
    WORKERS.append(Worker(int(milliseconds) / 1e3))
    return {"child": WORKERS[-1].pid}


def do_go():
    """go: gives the command, and waits for its answer."""
    worker = WORKERS.pop()
    worker.start()
    os.read(worker.answers, 1)
    worker.end()
    return {}


AWAKE_NS = []


def watch_parent(seconds, answers):
    """Wakes the sleeping parent and goes on until it sleeps again, and for that long after."""
    if AWAKE_NS:
        return  # the other half of the cycle
    parent = os.getppid()
    before = awake_ns(parent)
    os.write(answers, b"x")
    wait_for_sleep(parent)
    spin(seconds)
    AWAKE_NS.append(awake_ns(parent) - before)


def do_half(milliseconds):
    """half MS: a child collects; this thread, woken by it, computes for MS and waits for as long."""
    seconds = int(milliseconds) / 1e3
    worker = Worker(seconds, late=True, within=watch_parent)
    worker.start()
    os.read(worker.answers, 1)
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    awake = int(os.read(worker.answers, 64))
    worker.end()
    return {"child": worker.pid, "awake_ns": awake}


if __name__ == "__main__":
    vars(oracle).update({name: do for name, do in globals().items() if name.startswith("do_")})
    oracle.main()
