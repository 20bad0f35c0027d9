"""Ranks of an MPI program that make steps and wait for each other, and keep books of their CPU time.

usage: mpiexec -n RANKS python mpi_subject.py LIBWORK LIBINSIDE FOLDER

In, on rank 0's stdin: "FUNCTION STEPS" a line, then "quit": Open MPI's mpiexec passes no end of its input on. Out: "READY PID...",
then "DONE" after each. The books of rank N are in FOLDER/N: a JSON line for each command, a list of books at each mark, in ns:
[CPU time, of that in MPI, the way into MPI's functions and out again, what was taken, how long this mark took].
"""

import array
import ctypes
import gc
import json
import os
import sys
import time

inside = ctypes.CDLL(sys.argv[2], mode=ctypes.RTLD_GLOBAL).mpi_inside_ns  # found before libmpi's
inside.restype = ctypes.c_long

from mpi4py import MPI  # noqa: E402

import clocks  # noqa: E402

gc.disable()
mark = ctypes.PyDLL(sys.argv[1]).work_step
world = MPI.COMM_WORLD
a, b = array.array("d", [1.0] * 64), array.array("d", [0.0] * 64)
part = array.array("d", [0.0] * (64 // world.size))
window = MPI.Win.Create(b, comm=world)

WORK_NS, LATE_S = 1000000, 5e-3


def send_to_all(send):
    for rank in range(1, world.size):
        send(rank)


# What ranks 1 and up wait in for rank 0, which does the first of the two.
CALLS = {
    "Allreduce": (lambda: world.Allreduce(a, b),) * 2,
    "allreduce": (lambda: world.allreduce([1]),) * 2,
    "Reduce_scatter_block": (lambda: world.Reduce_scatter_block(a, part),) * 2,
    "Scan": (lambda: world.Scan(a, b),) * 2,
    "Barrier": (world.Barrier,) * 2,
    "Bcast": (lambda: world.Bcast(b),) * 2,
    "Wait": (lambda: world.Iallreduce(a, b).Wait(),) * 2,
    "Waitall": (lambda: MPI.Request.Waitall([world.Ibarrier()]),) * 2,
    "Recv": (lambda: send_to_all(lambda rank: world.Send(a, rank)), lambda: world.Recv(b, 0)),
    "recv": (lambda: send_to_all(lambda rank: world.send([1], rank)), lambda: world.recv(source=0)),
    "Sendrecv_replace": (
        lambda: send_to_all(lambda rank: world.Sendrecv_replace(b, rank, source=rank)),
        lambda: world.Sendrecv_replace(b, 0, source=0),
    ),
    "Ssend": (lambda: send_to_all(lambda rank: world.Recv(b, rank)), lambda: world.Ssend(a, 0)),
    "Fence": (window.Fence,) * 2,
}


taken = clocks.Taken()


def step(call, book):
    """Rank 0 is late."""
    until = time.thread_time_ns() + WORK_NS
    while time.thread_time_ns() < until:
        pass
    if world.rank == 0:
        taken.without(time.sleep, LATE_S)
    before, start, within = time.thread_time_ns(), time.monotonic_ns(), inside()
    call()
    book[0] += time.thread_time_ns() - before
    book[1] += time.monotonic_ns() - start - (inside() - within)


def set_mark(book):
    """The books are written after it, so that the kernel has not just been asked for the CPU time when the mark is made."""
    start = time.monotonic_ns()
    mark()
    used = time.thread_time_ns()
    took = time.monotonic_ns() - start
    return [used, *book, taken.ns(), took]


def run(function, steps):
    call, books, book = CALLS[function][world.rank > 0], [], [0, 0]
    call()  # what MPI makes when it is first called is not of the steps
    for _ in range(steps):
        books.append(set_mark(book))
        step(call, book)
    books.append(set_mark(book))
    return books


pids = world.gather(os.getpid())
if world.rank == 0:
    print("READY", *pids, flush=True)
with open("%s/%d" % (sys.argv[3], world.rank), "w") as file:
    while True:
        line = world.bcast(sys.stdin.readline() if world.rank == 0 else None)
        if line == "quit\n":
            break
        function, steps = line.split()
        print(json.dumps(run(function, int(steps))), file=file, flush=True)
        world.Barrier()
        if world.rank == 0:
            print("DONE", flush=True)
window.Free()
