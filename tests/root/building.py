"""Builds the C of tests, and reads what memory a process has."""

import re
import subprocess
from pathlib import Path


def program(output, *arguments, compiler="gcc"):
    """Compiles and links; a failure is the test's."""
    subprocess.run([compiler, "-O1", "-Wall", "-o", output, *arguments], check=True)
    return output


def library(output, *arguments):
    return program(output, "-shared", "-fPIC", *arguments)


def memory_kib(pid, field):
    """A size of /proc/PID/status: VmRSS, VmHWM, RssAnon."""
    status = Path("/proc/%d/status" % pid).read_text()
    return int(re.search(field + r":\s+(\d+) kB", status).group(1))
