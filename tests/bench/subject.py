"""The measured process. In: a command a line on stdin. Out: one JSON value a line on stdout.

    measure DEPTH CALLS BATCHES PAUSE   thread CPU time of a gc.collect(0), ns, one number per batch
    timer on|off                        an in-process timer through gc.callbacks
    storm SECONDS                       collects back to back: its collections by generation
    loop                                collects for ever, from here on
    stats                               gc.get_stats()
"""
import gc
import json
import sys
import time


class Timer:
    """What a program does that times its own collections."""

    def __init__(self):
        self.start_ns = self.total_ns = self.count = 0

    def __call__(self, phase, info):
        if phase == "start":
            self.start_ns = time.perf_counter_ns()
        else:
            self.total_ns += time.perf_counter_ns() - self.start_ns
            self.count += 1


def batch(calls):
    collect, turns, clock = gc.collect, range(calls), time.thread_time_ns
    for _ in range(calls // 10):  # caches and branch predictors
        collect(0)
    start = clock()
    for _ in turns:
        collect(0)
    return (clock() - start) / calls


def chain(frames):
    """A function that calls batch() under this many different functions, itself included."""
    source = "".join("def level%d(calls):\n    return level%d(calls)\n" % (i, i + 1)
                     for i in range(frames))
    space = {"level%d" % frames: batch}
    exec(compile(source, "chain.py", "exec"), space)
    return space["level0"]


def frames_here():
    frame, count = sys._getframe(), 0
    while frame:
        frame, count = frame.f_back, count + 1
    return count


def measure(depth, calls, batches, pause):
    run = chain(max(depth - frames_here(), 0))
    result = []
    for _ in range(batches):
        time.sleep(pause)  # the tracer drains its ring
        result.append(run(calls))
    return result


def storm(seconds):
    collect, clock = gc.collect, time.monotonic
    before, end = gc.get_stats(), clock() + seconds
    begin = clock()
    while clock() < end:
        for _ in range(100):
            collect(0)
    took = clock() - begin
    after = gc.get_stats()
    return {"seconds": took, "cpu": time.thread_time(),
            "collections": [b["collections"] - a["collections"] for a, b in zip(before, after)]}


def answer(words, timer):
    if words[0] == "measure":
        return measure(int(words[1]), int(words[2]), int(words[3]), float(words[4]))
    if words[0] == "storm":
        return storm(float(words[1]))
    if words[0] == "timer":
        gc.callbacks[:] = [timer] if words[1] == "on" else []
        return timer.count
    if words[0] == "loop":
        print("true", flush=True)
        while True:
            gc.collect(0)
    return gc.get_stats()


def main():
    gc.disable()
    timer = Timer()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(line.split(), timer)), flush=True)


main()
