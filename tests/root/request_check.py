"""Servers under the tracer, their clients, and their logs against what was recorded.

In: request_subject.py, request_app.py, scripts/workloads --list. Out: Server, App, Client; checks.
"""

import http.client
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import conftest
import harness
import training

SUBJECT = harness.HERE / "request_subject.py"
EVERY = 13  # such a request collects

SERVERS = [e for e in training.load_environments() if e.kind == "server"]
servers = pytest.mark.parametrize("environment", SERVERS or [None], ids=str)
here = conftest.each(
    "python", conftest.spread([r for r in conftest.PLAIN if not r.in_root]), "CPython outside a root of its own is here"
)


class Server(harness.Process):
    def __init__(self, bench, runtime, *words):
        script = SUBJECT
        if runtime.in_root:
            script = Path(runtime.place(bench.scratch)).parent / SUBJECT.name
            shutil.copy(SUBJECT, runtime.root + str(script))
        super().__init__(runtime.start_line(script) + [str(word) for word in words], env=runtime.environment)
        bench.keep(self)
        self.port = self.answer()["port"]

    def answer(self):
        line = self.out.next(30)
        assert line is not None, self.err.text()
        return json.loads(line)

    def ask(self, command):
        self.send(command)
        return self.answer()


class App(harness.Process):
    """uvicorn with request_app.py, which logs into the bench's scratch folder."""

    def __init__(self, bench, environment, parser, loop):
        argv = [environment.python, harness.HERE / "request_app.py", parser, loop]
        super().__init__(argv, env={"REQUEST_LOG": str(bench.scratch)})
        bench.keep(self)
        self.log_path = bench.scratch / str(self.pid)
        self.port = json.loads(self.out.next(60))["port"]

    def log(self):
        return read_log(self.log_path)


def read_log(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def need(environment):
    conftest.need("workloads", environment, "scripts/workloads server-3.11 has not been run")


def seen(tracer, pid):
    """Until the requests of @pid are seen: it serves already, and is looked at ten times a second."""
    tracer.attached("requests of process %d are seen" % pid)


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port)

    def get(self, path):
        self.connection.request("GET", path)
        assert self.connection.getresponse().read() == b"x" * 37


def load(port, paths, connections=1):
    """One after the other, by connections that are kept."""
    clients = [Client(port) for _ in range(connections)]
    for i, path in enumerate(paths):
        if i % 31 == 30:
            clients[i % connections].connection.close()  # the next one opens another
        clients[i % connections].get(path)
    return clients


def paths_of(count):
    return ["/collect" if i % EVERY == 5 else "/early" if i % 17 == 3 else "/" for i in range(count)]


QUERY = """
select g.name, s.number, m.time_ns from step_mark m join step_series s on m.series = s.id
join step_signal g on s.signal = g.id join process p on s.process = p.id where p.pid = ? order by m.time_ns
"""


def requests_of(file, pid, unanswered=0):
    """[(start, end)], each as its connection's marks say, and so many more without an end."""
    base = sqlite3.connect(file)
    opened, found, left = {}, [], 0
    for name, connection, time_ns in base.execute(QUERY, (pid,)):
        assert name != "http:untold"
        if name == "http:connection":
            left += opened.pop(connection, None) is not None
            continue
        assert (connection in opened) == (name == "http:response")
        if name == "http:request":
            opened[connection] = time_ns
        else:
            found.append((opened.pop(connection), time_ns))
    assert left + len(opened) == unanswered
    assert base.execute("select cause, count from drops").fetchall() == []
    base.close()
    return sorted(found)


def check_times(file, pid, log, unanswered=0):
    """The server's own times lie within those that were seen, request by request."""
    own = sorted((read_ns, answer_ns) for _, read_ns, answer_ns in log)
    requests = requests_of(file, pid, unanswered)
    assert len(requests) == len(own)
    left = list(requests)
    for read_ns, answer_ns in own:
        around = [r for r in left if r[0] <= read_ns and answer_ns <= r[1]]
        assert around
        left.remove(min(around, key=lambda r: r[1] - r[0]))
    return requests


def check_summary(bench, pid, requests, log, stopped, at_once, unanswered=0):
    """By the report, and by what the recording's own pauses say. @stopped: by the log; None: of others it knows nothing."""
    records = bench.report()
    (found,) = [r for r in records.summary["requests"] if r["pid"] == pid]
    pauses = [(p["start_ns"], p["end_ns"]) for p in records.of_pid(pid)]
    overlaps = [sum(max(0, min(b, d) - max(a, c)) for c, d in pauses) for a, b in requests]
    assert found["requests"] == len(log) and found["unanswered"] == unanswered
    assert found["stopped"] == sum(o > 0 for o in overlaps) and stopped in (None, found["stopped"])
    assert found["overlap_ns"] == sum(overlaps) and found["overlap_max_ns"] == max(overlaps)
    assert found["time_ns"] == sum(b - a for a, b in requests)
    assert found["max_ns"] == max(b - a for a, b in requests)
    assert found["max_without_ns"] == max(b - a - o for (a, b), o in zip(requests, overlaps))
    assert found["at_once"] == at_once
    return records
