"""Synthetic pictures to train on, and the book-keeping that a real data set brings along."""

import random

import torch

CLASSES = ("circle", "square", "cross", "stripes")


def draw(kind, size, chance):
    """A noisy grey picture with one shape in it, as a (1, size, size) tensor."""
    picture = torch.randn(1, size, size) * 0.3
    x, y, r = (chance.randrange(size // 4, size - size // 4) for _ in range(3))
    r = max(2, r // 4)
    rows = torch.arange(size).view(-1, 1)
    columns = torch.arange(size).view(1, -1)
    if kind == "circle":
        mask = (rows - y) ** 2 + (columns - x) ** 2 <= r * r
    elif kind == "square":
        mask = ((rows - y).abs() <= r) & ((columns - x).abs() <= r)
    elif kind == "cross":
        mask = ((rows - y).abs() <= 1) | ((columns - x).abs() <= 1)
    else:
        mask = (rows + columns) % r == 0
    picture[0][mask.expand(size, size)] += 1.0
    return picture, (x - r, y - r, x + r, y + r)


class Annotation:
    """What a labelling tool stores for one picture: mostly small Python objects, all of them kept."""

    def __init__(self, number, label, box, chance):
        self.number, self.label = number, label
        self.boxes = [list(box)]
        self.outline = [[box[0] + i % 3, box[1] + i % 5] for i in range(12)]
        self.tags = {"source": "drawn", "reviewers": [chance.randrange(9) for _ in range(2)]}
        self.history = [{"by": chance.randrange(9), "at": number + i} for i in range(4)]


class Shapes(torch.utils.data.Dataset):
    """@pictures that are drawn once, of @annotated ones that are all described in memory."""

    def __init__(self, pictures, annotated, size=16, seed=23):
        chance = random.Random(seed)
        torch.manual_seed(seed)
        self.pictures, self.labels, self.annotations = [], [], []
        for number in range(annotated):
            label = chance.randrange(len(CLASSES))
            box = (1, 2, 3, 4)
            if number < pictures:
                picture, box = draw(CLASSES[label], size, chance)
                self.pictures.append(picture)
                self.labels.append(label)
            self.annotations.append(Annotation(number, label, box, chance))
        self.chance = chance

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, index):
        return self.pictures[index], self.labels[index]

    def batch(self, size):
        chosen = self.chance.choices(range(len(self)), k=size)
        return (
            torch.stack([self.pictures[i] for i in chosen]),
            torch.tensor([self.labels[i] for i in chosen]),
        )
