"""A JVM that stays in a safepoint for as long as a test wants: its log is a pipe, which is full.

In: a row of kind hotspot. Out: Stuck, which stops in its first System.gc() and goes on when told to.
"""

import os
import threading
import time
from pathlib import Path

import harness
import jvm_check
import jvm_harness

CALLS = 7
WRITE = "1"  # the number of write(2) on x86-64
OPERATIONS = {"serial": ("GenCollectFull", "SerialGCCollect"), "g1": ("G1CollectFull",) * 2}


class Stuck:
    """@wait: it stands still at once; else begin() makes it."""

    def __init__(self, bench, runtime, collector="serial", flags=(), wait=True, **options):
        self.inside, self.outside = jvm_harness._folder(runtime, bench.scratch)
        bench.placed.add(str(self.outside))
        self.operation = OPERATIONS[collector][runtime.feature >= 22]
        self.make_pipe()
        log = ["-Xlog:gc:file=%s/log" % self.inside]
        if runtime.feature == 8:
            log = ["-Xloggc:%s/log" % self.inside]
        args = ["--steps", CALLS, "--gc-every", 1, "--alloc-mb", 1, "--live-mb", 1]
        self.drain()
        self.jvm = jvm_check.start(
            bench,
            runtime,
            "Train",
            collector=collector,
            flags=log + list(flags),
            args=args,
            log=False,
            **options
        )
        self.fill()
        if wait:
            self.begin()

    def begin(self):
        self.jvm.start()
        harness.wait_until(self.is_stuck, what="the safepoint")
        self.stuck_ns = time.monotonic_ns()

    def make_pipe(self):
        path = self.outside / "log"
        os.mkfifo(str(path))
        path.chmod(0o666)
        self.outside.chmod(0o777)
        self.fd = os.open(str(path), os.O_RDWR)

    def drain(self):
        """Keeps reading until fill()."""
        self.reading = True
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        os.set_blocking(self.fd, True)
        while self.reading:
            os.read(self.fd, 1 << 16)

    def fill(self):
        self.reading = False
        os.write(self.fd, b"\n")  # so that read() looks
        self.reader.join()
        os.set_blocking(self.fd, False)
        for size in (4096, 1):
            try:
                while True:
                    os.write(self.fd, b"\n" * size)
            except BlockingIOError:
                pass

    def is_stuck(self):
        """Whether its VM Thread, which logs collections only within safepoints, waits in write(2)."""
        task = Path("/proc/%d/task/%d" % (self.jvm.pid, self.jvm.tid_of("VM Thread")))
        return (task / "syscall").read_text().split()[0] == WRITE

    def go_on(self):
        """Lets it finish all its calls. Returns when it was released."""
        released_ns = time.monotonic_ns()
        self.drain()
        self.jvm.done()
        return released_ns
