"""A workload full of what harms tracers, at random, but the same for the same seed.

usage: soak_load.py SEED ACTIONS TRUTH [leaf]

Prints what it did and how its children ended: that must not depend on being traced. Each process
appends a line to TRUTH when it begins and before it ends: what its collector's own books said, and
when. Runs under every CPython from 3.8 on with the standard library alone.
"""

import gc
import json
import os
import random
import signal
import sys
import threading
import time

try:
    import greenlet
except ImportError:
    greenlet = None
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = None

SEED, ACTIONS, TRUTH = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
LIBRARIES = ["libm.so.6", "libz.so.1", "libbz2.so.1.0", "liblzma.so.5", "libcrypt.so.1"]


def note(event):
    """The collector is off when this runs, so that nothing is collected between book and clock."""
    line = {
        "event": event,
        "pid": os.getpid(),
        "tid": threading.get_native_id(),
        "ns": time.monotonic_ns(),
        "collections": [s["collections"] for s in gc.get_stats()],
    }
    fd = os.open(TRUTH, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(fd, json.dumps(line).encode() + b"\n")
    os.close(fd)


def say(*words):
    print(*words, flush=True)


class Node:
    """Half of a cycle. What @last does, the collector does."""

    last = None

    def __del__(self):
        if self.last:
            last, self.last = self.last, None
            last()


def cycle(last=None):
    a, b = Node(), Node()
    a.other, b.other, a.last = b, a, last


def settle():
    """Waits for threads that have been joined and are still on their way out: in 3.8 and 3.9 they load
    libgcc_s then, of which a child that is forked meanwhile has half, and dies of it, traced or not."""
    while len(os.listdir("/proc/self/task")) > 1:
        time.sleep(0.001)


def fork_and(act):
    """A child that does @act and leaves with 0, unless @act leaves; says how it ended."""
    gc.disable()
    settle()
    pid = os.fork()
    if not pid:
        note("begin")
        gc.enable()
        act()
        leave(0)
    gc.enable()
    _, status = os.waitpid(pid, 0)
    say("child", status)


def leave(code):
    gc.disable()
    note("end")
    os._exit(code)


# What a process does. Each takes the random numbers that it needs from @dice.


def collect(dice):
    for _ in range(dice.randrange(1, 8)):
        cycle()
        gc.collect(dice.randrange(3))


def churn(dice):
    for _ in range(dice.randrange(500, 3000)):
        cycle()


def settings(dice):
    gc.set_threshold(dice.choice([100, 700, 2000]), dice.choice([3, 10]), 10)
    if dice.random() < 0.3:
        gc.freeze()
        gc.unfreeze()


def threads(dice):
    count = dice.randrange(2, 6)

    def work():
        for _ in range(5):
            cycle()
            gc.collect(0)

    started = [threading.Thread(target=work) for _ in range(count)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def load_library(dice):
    import ctypes

    try:
        ctypes.CDLL(dice.choice(LIBRARIES))
    except OSError:
        pass  # not in this root


def nested(dice):
    cycle(lambda: gc.collect())
    gc.collect()


def thread_in_finalizer(dice):
    def last():
        thread = threading.Thread(target=gc.collect)
        thread.start()
        thread.join()

    cycle(last)
    gc.collect(dice.randrange(3))


def raise_in_finalizer(dice):
    def last():
        raise ValueError("as asked")

    cycle(last)
    gc.collect(dice.randrange(3))


def sub_interpreter(dice):
    if interpreters is None:
        return
    run = getattr(interpreters, "run_string", None) or interpreters.exec

    gc.disable()
    note("away")  # from 3.9 on its collections are in books of their own
    made = interpreters.create()
    run(made, "import gc\nfor i in range(3): gc.collect(i)")
    interpreters.destroy(made)
    note("back")
    gc.enable()


def greenlets(dice):
    if greenlet is None:
        return
    main = greenlet.getcurrent()
    other = greenlet.greenlet(lambda: (gc.collect(), main.switch()))
    cycle(lambda: other.switch())
    gc.collect()
    other.switch()


def bad_exec(dice):
    try:
        os.execv("/nonexistent", ["nonexistent"])
    except OSError:
        pass


SIMPLE = [
    collect,
    churn,
    settings,
    threads,
    load_library,
    nested,
    thread_in_finalizer,
    raise_in_finalizer,
    sub_interpreter,
    greenlets,
    bad_exec,
]

# How a child ends, after some of the above.


def die(dice):
    gc.disable()
    note("end")
    os.kill(os.getpid(), signal.SIGKILL)


def run_leaf(dice):
    gc.disable()
    note("end")
    line = [sys.executable, __file__, str(dice.randrange(1000)), "5", TRUTH, "leaf"]
    os.execv(sys.executable, line)


def run_stranger(dice):
    gc.disable()
    note("end")
    os.execv("/bin/sh", ["sh", "-c", "exit 5"])


def exit_in_finalizer(dice):
    gc.collect()
    gc.disable()
    cycle(lambda: leave(11))
    gc.collect()


def exec_in_finalizer(dice):
    gc.collect()
    gc.disable()
    cycle(lambda: run_leaf(dice))
    gc.collect()


def fork_in_finalizer(dice):
    cycle(lambda: fork_and(lambda: collect(dice)))
    gc.collect()


def fall(dice):
    gc.disable()
    note("end")
    raise SystemExit(13)


def just_leave(dice):
    leave(3)


ENDS = [
    die,
    run_leaf,
    run_stranger,
    exit_in_finalizer,
    exec_in_finalizer,
    fork_in_finalizer,
    fall,
    just_leave,
]


def child(dice):
    for _ in range(dice.randrange(1, 4)):
        dice.choice(SIMPLE)(dice)
    dice.choice(ENDS)(dice)


def main():
    dice = random.Random(SEED)
    leaf = sys.argv[4:] == ["leaf"]
    gc.disable()
    if not leaf:
        say("ready")
        sys.stdin.readline()
    note("begin")
    gc.enable()
    for _ in range(ACTIONS):
        if not leaf and dice.random() < 0.4:
            seed = dice.randrange(1 << 30)
            fork_and(lambda: child(random.Random(seed)))
        else:
            act = dice.choice(SIMPLE)
            act(dice)
            say(act.__name__)
    leave(17)


main()
