#!/usr/bin/env python3
"""Trains with gradient accumulation that changes midway, evaluation in between, and a changed batch.

A step is one optimizer.step(): two backward passes at first, four from the middle on. Every few dozen
steps the model is evaluated, which is no step; after three quarters the batch is doubled.
"""

import argparse

import torch
from torch import nn

from shapes import CLASSES, Shapes
from truth import Truth, add_options


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(4),
        nn.Flatten(),
        nn.Linear(8 * 16, 64),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(64, len(CLASSES)),
    )


class Trainer:
    def __init__(self, given, data, truth):
        self.given, self.data, self.truth = given, data, truth
        self.model = make_model()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 100, 0.9)
        self.batch = given.batch
        self.history = []

    def step(self, accumulate):
        total = 0.0
        for _ in range(accumulate):
            pictures, labels = self.data.batch(self.batch)
            loss = nn.functional.cross_entropy(self.model(pictures), labels) / accumulate
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.scheduler.step()
        self.history.append({"loss": total, "batches": [{"size": self.batch}] * accumulate})

    @torch.no_grad()
    def evaluate(self, batches):
        self.model.eval()
        right, loss = 0, 0.0
        for _ in range(batches):
            pictures, labels = self.data.batch(64)
            outputs = self.model(pictures)
            right += (outputs.argmax(1) == labels).sum().item()
            loss += nn.functional.cross_entropy(outputs, labels).item()
        self.model.train()
        return right / (64 * batches), loss / batches

    def train(self):
        given, truth = self.given, self.truth
        for number in range(given.steps):
            if number == given.steps * 3 // 4:
                self.batch *= 2
                truth.note("batch", size=self.batch, step=number)
            accumulate = given.accumulate
            if number >= given.steps // 2:
                accumulate *= 2
                if number == given.steps // 2:
                    truth.note("accumulate", marks=accumulate, step=number)
            with truth.step():
                self.step(accumulate)
            if given.evaluate and number % given.evaluate == given.evaluate - 1:
                with truth.phase("evaluation"):
                    self.evaluate(given.evaluation_batches)


def main():
    options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 400)
    options.add_argument("--batch", type=int, default=8)
    options.add_argument("--accumulate", type=int, default=2, help="batches a step at first (2)")
    options.add_argument("--evaluate", type=int, default=41, help="steps between evaluations (41)")
    options.add_argument("--evaluation-batches", type=int, default=37)
    options.add_argument("--annotated", type=int, default=4000)
    given = options.parse_args()
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    data = Shapes(256, given.annotated, seed=given.seed)
    with Truth(given) as truth:
        trainer = Trainer(given, data, truth)
        trainer.train()
    right, loss = trainer.evaluate(8)
    print("loss %.3f at the end, %.0f %% right" % (loss, 100 * right))


if __name__ == "__main__":
    main()
