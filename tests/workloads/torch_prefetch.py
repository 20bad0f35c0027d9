#!/usr/bin/env python3
"""Trains on what a DataLoader's worker prepares, some batches ahead: the worker takes longer than the training.

The worker sleeps for a batch, as one that waits for a disk. See interleaved.py for what it is told and says.
"""

import argparse
import gc
import time

import torch
from torch import nn

import interleaved


class Slow(torch.utils.data.Dataset):
    """Batches, each of which takes its own time, the same in each run."""

    def __init__(self, given):
        self.seconds = [given.load / 1e3 * share for share in interleaved.draws(given, 0.2)]

    def __len__(self):
        return len(self.seconds)

    def __getitem__(self, index):
        time.sleep(self.seconds[index])
        return torch.full((16,), float(index % 7))


class Order(torch.utils.data.Sampler):
    """The batches of the next epoch."""

    def __init__(self):
        self.draws = [0, 1, 2]

    def __iter__(self):
        return iter(self.draws)

    def __len__(self):
        return len(self.draws)


class Trainer:
    def __init__(self, given):
        self.work, self.heap = interleaved.Work(given.work), interleaved.Heap(given.pause)
        self.order = Order()
        self.loader = torch.utils.data.DataLoader(
            Slow(given), sampler=self.order, batch_size=None, num_workers=1,
            prefetch_factor=given.prefetch, persistent_workers=True,
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

    def run(self, plan):
        self.order.draws = [step.draw for step in plan.steps]
        batches = iter(self.loader)
        return interleaved.run_steps(plan, lambda draw, share: self.step(next(batches), share))


def main():
    options = interleaved.add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 25)
    options.add_argument("--prefetch", type=int, default=2, help="batches ahead (2)")
    options.add_argument("--work", type=float, default=1, help="ms of work in a step (1)")
    options.add_argument("--load", type=float, default=8, help="ms that the worker takes for a batch (8)")
    given = options.parse_args()
    torch.set_num_threads(1)
    trainer = Trainer(given)
    for batch in trainer.loader:  # starts the worker, and makes what the optimizer keeps
        trainer.step(batch, 1)
    interleaved.serve(given, trainer.run)


if __name__ == "__main__":
    main()
