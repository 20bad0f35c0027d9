#!/usr/bin/env python3
"""Ranks that add up their gradients by gloo after each step, and collect at their own times, one at a time.

Most of a step is a sleep, as if a device did the work: there may be more ranks than processors. See interleaved.py
for what it is told and says; READY names all ranks, and the k-th figure of a run is of the k-th of them.
"""

import argparse
import ctypes
import gc
import os
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
        self.sleeps = [given.device / 1e3 * share for share in interleaved.draws(given, 0.1, rank)]
        self.batch = torch.ones(16)

    def step(self, draw, share):
        self.work(share)
        if share < 1:
            gc.collect()
            self.work(1 - share)
        time.sleep(self.sleeps[draw])
        self.optimizer.zero_grad()
        self.model(self.batch).sum().backward()
        for parameter in self.model.parameters():
            torch.distributed.all_reduce(parameter.grad)
        self.optimizer.step()

    def run(self, plan):
        torch.distributed.barrier()
        return interleaved.run_steps(plan, self.step)


def serve_rank(number, given, orders, answers):
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    rank = Rank(number, given)
    for _ in range(3):
        rank.step(0, 1)
    answers.put((number, os.getpid(), 0))
    while True:
        plan = interleaved.Plan(given, orders.get(), number, given.ranks)
        before = interleaved.made()
        ns = rank.run(plan)
        answers.put((number, ns, interleaved.made() - before))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def main():
    options = interleaved.add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 25)
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
    for seed in interleaved.seeds():
        for mine in orders:
            mine.put(seed)
        _, ns, collected = zip(*gather())
        interleaved.say(interleaved.Plan(given, seed), ns, collected)


if __name__ == "__main__":
    main()
