#!/usr/bin/env python3
"""Ranks that add up their gradients by gloo after each step, and collect at their own times, one at a time.

Most of a step is a sleep, as if a device did the work: there may be more ranks than processors. See interleaved.py
for what it is told and says; READY names all ranks, and the k-th figure of a run is of the k-th of them.
"""

import argparse
import ctypes
import gc
import os
import random
import signal
import socket
import time

import torch
import torch.distributed
import torch.multiprocessing
from torch import nn

import interleaved

PR_SET_PDEATHSIG = 1


class Rank:
    def __init__(self, rank, given):
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(given.port))
        torch.distributed.init_process_group("gloo", rank=rank, world_size=given.ranks)
        torch.set_num_threads(1)
        self.rank, self.given = rank, given
        self.work, self.heap = interleaved.Work(given.work), interleaved.Heap(given.pause)
        self.model = nn.Linear(16, 1, bias=False)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        chance = random.Random("%d/%d" % (given.seed, rank))
        self.sleeps = [given.device / 1e3 * chance.uniform(0.9, 1.1) for _ in range(given.steps)]
        self.batch = torch.ones(16)

    def step(self, number, share):
        self.work(share)
        if share < 1:
            gc.collect()
            self.work(1 - share)
        time.sleep(self.sleeps[number])
        self.optimizer.zero_grad()
        self.model(self.batch).sum().backward()
        for parameter in self.model.parameters():
            torch.distributed.all_reduce(parameter.grad)
        self.optimizer.step()

    def run(self, planned):
        """Of the planned collections the first is rank 0's, the second rank 1's, and so on."""
        collecting = dict(list(planned.items())[self.rank :: self.given.ranks])
        torch.distributed.barrier()
        begin = time.monotonic_ns()
        for number in range(self.given.steps):
            self.step(number, collecting.get(number, 1))
        return time.monotonic_ns() - begin


def serve_rank(number, given, orders, answers):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    rank = Rank(number, given)
    rank.run({})
    answers.put((number, os.getpid(), 0))
    while True:
        collecting, seed = orders.get()
        before = interleaved.collections()
        took = rank.run(interleaved.plan(given, seed) if collecting else {})
        answers.put((number, took, interleaved.collections() - before))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def main():
    options = interleaved.add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 307, 25)
    options.add_argument("--ranks", type=int, default=4)
    options.add_argument("--work", type=float, default=0.5, help="ms of work in a step (0.5)")
    options.add_argument("--device", type=float, default=8, help="ms of sleep in a step (8)")
    given = options.parse_args()
    given.port = free_port()  # where they meet
    spawn = torch.multiprocessing.get_context("spawn")
    orders, answers = [spawn.SimpleQueue() for _ in range(given.ranks)], spawn.SimpleQueue()
    for number in range(given.ranks):
        rank = spawn.Process(target=serve_rank, args=(number, given, orders[number], answers), daemon=True)
        rank.start()

    def gather():
        return sorted(answers.get() for _ in range(given.ranks))

    pids = [pid for _, pid, _ in gather()]
    os.write(1, ("READY %s\n" % " ".join(map(str, pids))).encode())
    for order in interleaved.orders():
        for mine in orders:
            mine.put(order)
        _, took, collected = zip(*gather())
        interleaved.say(ns=took, collections=collected)


if __name__ == "__main__":
    main()
