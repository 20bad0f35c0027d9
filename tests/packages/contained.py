"""Runs a program as the root of a container does: contained.py ROOT CAPABILITY,... PROGRAM ARG...

In that root and with exactly these capabilities, whose numbers are those of linux/capability.h.
"""

import ctypes
import os
import sys

NUMBERS = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40}
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38


def main(root, names, *argv):
    kept = {NUMBERS[name] for name in names.split(",") if name}
    with open("/proc/sys/kernel/cap_last_cap") as file:
        last = int(file.read())
    libc = ctypes.CDLL(None, use_errno=True)
    os.chroot(root)
    os.chdir("/")
    os.setgroups([])
    for number in set(range(last + 1)) - kept:
        if libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "capability %d cannot be dropped" % number)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main(*sys.argv[1:])
