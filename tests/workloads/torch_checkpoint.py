#!/usr/bin/env python3
"""Trains a transformer with activation checkpointing, which trades memory for time and makes cycles.

The saved-tensor hooks of torch.utils.checkpoint hold their frame, and the frame holds them: memory that
was to be saved stays until the collector comes by. --no-checkpoint trains the same without.
"""

import argparse
import gc

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from truth import Truth, add_options


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Predicts the next symbol of a sequence."""

    def __init__(self, symbols, width, layers, length, checkpointed):
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.head = nn.Linear(width, symbols)
        self.checkpointed = checkpointed

    def forward(self, tokens):
        x = self.embed(tokens) + self.places
        for block in self.blocks:
            if self.checkpointed:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return self.head(x)


def sequences(batch, length, symbols):
    """Counts upwards from a random start, in steps of one to three."""
    start = torch.randint(symbols, (batch, 1))
    stride = torch.randint(1, 4, (batch, 1))
    return (start + stride * torch.arange(length + 1)) % symbols


def train(given, truth):
    model = Transformer(32, given.width, given.layers, given.length, not given.no_checkpoint)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    losses = []
    for number in range(given.steps):
        with truth.step():
            tokens = sequences(given.batch, given.length, 32)
            logits = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if given.manual and number % given.manual == given.manual - 1:
                gc.collect()
    return losses


def main():
    options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 200)
    options.add_argument("--batch", type=int, default=8)
    options.add_argument("--length", type=int, default=32)
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--layers", type=int, default=4)
    options.add_argument("--no-checkpoint", action="store_true")
    options.add_argument(
        "--manual", type=int, metavar="N", help="gc.disable(), and gc.collect() every N steps"
    )
    given = options.parse_args()
    torch.manual_seed(given.seed)
    torch.set_num_threads(1)
    if given.manual:
        gc.disable()
    with Truth(given) as truth:
        losses = train(given, truth)
    print("loss %.3f at first, %.3f at the end" % (losses[0], losses[-1]))


if __name__ == "__main__":
    main()
