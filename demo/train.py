#!/usr/bin/env python3
"""Trains a network to play Connect Four, from games that a tree search plays against itself.

Each step searches a few moves ahead, keeps the positions it saw in a replay buffer, and trains on a batch
from there: the shape of AlphaZero, small enough to run anywhere. A tree's nodes know their children and
their parent. That is a reference cycle, so a tree that was let go stays until the collector comes by.
"""

import argparse
import gc
import random
import time

import torch
from torch import nn

ROWS, COLUMNS = 6, 7
LINES = [
    [(row + i * down) * COLUMNS + column + i * right for i in range(4)]
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    for row in range(ROWS)
    for column in range(COLUMNS)
    if 0 <= row + 3 * down < ROWS and 0 <= column + 3 * right < COLUMNS
]


class Game:
    """A position: who stands where, and whose turn it is (1 or -1)."""

    def __init__(self, board=(0,) * (ROWS * COLUMNS), player=1):
        self.board, self.player = board, player

    def moves(self):
        return [column for column in range(COLUMNS) if not self.board[column]]

    def play(self, column):
        place = max(r for r in range(ROWS) if not self.board[r * COLUMNS + column])
        place = place * COLUMNS + column
        board = self.board[:place] + (self.player,) + self.board[place + 1 :]
        return Game(board, -self.player)

    def won(self):
        """Whether the player who moved last has four in a row."""
        last = -self.player
        return any(all(self.board[i] == last for i in line) for line in LINES)


class Node:
    """A position in the tree, and what the search found out about it."""

    def __init__(self, game, parent=None):
        self.game, self.parent = game, parent
        self.children = {}
        self.visits, self.value = 0, 0.0

    def best(self):
        scale = 2 * self.visits**0.5
        return max(
            self.children.values(),
            key=lambda n: n.value / (n.visits or 1) + scale / (1 + n.visits),
        )

    def expand(self):
        self.children = {m: Node(self.game.play(m), self) for m in self.game.moves()}

    def learn(self, value):
        node = self
        while node:
            node.visits += 1
            node.value += value
            value, node = -value, node.parent


def search(root, playouts):
    for _ in range(playouts):
        node = root
        while node.children:
            node = node.best()
        if node.game.won():
            node.learn(1.0)
        else:
            node.expand()
            node.learn(random.uniform(-0.1, 0.1))


class Experience:
    """A position, what the search made of it, and who won in the end."""

    def __init__(self, game, visits, outcome):
        self.game, self.visits, self.outcome = game, visits, outcome


class Player(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(ROWS * COLUMNS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.policy, self.value = nn.Linear(width, COLUMNS), nn.Linear(width, 1)

    def forward(self, boards):
        hidden = self.trunk(boards)
        return self.policy(hidden), torch.tanh(self.value(hidden)).squeeze(1)


class Trainer:
    def __init__(self, positions):
        self.player = Player()
        self.optimizer = torch.optim.Adam(self.player.parameters(), lr=1e-3)
        self.replay = [self.guess() for _ in range(positions)]
        self.root = Node(Game())

    def guess(self):
        """What the replay buffer holds before anything was played."""
        board = tuple(random.choice((-1, 0, 0, 1)) for _ in range(ROWS * COLUMNS))
        return Experience(Game(board), {random.randrange(COLUMNS): 1}, random.choice((-1.0, 1.0)))

    def explore(self, playouts):
        """One move of a game against itself; the search goes on where the last one ended."""
        root = self.root
        search(root, playouts)
        visits = {move: node.visits for move, node in root.children.items()}
        seen = Experience(root.game, visits, root.value / root.visits)
        self.replay[random.randrange(len(self.replay))] = seen
        self.root = root.children[max(visits, key=visits.get)]
        if self.root.game.won() or not self.root.game.moves():
            self.root = Node(Game())  # and the old tree is in nobody's hands

    def learn(self, size=64):
        batch = random.sample(self.replay, size)
        boards = torch.tensor([e.game.board for e in batch], dtype=torch.float32)
        moves = torch.tensor([max(e.visits, key=e.visits.get) for e in batch])
        outcomes = torch.tensor([e.outcome for e in batch])
        self.optimizer.zero_grad()
        policy, value = self.player(boards)
        loss = nn.functional.cross_entropy(policy, moves) + nn.functional.mse_loss(value, outcomes)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def step(self, playouts):
        self.explore(playouts)
        return self.learn()


def train(trainer, given):
    until = time.monotonic() + given.seconds
    shown, times = time.monotonic(), []
    step = 0
    while time.monotonic() < until:
        begin = time.monotonic()
        loss = trainer.step(given.playouts)
        if given.manual and step % given.manual == 0:
            gc.collect()
        times.append(time.monotonic() - begin)
        step += 1
        if time.monotonic() - shown >= 1:
            shown = time.monotonic()
            typical, slowest = sorted(times)[len(times) // 2], max(times)
            print(
                "step %5d   loss %.3f   typical step %6.1f ms   slowest %6.1f ms"
                % (step, loss, typical * 1000, slowest * 1000),
                flush=True,
            )
            times = []


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=15)
    options.add_argument("--positions", type=int, default=150000, help="in the replay buffer")
    options.add_argument("--playouts", type=int, default=60, help="of each search")
    remedy = options.add_mutually_exclusive_group()
    remedy.add_argument("--freeze", action="store_true", help="gc.freeze() before training")
    remedy.add_argument("--threshold", type=int, help="gc.set_threshold(THRESHOLD, 10, 10)")
    remedy.add_argument("--manual", type=int, help="gc.disable(), collect every MANUAL steps")
    given = options.parse_args()
    random.seed(23)
    torch.manual_seed(23)
    torch.set_num_threads(1)
    trainer = Trainer(given.positions)
    if given.freeze:
        gc.collect()
        gc.freeze()
    if given.threshold:
        gc.set_threshold(given.threshold, 10, 10)
    if given.manual:
        gc.disable()
    print("the replay buffer holds %d positions" % len(trainer.replay), flush=True)
    train(trainer, given)


if __name__ == "__main__":
    main()
