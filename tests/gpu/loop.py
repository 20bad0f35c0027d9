"""A training loop whose collections, queue and length are known, for a framework that a program of this folder brings.

The program calls main() with what makes its work:

    step()        launches the work of a step, and does what marks it for gctrace
    small()       launches one kernel as short as may be
    event()       what wait() waits for: all that was launched before it
    wait(event)
    library       how the file's name begins whose functions mark its steps
    profile(path) a context: the framework's own profiler, whose trace goes to @path; None: it has none that gctrace reads

The last line of its output is JSON: how long the steps took, and what they were. With --pairs that are as many pairs of
blocks of --collect steps, one of them with a collection in its middle: what a collection costs is told from the other, which the
same process made just before or after on the same machine.
"""

import argparse
import gc
import json
import os
import sys
import time
from collections import deque

WARM_UP = 30


class Node:
    """What a collection has to look at."""

    def __init__(self, other):
        self.other = other


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--depth", type=int, default=2, help="steps that the host may be ahead of the device")
    parser.add_argument("--collect", type=int, default=0, help="a collection after every so many steps; 0: none")
    parser.add_argument("--nodes", type=int, default=200000, help="objects that a collection looks at")
    parser.add_argument("--small", type=int, default=0, help="steps are so many short kernels, and nothing else")
    parser.add_argument("--pairs", type=int, default=0, help="pairs of blocks with and without a collection, instead of --steps")
    parser.add_argument("--cpu", action="store_true", help="without a GPU: tries the program, and measures nothing")
    parser.add_argument("--width", type=int, default=2048, help="of the layers")
    parser.add_argument("--profile", help="where the framework's profiler writes its trace")
    return parser.parse_args()


class Loop:
    def __init__(self, framework, args):
        self.framework, self.args = framework, args
        self.alive = [Node(None) for _ in range(args.nodes)] if args.collect else []
        self.ahead = deque()

    def collect(self):
        gc.collect()

    def step(self, collects):
        if self.args.small:
            for _ in range(self.args.small):
                self.framework.small()
        else:
            self.framework.step()
        self.ahead.append(self.framework.event())
        while len(self.ahead) > self.args.depth:
            self.framework.wait(self.ahead.popleft())
        if collects:
            self.collect()

    def end(self):
        while self.ahead:
            self.framework.wait(self.ahead.popleft())

    def run(self, steps):
        every = self.args.collect
        for number in range(steps):
            self.step(every and number % every == every - 1)
        self.end()

    def block(self, on):
        """Its collection is in the middle, so that all that it delays is within the block."""
        begin = time.monotonic_ns()
        for number in range(self.args.collect):
            self.step(on and number == self.args.collect // 2)
        return {"on": on, "begin_ns": begin, "end_ns": time.monotonic_ns()}

    def run_pairs(self, pairs):
        blocks = []
        for number in range(pairs):
            order = (True, False) if number % 2 else (False, True)
            blocks += [self.block(on) for on in order]
        self.end()
        return blocks


def is_probed(library):
    """Whether the kernel has put a breakpoint into its code, which is a page of its own then."""
    code = False
    with open("/proc/self/smaps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            words = line.split()
            if len(words) > 4 and "-" in words[0]:
                code = "x" in words[1] and os.path.basename(words[-1]).startswith(library)
            elif code and words[0] == "Anonymous:" and words[1] != "0":
                return True
    return False


def wait_for_probe(library):
    """A library is probed when it is there, which a busy machine does later than a few hundred short steps take."""
    end = time.monotonic() + 20
    while not is_probed(library) and time.monotonic() < end:
        time.sleep(0.01)


def main(make):
    """@make: called with the options, makes the work."""
    args = options()
    framework = make(args)
    if args.profile and not framework.profile:
        sys.exit("this framework has no profiler whose trace gctrace reads")
    gc.disable()
    if "GCTRACE_SHIM" in os.environ:  # it runs under trace
        wait_for_probe(framework.library)
    loop = Loop(framework, args)
    for _ in range(WARM_UP):
        loop.step(False)
    loop.end()
    blocks = []
    if args.profile:
        with framework.profile(args.profile):
            loop.run(args.steps)
        seconds = None
    else:
        begin = time.monotonic()
        if args.pairs:
            blocks = loop.run_pairs(args.pairs)
        else:
            loop.run(args.steps)
        seconds = time.monotonic() - begin
    steps = len(blocks) * args.collect if blocks else args.steps
    told = {"framework": framework.name, "seconds": seconds, "steps": steps, "warm_up": WARM_UP, "blocks": blocks}
    print(json.dumps(told), flush=True)
