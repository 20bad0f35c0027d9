#!/usr/bin/env python3
"""Trains a small convolutional network, with the garbage collector set up in one of five ways.

The data set keeps a description of every picture in Python objects, as one read from a JSON file of
annotations does: that is what the collector walks.
"""

import argparse
import gc

import torch
from torch import nn

from shapes import CLASSES, Shapes
from truth import Truth, add_options

SETTINGS = ("default", "threshold10", "threshold1000", "disabled", "every", "freeze")


class Network(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
        )
        self.head = nn.Linear(2 * width * 16, len(CLASSES))

    def forward(self, pictures):
        return self.head(self.features(pictures).flatten(1))


class Meter:
    """A running record of training, as loggers keep it."""

    def __init__(self):
        self.history = []

    def add(self, step, loss, outputs, labels):
        right = (outputs.argmax(1) == labels).tolist()
        self.history.append(
            {
                "step": step,
                "loss": loss,
                "right": [{"sample": i, "right": bool(r)} for i, r in enumerate(right)],
            }
        )


def set_collector(setting):
    if setting == "threshold10":
        gc.set_threshold(10, 10, 10)
    elif setting == "threshold1000":
        gc.set_threshold(1000, 10, 10)
    elif setting == "disabled":
        gc.disable()
    elif setting == "freeze":
        gc.collect()
        gc.freeze()


def train_step(network, optimizer, pictures, labels):
    optimizer.zero_grad()
    outputs = network(pictures)
    loss = nn.functional.cross_entropy(outputs, labels)
    loss.backward()
    optimizer.step()
    return loss.item(), outputs


def train(given, data, truth):
    network = Network()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    meter = Meter()
    for step in range(given.steps):
        with truth.step():
            pictures, labels = data.batch(given.batch)
            loss, outputs = train_step(network, optimizer, pictures, labels)
            meter.add(step, loss, outputs, labels)
            if given.gc == "every":
                gc.collect()
    return meter


def main():
    options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 500)
    options.add_argument("--gc", choices=SETTINGS, default="default")
    options.add_argument("--batch", type=int, default=16)
    options.add_argument("--annotated", type=int, default=8000, help="pictures described (8000)")
    given = options.parse_args()
    torch.set_num_threads(1)
    data = Shapes(256, given.annotated, seed=given.seed)
    set_collector(given.gc)
    with Truth(given) as truth:
        meter = train(given, data, truth)
    losses = [entry["loss"] for entry in meter.history]
    print("loss %.3f after 20 steps, %.3f at the end" % (losses[min(20, len(losses) - 1)], losses[-1]))


if __name__ == "__main__":
    main()
