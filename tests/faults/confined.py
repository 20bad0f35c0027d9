#!/usr/bin/env python3
"""confined.py kill|errno NUMBER... -- COMMAND...: runs COMMAND under a seccomp filter that kills it for these
system calls, or refuses them with EPERM."""

import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
# linux/filter.h, linux/seccomp.h: load the number; if it is not the one, skip the next; answers
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW = 0x7FFF0000
ANSWERS = {"kill": 0x80000000, "errno": 0x00050001}


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


end = sys.argv.index("--")
steps = [(LOAD, 0, 0, 0)]
for number in sys.argv[2:end]:
    steps += [(JUMP_EQUAL, 0, 1, int(number)), (RETURN, 0, 0, ANSWERS[sys.argv[1]])]
steps.append((RETURN, 0, 0, ALLOW))
code = b"".join(struct.pack("HBBI", *step) for step in steps)
libc = ctypes.CDLL(None, use_errno=True)
program = Program(len(steps), code)
if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
    raise OSError(ctypes.get_errno(), "the kernel takes no seccomp filter")
os.execvp(sys.argv[end + 1], sys.argv[end + 1 :])
