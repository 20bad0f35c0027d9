"""The programs of unseen.py's later rounds."""

import asyncio
import collections
import concurrent.futures
import copy
import email
import heapq

import json
import logging
import logging.handlers
import os
import pathlib
import pickle
import random
import typing

SOURCES = [str(path) for path in sorted(pathlib.Path(os.__file__).parent.glob("*.py")) if 2000 < path.stat().st_size < 9000]


def mail():
    """A mailbox that grows: threads of messages that know what they answer."""
    text = "From: a@b\nTo: c@d\nSubject: s%d\nX-A: 1\n\nhello\nworld\n"
    threads = collections.defaultdict(list)

    def step(number):
        for i in range(40):
            message = email.message_from_string(text % i)
            kept = message if i % 4 == 0 else None
            threads[number % 300].append((message["Subject"], [message.get_payload()], kept))

    return step


def executor():
    """Futures of two threads; those that fail keep the traceback, and so themselves."""
    pool = concurrent.futures.ThreadPoolExecutor(2)

    def work(number):
        rows = [{"n": number, "i": i} for i in range(150)]
        if number % 3 == 0:
            raise ValueError(rows)
        return rows

    def step(number):
        for future in [pool.submit(work, number * 8 + i) for i in range(8)]:
            try:
                future.result()
            except ValueError as error:
                error.future = future

    return step


def game():
    """Monte Carlo tree search: the tree is kept from move to move, and thrown away after a game."""
    rng = random.Random(2)

    class State:
        __slots__ = ("parent", "children", "visits", "wins")

        def __init__(self, parent):
            self.parent, self.children, self.visits, self.wins = parent, {}, 0, 0.0

    root = [State(None)]

    def step(number):
        if number % 40 == 0:
            root[0] = State(None)
        for _ in range(120):
            node = root[0]
            for _ in range(12):
                move = rng.randrange(7)
                child = node.children.get(move)
                if child is None:
                    child = node.children[move] = State(node)
                    node = child
                    break
                node = child
            won = rng.random()
            while node:
                node.visits += 1
                node.wins += won
                node = node.parent
        if number % 4 == 0 and root[0].children:
            root[0] = max(root[0].children.values(), key=lambda state: state.visits)
            root[0].parent = None

    return step


def torch_replay():
    """Deep Q-learning: transitions of small tensors in a memory of fixed size."""
    import torch

    torch.set_num_threads(1)
    Transition = collections.namedtuple("Transition", "state action reward after")
    memory = collections.deque(maxlen=20000)
    net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    optimizer, rng = torch.optim.SGD(net.parameters(), 0.001), random.Random(3)

    def step(number):
        for i in range(40):
            memory.append(Transition(torch.ones(4), [i % 2], {"r": 1.0}, torch.zeros(4)))
        rows = [memory[rng.randrange(len(memory))] for _ in range(32)]
        loss = net(torch.stack([row.state for row in rows])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def xgboost_program():
    """A round of boosting a step, its trees dumped and kept as a history."""
    import numpy
    import xgboost

    rng = numpy.random.default_rng(4)
    x = rng.random((400, 6))
    data = xgboost.DMatrix(x, label=x.sum(axis=1))
    booster = xgboost.Booster({"max_depth": 3, "nthread": 1}, [data])
    history = []

    def step(number):
        booster.update(data, number)
        trees = [json.loads(tree) for tree in booster[number:number + 1].get_dump(dump_format="json")]
        history.append({"trees": trees, "rows": [{"i": i, "p": [i]} for i in range(100)]})

    return step


def fastapi_program():
    """An application of FastAPI, called as its server calls it."""
    import fastapi
    import pydantic

    app, loop = fastapi.FastAPI(), asyncio.new_event_loop()

    class Order(pydantic.BaseModel):
        user: int
        lines: typing.List[typing.Dict[str, int]]

    orders = collections.OrderedDict()

    @app.post("/orders")
    async def create(order: Order):
        orders[len(orders) % 3000] = order
        return {"lines": order.lines}

    body = json.dumps({"user": 1, "lines": [{"item": i} for i in range(20)]}).encode()
    scope = {"type": "http", "method": "POST", "path": "/orders", "raw_path": b"/orders", "query_string": b"",
             "scheme": "http", "headers": [(b"content-type", b"application/json")], "http_version": "1.1",
             "server": ("x", 80), "root_path": "", "client": ("y", 1)}

    async def one():
        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            pass

        await app(dict(scope), receive, send)

    async def many():
        await asyncio.gather(*(one() for _ in range(8)))

    return lambda number: loop.run_until_complete(many())


def pygments_program():
    import pygments
    import pygments.formatters
    import pygments.lexers

    texts = [open(path, encoding="utf-8").read() for path in SOURCES[:60]]
    lexer, formatter = pygments.lexers.PythonLexer(), pygments.formatters.HtmlFormatter()
    tokens = collections.deque(maxlen=30)

    def step(number):
        text = texts[number % len(texts)][:3000]
        tokens.append(list(lexer.get_tokens(text)))
        pygments.format(tokens[-1], formatter)

    return step


def pyparsing_program():
    import pyparsing

    number, expression = pyparsing.pyparsing_common.number(), pyparsing.Forward()
    atom = number | pyparsing.Group("(" + expression + ")")
    term = pyparsing.Group(atom + pyparsing.ZeroOrMore(pyparsing.one_of("* /") + atom))
    expression <<= pyparsing.Group(term + pyparsing.ZeroOrMore(pyparsing.one_of("+ -") + term))
    table = {}

    def step(count):
        for i in range(3):
            table[count % 900, i] = expression.parse_string("(1+2*%d)*(3-4/(5+%d))+6" % (count, i))

    return step


def equinox_program():
    """Equinox without a compiler: modules are made anew by each update."""
    import equinox
    import jax
    import jax.numpy as jnp

    model = [equinox.nn.MLP(2, 1, 8, 3, key=jax.random.PRNGKey(0))]
    x = jnp.ones((2,))
    grad = equinox.filter_grad(lambda model, x: model(x)[0] ** 2)
    kept = []

    def step(number):
        updates = jax.tree_util.tree_map(lambda g: -0.01 * g, grad(model[0], x))
        model[0] = equinox.apply_updates(model[0], updates)
        kept.append({"step": number, "model": model[0], "notes": [[i] for i in range(40)]})

    return step


def graph():
    """A graph of dictionaries: edges come and go, each step looks for paths."""
    rng, edges = random.Random(5), {i: {} for i in range(20000)}
    order = collections.deque()

    def step(number):
        for _ in range(150):
            a, b = rng.randrange(20000), rng.randrange(20000)
            edges[a][b] = edges[b][a] = {"weight": rng.random(), "tags": [number]}
            order.append((a, b))
            if len(order) > 15000:
                a, b = order.popleft()
                edges[a].pop(b, None)
                edges[b].pop(a, None)
        reached, todo = {0: None}, [rng.randrange(20000) for _ in range(4)]
        while todo and len(reached) < 1500:
            at = todo.pop()
            todo += [reached.setdefault(to, to) for to in edges[at] if to not in reached]

    return step


class Gene:
    def __init__(self, parent, depth):
        self.parent, self.weights = parent, [depth, [depth]]
        self.children = [Gene(self, depth - 1) for _ in range(2)] if depth else []


def evolution():
    """A population of trees that know their parents: copied, changed, and the worst forgotten."""
    rng = random.Random(6)
    population = [Gene(None, 5) for _ in range(60)]

    def step(number):
        child = copy.deepcopy(rng.choice(population))
        child.weights.append(number)
        population[rng.randrange(len(population))] = child

    return step


def pickles():
    """Sessions from a store, in a cache of those used last."""
    stored = [pickle.dumps([{"id": i, "items": [{"n": j, "p": [j]} for j in range(25)]}]) for i in range(300)]
    cache, rng = collections.OrderedDict(), random.Random(7)

    def step(number):
        for _ in range(12):
            key = rng.randrange(1500)
            if key in cache:
                cache.move_to_end(key)
            else:
                cache[key] = pickle.loads(stored[key % len(stored)])
            if len(cache) > 900:
                cache.popitem(last=False)

    return step


def logs():
    """Records of a logger with their tracebacks, buffered until there are many."""
    logger = logging.getLogger("unseen")
    logger.propagate = False
    logger.addHandler(logging.handlers.MemoryHandler(3000, flushLevel=logging.CRITICAL + 1))

    def parse(text, depth):
        return parse(text, depth - 1) if depth else int(text)

    def step(number):
        for i in range(60):
            rows = [{"i": i, "n": j} for j in range(20)]
            try:
                parse("x%d" % len(rows), 6)
            except ValueError:
                logger.error("row %s", i, exc_info=i % 3 == 0, extra={"rows": rows[:2]})

    return step


class Machine:
    def __init__(self, shop, number):
        self.shop, self.number, self.queue = shop, number, collections.deque()


class Job:
    def __init__(self, machine, at):
        self.machine, self.at, self.history = machine, at, [at]

    def __lt__(self, other):
        return self.at < other.at


def shop():
    """A simulation of events: jobs wander from machine to machine, each knows where it is and who waits there."""
    rng, events, machines = random.Random(8), [], []
    machines += [Machine(machines, i) for i in range(200)]

    def step(number):
        for _ in range(120):
            heapq.heappush(events, Job(rng.choice(machines), rng.random() + number))
        for _ in range(118):
            job = heapq.heappop(events)
            job.machine.queue.append(job)
            if len(job.machine.queue) > 40:
                job.machine.queue.popleft()
            job.history.append(job.at)

    return step


def cancelled():
    """Tasks that mostly are cancelled before they are done."""
    loop, results = asyncio.new_event_loop(), collections.deque(maxlen=2000)

    async def work(i):
        rows = [{"i": i, "j": j} for j in range(10)]
        try:
            await asyncio.sleep(0 if i % 4 == 0 else 5)
            results.append(rows)
        except asyncio.CancelledError as error:
            error.rows = rows
            raise

    async def many():
        tasks = [asyncio.ensure_future(work(i)) for i in range(40)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    return lambda number: loop.run_until_complete(many())


def interpreter():
    """A small Lisp: each call makes an environment, closures keep theirs, and some of them themselves."""
    def evaluate(code, env):
        if isinstance(code, str):
            while code not in env["names"]:
                env = env["outer"]
            return env["names"][code]
        if not isinstance(code, tuple):
            return code
        if code[0] == "let":
            inner = {"names": {}, "outer": env}
            inner["names"][code[1]] = evaluate(code[2], inner)
            return evaluate(code[3], inner)
        if code[0] == "fn":
            return lambda value: evaluate(code[2], {"names": {code[1]: value}, "outer": env})
        if code[0] == "if":
            return evaluate(code[2] if evaluate(code[1], env) > 0 else code[3], env)
        if code[0] in "+-":
            return evaluate(code[1], env) + (1 if code[0] == "+" else -1) * evaluate(code[2], env)
        return evaluate(code[0], env)(evaluate(code[1], env))

    program = ("let", "sum", ("fn", "n", ("if", "n", ("+", "n", ("sum", ("-", "n", 1))), 0)), ("sum", 12))

    def step(number):
        for _ in range(12):
            evaluate(program, {"names": {}, "outer": None})

    return step


class Subject:
    def __init__(self, board):
        self.board, self.callbacks, self.values = board, [self.changed], []

    def changed(self, value):
        self.values.append([value])


def observers():
    """Subjects that call back methods of their own; the oldest of some thousands go."""
    board = collections.deque(maxlen=3000)

    def step(number):
        for i in range(60):
            board.append(Subject(board))
            for callback in board[-1].callbacks:
                callback(i)

    return step


def markov():
    """Chains of words: the table grows, slower and slower."""
    rng, table = random.Random(9), collections.defaultdict(list)
    words = ["w%d" % (i * i % 1009) for i in range(400)]

    def step(number):
        chain = [rng.choice(words) for _ in range(300)]
        for one, two, three in zip(chain, chain[1:], chain[2:]):
            if len(table[one, two]) < 3:
                table[one, two].append([three])

    return step


class Entry:
    def __init__(self, above, name):
        self.above, self.name, self.below = above, name, {}


def folders():
    """A tree of files, read anew every 80 steps, and looked through in each."""
    root = [None]

    def read(entry, depth):
        for i in range(6 if depth else 0):
            entry.below["f%d" % i] = Entry(entry, "f%d" % i)
            read(entry.below["f%d" % i], depth - 1)

    def step(number):
        if number % 80 == 0:
            root[0] = Entry(None, "")
            read(root[0], 5)
        found, todo = [], [root[0]]
        while todo and len(found) < 1500:
            at = todo.pop()
            found.append((at.name, [at]))
            todo += at.below.values()

    return step


def sparse():
    """Rows of a sparse matrix: multiplied, and the last hundred results kept."""
    rng, kept = random.Random(10), collections.deque(maxlen=100)
    rows = [{rng.randrange(500): [rng.random()] for _ in range(20)} for _ in range(300)]

    def step(number):
        kept.append([{column: [value[0] * number] for column, value in row.items()} for row in rows[:60]])

    return step


# as unseen.py's
SECOND = {
    "mail": (60000, 600, mail, None, 0),
    "executor": (120000, 1200, executor, None, 0),
    "game": (90000, 1500, game, None, 0),
    "game-eager": (50000, 600, game, (200, 5, 5), 0),
    "torch-replay": (0, 1200, torch_replay, None, 0),
    "xgboost": (50000, 400, xgboost_program, None, 0),
    "fastapi": (0, 500, fastapi_program, None, 0),
    "pygments": (40000, 1000, pygments_program, None, 0),
    "pyparsing": (20000, 400, pyparsing_program, None, 0),
    "equinox": (0, 200, equinox_program, None, 0),
}
THIRD = {
    "graph": (30000, 500, graph, None, 0),
    "evolution": (60000, 500, evolution, None, 0),
    "pickles": (10000, 500, pickles, None, 0),
    "logs": (70000, 500, logs, None, 0),
    "shop": (50000, 700, shop, None, 0),
    "cancelled": (90000, 500, cancelled, None, 0),
}
FOURTH = {
    "interpreter": (70000, 400, interpreter, None, 0),
    "observers": (20000, 500, observers, None, 0),
    "markov": (50000, 500, markov, None, 0),
    "folders": (30000, 500, folders, None, 0),
    "sparse": (80000, 500, sparse, None, 0),
}
