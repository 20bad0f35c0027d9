"""The workload whose own books the tracer is checked against: reads commands, answers in JSON.

Runs under every CPython from 3.8 on with the standard library alone. Prints one "ready" line, then
answers each line of stdin ("collect 23 11 7") with one line of JSON. The automatic collector is off
unless a command turns it on, so what a command counted is all that happened while it ran.
"""

import gc

gc.disable()

import json
import os
import sys
import threading
import time

LOG = []  # (phase, ns, generation) of every collection, when callbacks are on


class Node:
    """Half of a cycle that only the collector can free."""

    def __init__(self):
        self.other = None


def cycles(n, cls=Node):
    for _ in range(n):
        a, b = cls(), cls()
        a.other, b.other = b, a


def uncollectable_class():
    """A class whose cycles the collector must give up on; None without CPython's test module."""
    try:
        from _testcapi import with_tp_del
    except Exception:
        return None

    @with_tp_del
    class Stubborn(Node):
        def __tp_del__(self):
            pass

    return Stubborn


def on_collection(phase, info):
    LOG.append((phase, time.monotonic_ns(), info["generation"]))


def snapshot():
    return [(s["collections"], s["collected"], s["uncollectable"]) for s in gc.get_stats()]


class Books:
    """What gc.get_stats() gained since this was made."""

    def __init__(self):
        self.before = snapshot()

    def close(self):
        after = snapshot()
        gained = [[a - b for a, b in zip(new, old)] for new, old in zip(after, self.before)]
        return {
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "collections": [g[0] for g in gained],
            "collected": [g[1] for g in gained],
            "uncollectable": [g[2] for g in gained],
        }


def settle():
    """Lets the interpreter run a collection that was already asked for (3.12+ defers them)."""
    for _ in range(100):
        pass


def brackets():
    """LOG as [start_ns, stop_ns, generation] for each collection."""
    found, start = [], None
    for phase, ns, generation in LOG:
        if phase == "start":
            start = ns
        else:
            found.append([start, ns, generation])
    return found


def mixed(counts):
    """The generations of a run of counts[g] collections of each, well mixed."""
    left, order = list(counts), []
    while any(left):
        for generation in (0, 1, 0, 2):
            if left[generation]:
                left[generation] -= 1
                order.append(generation)
    return order


def collect_all(counts):
    lost = uncollectable_class()
    for i, generation in enumerate(mixed(counts)):
        cycles(1 + i % 13)
        if lost and i % 5 == 2:
            cycles(1, lost)
        gc.collect(generation)
    for stubborn in gc.garbage:
        stubborn.other = None
    del gc.garbage[:]


def do_collect(*counts):
    """collect N0 N1 N2: that many collections of each generation, without callbacks."""
    books = Books()
    collect_all([int(n) for n in counts])
    return books.close()


def do_bracket(*counts):
    """bracket N0 N1 N2: the same, with the times that gc.callbacks saw."""
    del LOG[:]
    gc.callbacks.append(on_collection)
    books = Books()
    collect_all([int(n) for n in counts])
    result = books.close()
    gc.callbacks.remove(on_collection)
    result["brackets"] = brackets()
    return result


def do_auto(objects, told=""):
    """auto N [told]: N cycles under the automatic collector, some of which live for a while; with the times that
    gc.callbacks saw."""
    kept = []
    del LOG[:]
    if told:
        gc.callbacks.append(on_collection)
    books = Books()
    gc.enable()
    for i in range(int(objects)):
        a, b = Node(), Node()
        a.other, b.other = b, a
        if i % 7 == 0:
            kept.append(a)
        if len(kept) > 3001:
            del kept[:1009]
    gc.disable()
    settle()
    result = books.close()
    if told:
        gc.callbacks.remove(on_collection)
        result["brackets"] = brackets()
    return result


def do_disabled(objects):
    """disabled N: the same allocation with the collector off."""
    books = Books()
    cycles(int(objects))
    return books.close()


def do_threads(threads):
    """threads N: N threads that each collect a different number of times."""
    per_thread = {}

    def body(n):
        cycles(n)
        for _ in range(n):
            gc.collect(0)
        per_thread[threading.get_native_id()] = n

    # all alive at once, so that no thread id is reused
    gate = threading.Barrier(int(threads) + 1)

    def run(n):
        gate.wait()
        body(n)
        gate.wait()

    books = Books()
    started = [threading.Thread(target=run, args=(3 + 2 * i,)) for i in range(int(threads))]
    for thread in started:
        thread.start()
    gate.wait()
    gate.wait()
    for thread in started:
        thread.join()
    result = books.close()
    result["per_thread"] = per_thread
    return result


def worker(pipe, counts):
    gc.disable()
    settle()
    started = snapshot()
    books = Books()
    collect_all(counts)
    result = books.close()
    result["before"] = [s[0] for s in started]
    pipe.send(result)
    pipe.close()


def do_fork(method, workers, *counts):
    """fork METHOD N N0 N1 N2: N multiprocessing workers that each collect."""
    import multiprocessing

    context = multiprocessing.get_context(method)
    books = Books()
    started = []
    for i in range(int(workers)):
        ours, theirs = context.Pipe(False)
        process = context.Process(
            target=worker, args=(theirs, [int(n) + i for n in counts]), daemon=True
        )
        process.start()
        theirs.close()
        started.append((process, ours))
    reports = [ours.recv() for _, ours in started]
    for process, _ in started:
        process.join()
    result = books.close()
    result["workers"] = reports
    return result


def do_exec(*argv):
    """exec [PROGRAM ARG...]: becomes a new oracle, or the program named."""
    argv = list(argv) or [sys.executable, os.path.abspath(__file__)]
    os.execv(argv[0], argv)


class Nester(Node):
    """Collects again in the middle of its own collection."""

    returned = []

    def __del__(self):
        Nester.returned.append(gc.collect())


def do_nested(n):
    """nested N: N full collections whose finalizers ask for another."""
    del Nester.returned[:]
    books = Books()
    for _ in range(int(n)):
        cycles(1, Nester)
        gc.collect()
    result = books.close()
    result["inner"] = len(Nester.returned)
    return result


class Sleeper(Node):
    seconds = 0.02

    def __del__(self):
        time.sleep(Sleeper.seconds)


def do_finalizer(milliseconds, alone=""):
    """finalizer MS [alone]: one collection with two finalizers, each sleeping that long, beside
    another thread that wants the GIL all the time."""
    Sleeper.seconds = int(milliseconds) / 1e3
    over = []

    def busy():
        while not over:
            time.sleep(0.001)

    other = threading.Thread(target=busy)
    if not alone:
        other.start()
    books = Books()
    cycles(1, Sleeper)
    gc.collect()
    over.append(True)
    result = books.close()
    if not alone:
        other.join()
    return result


def do_stuck(marker):
    """stuck FILE: a collection that creates the file and never ends."""

    class Stuck(Node):
        def __del__(self):
            with open(marker, "w"):
                pass
            time.sleep(3600)

    cycles(1, Stuck)
    gc.collect()


def frames(frame):
    """The Python stack, innermost first, as the tracer should report it."""
    found = []
    while frame is not None:
        code = frame.f_code
        found.append(
            {
                "function": getattr(code, "co_qualname", code.co_name),
                "file": code.co_filename,
                "line": frame.f_lineno,
            }
        )
        frame = frame.f_back
    return found


EXPECTED = []


def leaf():
    EXPECTED.append(frames(sys._getframe())); gc.collect()


def deep(n):
    if n == 0:
        return leaf()
    return deep(n - 1)


def do_deep(n):
    """deep N: a collection under N frames more than usual."""
    del EXPECTED[:]
    sys.setrecursionlimit(max(sys.getrecursionlimit(), int(n) + 200))
    books = Books()
    deep(int(n))
    result = books.close()
    result["stacks"] = EXPECTED
    return result


def do_deep_aside(n):
    """deep_aside N: the same in a thread of its own, while this one waits."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append((do_deep(n), threading.get_native_id())))
    thread.start()
    thread.join()
    result, result["ran_in"] = answers[0]
    return result


def waited_for_processor():
    """How long this thread was runnable and did not run, in ns."""
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1])


def do_gaps(n, milliseconds):
    """gaps N MS: N collections of a heap of 200,000 objects, each with a finalizer that sleeps so long, beside a thread
    that looks at the clock all the time: between which looks more than 1 ms went by, and for how long it slept there."""
    Sleeper.seconds = int(milliseconds) / 1e3
    heap = [[i] for i in range(200_000)]
    gaps, over, begun = [], [], threading.Event()

    def look():
        waited = waited_for_processor()
        last, last_ran = time.monotonic_ns(), time.thread_time_ns()
        while not over:
            now, ran = time.monotonic_ns(), time.thread_time_ns()
            if now - last > 1_000_000:
                before, waited = waited, waited_for_processor()
                gaps.append((last, now, now - last - (ran - last_ran) - (waited - before)))
            last, last_ran = now, ran
            begun.set()

    other = threading.Thread(target=look)
    other.start()
    begun.wait()
    books = Books()
    calls = []
    for _ in range(int(n)):
        sleeper = Sleeper()
        sleeper.other = sleeper
        del sleeper
        before = time.monotonic_ns()
        gc.collect()
        calls.append((before, time.monotonic_ns()))
    result = books.close()
    over.append(True)
    other.join()
    result.update(gaps=gaps, calls=calls, heap=len(heap))
    return result


def decorated(function):
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Trainer:
    def __init__(self):
        self.loss = 0

    @decorated
    def step(self):
        leaf()

    @staticmethod
    def helper():
        leaf()

    @classmethod
    def build(cls):
        leaf()

    @property
    def lazy(self):
        leaf()
        return 0

    def __len__(self):
        leaf()
        return 0


def generator():
    yield 1
    leaf()
    yield 2


def delegating():
    yield from generator()


async def coroutine():
    leaf()


def drive(awaitable):
    try:
        awaitable.send(None)
    except StopIteration:
        pass


def many_lines():
    first = 1

    # a gap, so that the line table has to skip


    second = [
        first,
        leaf(),
        2,
    ]
    return second


def in_handler():
    try:
        raise ValueError
    except ValueError:
        leaf()


# Line steps above 127 and code steps above 254, which the line tables spell in pieces.
FAR_DOWN = "def far_down():\n x = 0\n" + "\n" * 301 + " x = %s\n" % "+".join("x" * 301)
FAR_DOWN += "\n" * 131 + " leaf()\n"


def do_stack():
    """stack: collections reached through everything that makes a Python stack odd."""
    del EXPECTED[:]
    trainer = Trainer()
    books = Books()
    leaf()
    trainer.step()
    Trainer.helper()
    Trainer.build()
    trainer.lazy
    len(trainer)
    list(delegating())
    drive(coroutine())
    [leaf() for _ in (1,)]
    list(leaf() for _ in (1,))
    sorted([1], key=lambda _: leaf())
    list(map(lambda _: leaf(), [1]))
    many_lines()
    in_handler()
    space = {"leaf": leaf}
    exec(compile(FAR_DOWN + "far_down()", "<made up>", "exec"), space)
    result = books.close()
    result["stacks"] = EXPECTED
    return result


NAMES = [
    "gr\u00f6\u00dfe",  # Latin-1: one byte a character
    "\u8a08\u7b97",  # two bytes
    "\U000103a0\U000103a1",  # four bytes
    "a<b>&\"'; c\\d",  # what SVG, folded stacks and JSON must escape
    "line\nbreak\ttab\x01\x7f",
    "lone\ud800surrogate",
    "x" * 10007,
    "",
]


def do_unicode():
    """unicode: a collection in a function of each of NAMES."""
    del EXPECTED[:]
    books = Books()
    for name in NAMES:
        space = {"leaf": leaf}
        exec("def f():\n    leaf()\n", space)
        code = space["f"].__code__
        change = {"co_name": name, "co_filename": name + ".py"}
        if hasattr(code, "co_qualname"):
            change["co_qualname"] = name
        space["f"].__code__ = code.replace(**change)
        space["f"]()
    result = books.close()
    result["stacks"] = EXPECTED
    result["names"] = NAMES
    return result


IN_SUBINTERPRETER = """
import gc
gc.disable()
before = [s["collections"] for s in gc.get_stats()]
for generation, n in enumerate(%r):
    for _ in range(n):
        gc.collect(generation)
after = [s["collections"] for s in gc.get_stats()]
import posix
posix.write(%d, repr([a - b for a, b in zip(after, before)]).encode())
"""


KEPT = []  # interpreters: dropping the last reference to one ends it, with collections of its own


def interpreters_module():
    """None: this build has none."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name)
        except ImportError:
            pass
    return None


def do_subinterpreters(*counts):
    """subinterpreters N0 N1 N2: that many here, and one and two more in two others."""
    interpreters = interpreters_module()
    if not interpreters:
        return {"unsupported": "no _interpreters module in this build"}
    run = interpreters.run_string
    counts = [int(n) for n in counts]
    ids = [interpreters.create() for _ in range(2)]
    KEPT.extend(ids)
    reader, writer = os.pipe()
    books = Books()
    collect_all(counts)
    result = books.close()
    result["others"] = []
    for i, which in enumerate(ids):
        run(which, IN_SUBINTERPRETER % ([n + i + 1 for n in counts], writer))
        answer = os.read(reader, 4096)
        result["others"].append(json.loads(answer.decode()))
    return result


SHORT_LIVED = """
import gc
gc.disable()
for _ in range(%d):
    gc.collect(0)
import posix
posix.write(%d, str(gc.get_stats()[0]["collections"]).encode())
"""


def do_successive(count, each):
    """successive N EACH: N interpreters, each begun when the one before has ended, with so many collections and more."""
    interpreters = interpreters_module()
    if not interpreters:
        return {"unsupported": "no _interpreters module in this build"}
    reader, writer = os.pipe()
    books = Books()
    others = []
    for i in range(int(count)):
        which = interpreters.create()
        interpreters.run_string(which, SHORT_LIVED % (int(each) + i % 3, writer))
        others.append(int(os.read(reader, 4096)))
        interpreters.destroy(which)
    result = books.close()
    result["others"] = others
    return result


def do_sleepless(seconds):
    """sleepless S: back-to-back collections for S seconds."""
    end = time.monotonic() + float(seconds)
    books = Books()
    while time.monotonic() < end:
        for _ in range(101):
            gc.collect(0)
    return books.close()


def do_new_names(seconds):
    """new_names S: back-to-back collections for S seconds, out of ever new functions, of more than 100."""
    fresh = "def fresh%d():\n for _ in range(101): gc.collect(0)\nfresh%d()"
    end = time.monotonic() + float(seconds)
    books = Books()
    names = 0
    while time.monotonic() < end or names <= 100:
        exec(fresh % (names, names), {"gc": gc})
        names += 1
    result = books.close()
    result["names"] = names
    return result


def do_version():
    return {
        "version": list(sys.version_info[:3]),
        "uncollectable": uncollectable_class() is not None,
    }


def say(answer):
    # written with one call, past any buffer, so that a reader sees whole lines
    os.write(1, json.dumps(answer).encode() + b"\n")


def main():
    commands = {name[3:]: do for name, do in globals().items() if name.startswith("do_")}
    say(
        {
            "event": "ready",
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "uid": os.getuid(),
            "collections": [s[0] for s in snapshot()],
        }
    )
    while True:
        line = sys.stdin.readline()
        words = line.split()
        if not words or words[0] == "quit":
            os._exit(0)
        if words[0] == "exit":
            # the ordinary way out, with the collections of interpreter shutdown
            sys.exit(int(words[1]) if len(words) > 1 else 0)
        answer = commands[words[0]](*words[1:])
        answer["event"] = words[0]
        say(answer)


if __name__ == "__main__":
    main()
