"""What became of a thread's time, by the kernel's books of it."""

import os
import threading
import time


class Taken:
    """Of the current thread's time: that in which it neither ran, nor waited for a processor, nor meant to sleep. A
    hypervisor had its processor then, or an interrupt that the kernel does not count as the thread's CPU time."""

    def __init__(self):
        self.file = os.open("/proc/self/task/%d/schedstat" % threading.get_native_id(), os.O_RDONLY)
        self.slept = 0

    def _waited(self):
        return int(os.pread(self.file, 100, 0).split()[1])

    def _away(self):
        while True:  # until it did not wait meanwhile
            waited = self._waited()
            away = time.monotonic_ns() - time.thread_time_ns()
            if self._waited() == waited:
                return away - waited

    def without(self, call, *arguments):
        """Leaves out what passes in a call that sleeps."""
        before = self._away()
        call(*arguments)
        self.slept += self._away() - before

    def ns(self):
        """Since some moment."""
        return self._away() - self.slept
