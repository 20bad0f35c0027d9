#!/usr/bin/env python3
"""Learns by Q-learning to steer through a maze: plain Python, no library, so nothing marks a step.

Keeps a replay memory of everything that was tried, as dictionaries; --freeze exempts what is in it at
the start from collection.
"""

import argparse
import collections
import gc
import random

from truth import Truth, add_options

SIZE = 12
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Maze:
    def __init__(self, chance):
        cells = [(x, y) for x in range(SIZE) for y in range(SIZE)]
        self.goal = (SIZE - 1, SIZE - 1)
        self.walls = set(chance.sample(cells[1:-1], SIZE * SIZE // 5))

    def move(self, place, action):
        x, y = place[0] + MOVES[action][0], place[1] + MOVES[action][1]
        blocked = not (0 <= x < SIZE and 0 <= y < SIZE) or (x, y) in self.walls
        after = place if blocked else (x, y)
        return after, (10.0 if after == self.goal else -1.0 if blocked else -0.1)


class Agent:
    def __init__(self, maze, chance):
        self.maze, self.chance = maze, chance
        self.values = collections.defaultdict(lambda: [0.0] * len(MOVES))
        self.place = (0, 0)
        self.memory = []

    def act(self):
        """One move, and its outcome."""
        values = self.values[self.place]
        action = self.chance.randrange(4) if self.chance.random() < 0.2 else values.index(max(values))
        after, reward = self.maze.move(self.place, action)
        tried = {"at": self.place, "action": action, "reward": reward, "after": after, "seen": []}
        self.place = (0, 0) if after == self.maze.goal else after
        return tried

    def learn(self, tried, rate=0.2, discount=0.95):
        target = tried["reward"]
        if tried["after"] != self.maze.goal:
            target += discount * max(self.values[tried["after"]])
        values = self.values[tried["at"]]
        values[tried["action"]] += rate * (target - values[tried["action"]])
        tried["seen"].append(target)

    def step(self, moves=64, batch=512):
        self.memory.extend(self.act() for _ in range(moves))
        for tried in self.chance.choices(self.memory, k=batch):
            self.learn(tried)


def main():
    options = add_options(argparse.ArgumentParser(description=__doc__.splitlines()[0]), 600)
    options.add_argument("--memory", type=int, default=100_000, help="moves to begin with (100000)")
    options.add_argument("--freeze", action="store_true", help="gc.freeze() before training")
    given = options.parse_args()
    chance = random.Random(given.seed)
    agent = Agent(Maze(chance), chance)
    agent.memory.extend(agent.act() for _ in range(given.memory))
    if given.freeze:
        gc.freeze()
    with Truth(given) as truth:
        for _ in range(given.steps):
            with truth.step():
                agent.step()
    print("%d steps; best value at the start %.2f" % (given.steps, max(agent.values[(0, 0)])))


if __name__ == "__main__":
    main()
