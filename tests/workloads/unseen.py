#!/usr/bin/env python3
"""Programs that the model of the advice was not made on: real libraries, and what servers and trainers keep.

As advised.py, with which it shares all but the programs: FIRST is the set of the first round, the others are of those after
what the one before taught. No constant of the model may be set by looking at them; where one was, write new ones.
"""

import ast
import asyncio
import collections
import gc
import glob
import html.parser
import importlib.util
import json
import os
import random
import sqlite3
import sys
import xml.dom.minidom

import advised
from unseen_more import FOURTH, SECOND, THIRD


def sources(count, most=40000):
    """Texts to work on: modules of the standard library."""
    paths = sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "*.py")))
    texts = (open(path, encoding="utf-8").read() for path in paths if 2000 < os.path.getsize(path) < most)
    return [text for text, _ in zip(texts, range(count))]


def linter():
    """Syntax trees whose nodes know their parents; the last twenty are kept."""
    texts, recent = sources(60), collections.deque(maxlen=20)

    def step(number):
        tree = ast.parse(texts[number % len(texts)])
        for parent in ast.walk(tree):
            for child in ast.iter_child_nodes(parent):
                child.parent = parent
        recent.append(tree)

    return step


class User:
    def __init__(self, session, number):
        self.session, self.number, self.orders = session, number, []


class Order:
    def __init__(self, user, row):
        self.user, self.row = user, row
        user.orders.append(self)


def orm():
    """Rows become objects of a session, which knows them and is known by them; a new one every 60 steps."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, user INTEGER, text TEXT)")
    db.executemany("INSERT INTO orders VALUES (?, ?, ?)", ((i, i % 5000, "order %d" % i) for i in range(60000)))
    sessions = [{}]

    def step(number):
        if number % 60 == 0:
            sessions[0] = {}
        session = sessions[0]
        first = number * 97 % 59000
        for row in db.execute("SELECT * FROM orders WHERE id BETWEEN ? AND ?", (first, first + 400)):
            user = session.get(row[1]) or session.setdefault(row[1], User(session, row[1]))
            Order(user, row)

    return step


def server():
    """A server of JSON and its clients; each client's history stays."""
    loop, history = asyncio.new_event_loop(), collections.defaultdict(list)

    async def handle(reader, writer):
        while line := await reader.readline():
            asked = json.loads(line)
            history[asked["user"]].append({"asked": asked["what"], "seen": [asked["user"]]})
            writer.write(json.dumps({"answer": asked["what"][::-1]}).encode() + b"\n")
        writer.close()

    async def client(port, user):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for i in range(5):
            writer.write(json.dumps({"user": user, "what": [{"item": j} for j in range(20)]}).encode() + b"\n")
            await asyncio.wait_for(reader.readline(), 10)
        writer.close()
        await writer.wait_closed()

    listening = loop.run_until_complete(asyncio.start_server(handle, "127.0.0.1", 0))
    port = listening.sockets[0].getsockname()[1]

    async def burst(number):
        await asyncio.gather(*(client(port, (number * 7 + i) % 200) for i in range(8)))

    return lambda number: loop.run_until_complete(burst(number))


def documents():
    """DOM trees that nobody unlinks; one of ten is kept."""
    text = "<r>" + "".join('<item id="%d"><name>n%d</name><v>%d</v></item>' % (i, i, i) for i in range(60)) + "</r>"
    kept = []

    def step(number):
        for i in range(3):
            document = xml.dom.minidom.parseString(text)
        if number % 10 == 0:
            kept.append(document)

    return step


def log():
    """A trainer that appends what it measures to a list, and never looks back further than an epoch."""
    lines = [json.dumps({"x": [i, i + 1], "meta": {"id": i, "tags": ["a", "b"]}}) for i in range(300)]
    records = []

    def step(number):
        batch = [json.loads(line) for line in lines]
        for i in range(60):
            records.append({"step": number, "loss": i * 0.5, "norms": [i, i], "meta": batch[i]["meta"]})
        if number % 100 == 99:
            return sum(r["loss"] for r in records[-6000:])

    return step


class Tag:
    def __init__(self, parent, name):
        self.parent, self.name, self.children = parent, name, []
        if parent:
            parent.children.append(self)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.root = self.at = Tag(None, "root")

    def handle_starttag(self, tag, attrs):
        self.at = Tag(self.at, tag)

    def handle_endtag(self, tag):
        self.at = self.at.parent or self.root


def frozen():
    """Froze what it had loaded, as advised before; the trees of pages are cycles."""
    data = [{"id": i, "row": [i, i]} for i in range(100000)]
    gc.collect()
    gc.freeze()
    page = "<html><body>" + "<div><p>text<b>bold</b></p><i>it</i></div>" * 40 + "</body></html>"
    kept = []

    def step(number):
        for i in range(4):
            parser = Page()
            parser.feed(page)
        kept.append([parser.root, data[number]])
        if len(kept) > 150:
            kept.clear()

    return step


def by_hand():
    """Collects every 25 steps itself, with the collector off."""
    gc.disable()
    table = {}

    def step(number):
        for i in range(60):
            node = {"id": i, "edges": []}
            node["edges"] = [{"to": node} for _ in range(8)]
            table[(number * 31 + i) % 8000] = [node["id"]]

    return step


def by_hand_each():
    """Collects in each step, with the collector off, and leaves a few cycles a step."""
    gc.disable()
    rng = random.Random(1)

    def step(number):
        rows = [[rng.random(), i] for i in range(2000)]
        rows.sort()
        for i in range(10):
            rows[i].append(rows[i])

    return step


def sympy_program():
    import sympy

    x, y = sympy.symbols("x y")

    def step(number):
        f = sum(sympy.sin(x * i + number) * y**i for i in range(1, 5))
        sympy.expand(sympy.diff(f, x) * (x + y + number))

    return step


def yaml_program():
    import yaml

    text = yaml.safe_dump([{"name": "n%d" % i, "args": [1, 2, {"k": i}]} for i in range(40)])
    configs = collections.deque(maxlen=3000)

    def step(number):
        configs.append(yaml.safe_load(text))

    return step


def trio_program():
    """Trio wants to own the thread, so each step is a run of it; what is sent is kept by the last receivers."""
    import trio

    inbox = collections.deque(maxlen=400)

    async def producer(send):
        async with send:
            for i in range(20):
                await send.send({"n": i, "body": [[i], [i]]})

    async def consumer(receive):
        async with receive:
            inbox.append([message async for message in receive])

    async def serve():
        async with trio.open_nursery() as nursery:
            for _ in range(6):
                send, receive = trio.open_memory_channel(4)
                nursery.start_soon(producer, send)
                nursery.start_soon(consumer, receive)

    return lambda number: trio.run(serve)


def torch_dicts():
    """A DataLoader over a list of dictionaries, in the process itself."""
    import torch

    torch.set_num_threads(1)
    data = [{"id": i, "x": [float(i % 7)] * 8, "meta": {"tags": [i % 3]}} for i in range(60000)]

    def collate(rows):
        return {"x": torch.tensor([row["x"] for row in rows]), "meta": [dict(row["meta"]) for row in rows]}

    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, collate_fn=collate)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters())
    batches, seen = [iter(loader)], []

    def step(number):
        batch = next(batches[0], None)
        if batch is None:
            batches[0] = iter(loader)
            batch = next(batches[0])
        loss = model(batch["x"]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append({"step": number, "meta": batch["meta"]})

    return step


def jax_eager():
    """A gradient that nobody compiled: each call traces anew."""
    import jax
    import jax.numpy as jnp

    weights = [jnp.ones((4, 4)) * 0.1 for _ in range(4)]

    def loss(weights, x):
        for w in weights:
            x = jnp.tanh(x @ w)
        return (x * x).sum()

    grad = jax.grad(loss)
    x = jnp.ones((2, 4))

    def step(number):
        weights[:] = [w - 0.01 * g for w, g in zip(weights, grad(weights, x))]

    return step


def pydantic_program():
    """Models made of requests; a cache of them grows."""
    import typing

    import pydantic

    class Item(pydantic.BaseModel):
        name: str
        tags: typing.List[str]

    class Cart(pydantic.BaseModel):
        user: int
        items: typing.List[Item]

    carts = {}

    def step(number):
        for i in range(40):
            asked = {"user": i, "items": [{"name": str(j), "tags": ["a", "b"]} for j in range(12)]}
            cart = Cart.model_validate(asked)
            if i % 8 == 0:
                carts[number, i] = cart
            cart.model_dump()

    return step


# name: (objects of libraries, steps, what a step does, threshold or None, gc.collect() every so many steps), as advised.py's
FIRST = {
    "linter": (20000, 250, linter, None, 0),
    "orm": (60000, 400, orm, None, 0),
    "server": (80000, 500, server, None, 0),
    "documents": (50000, 400, documents, None, 0),
    "log": (40000, 500, log, None, 0),
    "frozen": (0, 500, frozen, None, 0),
    "by-hand": (80000, 400, by_hand, None, 25),
    "by-hand-each": (60000, 150, by_hand_each, None, 1),
    "sympy": (0, 500, sympy_program, None, 0),
    "yaml": (0, 300, yaml_program, None, 0),
    "trio": (0, 600, trio_program, None, 0),
    "torch-dicts": (0, 1500, torch_dicts, None, 0),
    "jax-eager": (0, 250, jax_eager, None, 0),
    "pydantic": (30000, 500, pydantic_program, None, 0),
}
ROUNDS = {"first": FIRST, "second": SECOND, "third": THIRD, "fourth": FOURTH}
PROGRAMS = {**FIRST, **SECOND, **THIRD, **FOURTH}
LIBRARIES = {"sympy": "sympy", "yaml": "yaml", "trio": "trio", "torch-dicts": "torch", "jax-eager": "jax",
             "pydantic": "pydantic", "torch-replay": "torch", "xgboost": "xgboost", "fastapi": "fastapi",
             "pygments": "pygments", "pyparsing": "pyparsing", "equinox": "equinox"}


def at_hand(programs):
    """Those whose library this Python has."""
    return [name for name in programs if name not in LIBRARIES or importlib.util.find_spec(LIBRARIES[name])]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--list"]:
        print(" ".join(at_hand(ROUNDS[sys.argv[2]])))
    else:
        advised.main(PROGRAMS)
