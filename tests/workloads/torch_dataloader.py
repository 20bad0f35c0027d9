#!/usr/bin/env python3
"""Trains on sentences parsed into trees by DataLoader workers, whose collate leaves reference cycles.

A node of a tree knows its parent, so a tree is garbage that only the collector frees: in the workers,
where it harms training only if the consumer has to wait for them. With --model small it does, with
--model large the workers are ahead. The truth has the consumer's waits as "wait".
"""

import argparse
import math
import random

import torch
from torch import nn

from truth import Truth, add_options

WORDS = 200
MODELS = {"small": (16, 1), "large": (256, 2)}


class Tree:
    """A node of a parsed sentence."""

    def __init__(self, word, parent=None):
        self.word = word
        self.parent = parent
        self.children = []

    def grow(self, words, chance):
        """Hangs each word below a random earlier one."""
        nodes = [self]
        for word in words:
            parent = chance.choice(nodes)
            node = Tree(word, parent)
            parent.children.append(node)
            nodes.append(node)
        return nodes

    def depth(self):
        return 0 if self.parent is None else 1 + self.parent.depth()


class Sentences(torch.utils.data.Dataset):
    def __init__(self, count, length, seed):
        chance = random.Random(seed)
        self.sentences = [[chance.randrange(WORDS) for _ in range(length)] for _ in range(count)]

    def __len__(self):
        return len(self.sentences)

    def __getitem__(self, index):
        return index, self.sentences[index]


def collate(samples):
    """Bags of words and, to be learned, whether the parsed tree is deep."""
    bags = torch.zeros(len(samples), WORDS)
    deep = torch.zeros(len(samples), dtype=torch.long)
    for row, (index, words) in enumerate(samples):
        chance = random.Random(index)
        nodes = Tree(0).grow(words, chance)
        deep[row] = max(node.depth() for node in nodes) > 1.7 * math.log(len(nodes))
        for node in nodes:
            bags[row, node.word] += 1
    return bags, deep


def make_model(width, layers):
    parts = [nn.Linear(WORDS, width), nn.ReLU()]
    for _ in range(layers):
        parts += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(width, 2))


def endless(loader):
    while True:
        yield from loader


def train(given, loader, truth):
    model = make_model(*MODELS[given.model])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    batches = endless(loader)
    losses = []
    for _ in range(given.steps):
        with truth.step():
            with truth.phase("wait"):
                bags, deep = next(batches)
            optimizer.zero_grad()
            loss = criterion(model(bags), deep)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def main():
    options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 300)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--batch", type=int, default=32)
    options.add_argument("--model", choices=sorted(MODELS), default="small")
    options.add_argument("--length", type=int, default=60, help="words of a sentence (60)")
    given = options.parse_args()
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(
        Sentences(given.batch * given.steps, given.length, given.seed),
        batch_size=given.batch,
        num_workers=given.workers,
        collate_fn=collate,
        persistent_workers=given.workers > 0,
    )
    with Truth(given) as truth:
        losses = train(given, loader, truth)
    print("loss %.3f at first, %.3f at the end" % (losses[0], losses[-1]))


if __name__ == "__main__":
    main()
