"""Runs a training program with a setting of the collector from its first line on, and tells how long its steps take.

usage: trial_loop.py SETTING STEPS PROGRAM [ARGUMENT...]

SETTING: same, off, or threshold=N,...; STEPS: 300:1200 ends it after 1500 steps and prints the mean ns of the last 1200, by
the clock and by CPU time; 0 lets it run. The program's steps are what it calls so: Truth.step() of tests/workloads, or its own Trainer.step().
"""

import contextlib
import gc
import importlib.util
import os
import sys
import time
from pathlib import Path


class Clock:
    def __init__(self, asked):
        self.skipped, self.counted = (int(n) for n in asked.split(":")) if asked != "0" else (0, 0)
        self.steps = self.began_ns = self.began_cpu_ns = 0

    def step(self):
        """At the begin of each step: its length is the time until the next one's."""
        if self.steps == self.skipped:
            self.began_ns, self.began_cpu_ns = time.monotonic_ns(), time.process_time_ns()
        elif self.counted and self.steps == self.skipped + self.counted:
            now_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
            print("MEAN %f %f" % (
                (now_ns - self.began_ns) / self.counted, (cpu_ns - self.began_cpu_ns) / self.counted), flush=True)
            os._exit(0)
        self.steps += 1


def watch(module, clock):
    """Has the program's steps counted."""
    if hasattr(module, "Truth"):
        mark = module.Truth.step

        @contextlib.contextmanager
        def step(truth):
            clock.step()
            with mark(truth):
                yield

        module.Truth.step = step
        return
    train = module.Trainer.step

    def step(trainer, *args):
        clock.step()
        return train(trainer, *args)

    module.Trainer.step = step


def main():
    setting, asked, program = sys.argv[1:4]
    if setting == "off":
        gc.disable()
    elif setting != "same":
        gc.set_threshold(*(int(n) for n in setting.split("=")[1].split(",")))
        gc.set_threshold = lambda *_: None  # the program's own would undo it
    sys.argv = sys.argv[3:]
    sys.path.insert(0, str(Path(program).parent))
    spec = importlib.util.spec_from_file_location("program", program)
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    watch(module, Clock(asked))
    module.main()


main()
