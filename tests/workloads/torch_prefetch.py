#!/usr/bin/env python3
"""Trains on what a DataLoader's worker prepares, some batches ahead: the worker takes longer than the training.

The worker sleeps for a batch, as one that waits for a disk. See interleaved.py for what it is told and says.
"""

import argparse
import gc
import random
import time

import torch
from torch import nn

import interleaved


class Slow(torch.utils.data.Dataset):
    """Batches, each of which takes its own time, the same in each run."""

    def __init__(self, given):
        chance = random.Random(given.seed)
        self.seconds = [given.load / 1e3 * chance.uniform(0.8, 1.2) for _ in range(given.steps)]

    def __len__(self):
        return len(self.seconds)

    def __getitem__(self, index):
        time.sleep(self.seconds[index])
        return torch.full((16,), float(index % 7))


class Trainer:
    def __init__(self, given):
        self.work, self.heap = interleaved.Work(given.work), interleaved.Heap(given.pause)
        self.loader = torch.utils.data.DataLoader(
            Slow(given), batch_size=None, num_workers=1, prefetch_factor=given.prefetch, persistent_workers=True
        )
        self.model = nn.Linear(16, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)

    def step(self, batch, share):
        self.work(share)
        if share < 1:
            gc.collect()
            self.work(1 - share)
        self.optimizer.zero_grad()
        self.model(batch).sum().backward()
        self.optimizer.step()

    def run(self, collecting):
        """From the first batch on: starting the epoch is no part of the training."""
        batches = iter(self.loader)
        batch = next(batches)
        begin = time.monotonic_ns()
        number = 0
        while batch is not None:
            self.step(batch, collecting.get(number, 1))
            batch = next(batches, None)
            number += 1
        return time.monotonic_ns() - begin


def main():
    options = interleaved.add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 307, 25)
    options.add_argument("--prefetch", type=int, default=2, help="batches ahead (2)")
    options.add_argument("--work", type=float, default=1, help="ms of work in a step (1)")
    options.add_argument("--load", type=float, default=8, help="ms that the worker takes for a batch (8)")
    given = options.parse_args()
    torch.set_num_threads(1)
    trainer = Trainer(given)
    trainer.run({})  # starts the worker, and makes what the optimizer keeps
    interleaved.serve(given, trainer.run)


if __name__ == "__main__":
    main()
