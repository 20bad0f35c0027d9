"""Requests of servers against the log that each keeps itself: every one once, and which of them pauses stopped."""

import json
import os
import socket
import sqlite3
import threading
from pathlib import Path

import pytest

import conftest
import harness
import jvm_check
import jvm_harness
import training
from request_check import (
    App,
    Client,
    Server,
    check_summary,
    check_times,
    here,
    load,
    need,
    paths_of,
    read_log,
    requests_of,
    seen,
    servers,
)

REQUESTS = 211
HELD, ROUNDS = 7, 23  # at once, in the loop of a server


# Up to glibc 2.40 the functions make their system calls themselves, and are probed behind them; later ones have another make them.
LATER = [r for r in conftest.PLAIN if r.in_root and r.minor >= (3, 13)]


@conftest.each("python", conftest.spread([r for r in conftest.PLAIN if not r.in_root]) + LATER[:1], "CPython is here")
def test_a_server_of_threads(bench, python):
    server = Server(bench, python, "thread")
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    paths = paths_of(REQUESTS)
    clients = load(server.port, paths, 3)
    said = server.ask("log")
    assert tracer.interrupt() == 0, tracer.err.text()
    assert [path for path, _, _ in said["log"]] == paths and clients
    requests = check_times(bench.file, server.pid, said["log"])
    collected = paths.count("/collect")
    assert len(said["collections"]) == collected
    records = check_summary(bench, server.pid, requests, said["log"], collected, 1)
    assert len(records.of_pid(server.pid)) == collected
    sentence = "Pauses stopped %d of %d requests" % (collected, REQUESTS)
    assert sentence in records.summary["verdict"] and "look elsewhere" not in records.summary["verdict"]
    assert records.summary["tracks"] == []  # requests are no steps


@here
def test_requests_that_overlap(bench, python):
    """One collection stops all that the loop has under way."""
    server = Server(bench, python, "asyncio", HELD)
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    for _ in range(ROUNDS):
        threads = [threading.Thread(target=lambda: Client(server.port).get("/hold")) for _ in range(HELD)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    load(server.port, ["/"] * 11)
    said = server.ask("log")
    assert tracer.interrupt() == 0, tracer.err.text()
    assert len(said["log"]) == HELD * ROUNDS + 11 and len(said["collections"]) == ROUNDS
    requests = check_times(bench.file, server.pid, said["log"])
    check_summary(bench, server.pid, requests, said["log"], HELD * ROUNDS, HELD)


@here
def test_servers_that_share_a_socket(bench, python):
    """As gunicorn's workers, which are forked with it: each has its own requests, and its own pauses."""
    server = Server(bench, python, "fork")
    tracer = bench.record(server, "-v")
    children = [server.ask("fork")["pid"] for _ in range(2)]
    for child in children:
        seen(tracer, child)
    paths = paths_of(REQUESTS)
    for path in paths:
        Client(server.port).get(path)
    server.send("log")
    said = [server.answer() for _ in range(3)]
    assert tracer.interrupt() == 0, tracer.err.text()
    logs = [s["log"] for s in said if s["log"]]
    assert sum(len(log) for log in logs) == REQUESTS
    found = {r["pid"]: r for r in bench.report().summary["requests"]}
    for child in children:
        requests = requests_of(bench.file, child)
        if not requests:
            assert child not in found
            continue
        (log,) = [log for log in logs if all(any(a <= r and e <= b for a, b in requests) for _, r, e in log)]
        check_times(bench.file, child, log)
        collected = [path for path, _, _ in log].count("/collect")
        assert found[child]["requests"] == len(log) and found[child]["stopped"] == collected


@here
def test_a_program_that_does_not_serve(bench, python):
    """What a client sends and gets is no request to it, and its functions are not probed."""
    server = Server(bench, python, "thread")
    code = (
        "import gc, http.client, sys\ngc.disable()\nprint('ready', flush=True)\nsys.stdin.readline()\n"
        "c = http.client.HTTPConnection('127.0.0.1', %d)\n"
        "for i in range(23):\n c.request('GET', '/'); c.getresponse().read(); gc.collect()\n"
        "print('done', flush=True); sys.stdin.readline()" % server.port
    )
    client = bench.process(["/usr/bin/python3", "-c", code])
    assert client.out.next() == "ready"
    tracer = bench.record(client)
    client.send("go")
    assert client.out.next(30) == "done"
    assert tracer.interrupt() == 0, tracer.err.text()
    assert len(server.ask("log")["log"]) == 23
    records = bench.report()
    assert "requests" not in records.summary and len(records.pauses) == 23
    assert sqlite3.connect(bench.file).execute("select count(*) from step_signal").fetchone() == (0,)


@servers
@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("parser", ["h11", "httptools"])
def test_uvicorn(bench, environment, parser, loop):
    need(environment)
    server = App(bench, environment, parser, loop)
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    paths = [path.replace("/early", "/") for path in paths_of(REQUESTS)]
    clients = load(server.port, paths, 3)
    assert tracer.interrupt() == 0, tracer.err.text()
    log = server.log()
    assert [path for path, _, _ in log] == paths and clients
    requests = check_times(bench.file, server.pid, log)
    check_summary(bench, server.pid, requests, log, paths.count("/collect"), 1)


@servers
@pytest.mark.parametrize("worker", ["sync", "gthread", "asgi", "uvicorn.workers.UvicornWorker"])
def test_gunicorn(bench, environment, worker):
    """Its workers are children, with the socket that it listens on."""
    need(environment)
    listener = socket.create_server(("127.0.0.1", 0))
    number = listener.fileno()
    argv = [environment.python, "-m", "gunicorn", "-b", "fd://%d" % number, "-w", "2", "-k", worker]
    argv.append("request_app:wsgi" if worker in ("sync", "gthread") else "request_app:asgi")
    server = bench.process(
        argv, pass_fds=(number,), cwd=harness.HERE, env={"REQUEST_LOG": str(bench.scratch), "PYTHONDONTWRITEBYTECODE": "1"}
    )
    harness.wait_until(lambda: server.err.text().count("Booting worker") == 2, seconds=60, what="two workers")
    workers = harness.descendants(server.pid)
    assert len(workers) == 2
    tracer = bench.record(server, "-v")
    for pid in workers:
        seen(tracer, pid)
    paths = [path.replace("/early", "/") for path in paths_of(REQUESTS)]
    for path in paths:
        Client(listener.getsockname()[1]).get(path)
    assert tracer.interrupt() == 0, tracer.err.text()
    logs = {pid: read_log(bench.scratch / str(pid)) for pid in workers}
    assert sorted(path for log in logs.values() for path, _, _ in log) == sorted(paths)
    for pid, log in logs.items():
        if log:
            requests = check_times(bench.file, pid, log)
            check_summary(bench, pid, requests, log, [path for path, _, _ in log].count("/collect"), 1)


def check_jvm(bench, server, warm):
    """Of a program of Serve.java's commands that has answered @warm requests before: request by request. Returns what it said."""
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    paths = [path.replace("/early", "/") for path in paths_of(REQUESTS)]
    clients = load(server.port, paths, 3)
    server.send("log")
    said = json.loads(server.out.next(30))
    log = said["log"][warm:]
    assert tracer.interrupt() == 0, tracer.err.text()
    assert [path for path, _, _ in log] == paths and clients
    requests = check_times(bench.file, server.pid, log)
    records = check_summary(bench, server.pid, requests, log, None, 1)
    collections = [p for p in records.of_pid(server.pid) if p["cause"] == "System.gc()"]
    assert len(collections) == paths.count("/collect")
    for path, read_ns, answer_ns in log:
        if path == "/collect":
            assert sum(read_ns < p["start_ns"] and p["end_ns"] < answer_ns for p in collections) == 1
    return said


@jvm_check.each("jvm", jvm_check.newest([r for r in jvm_check.PLAIN if r.feature >= 11 and not r.in_root]))
def test_a_jvm_that_serves(bench, jvm):
    """With channels, which read and write as if their sockets were files."""
    server = bench.process(jvm.argv(["-Xmx64m", jvm_harness.PROGRAMS / "Serve.java"]))
    server.port = json.loads(server.out.next(60))["port"]
    Client(server.port).get("/")  # the library of channels is loaded
    check_jvm(bench, server, 1)


@pytest.mark.parametrize("environment", [e for e in training.load_environments() if e.kind == "jserver"] or [None], ids=str)
@pytest.mark.parametrize("words", [["Tomcat"], ["Jetty"], ["Netty", "nio"], ["Netty", "epoll"]], ids="-".join)
def test_a_java_server(bench, environment, words):
    """As they are embedded, by their own logs, too."""
    conftest.need("workloads", environment, "scripts/workloads jserver has not been run")
    cache = Path(os.environ.get("GCTRACE_CACHE") or Path.home() / ".cache/gctrace")
    here = cache / "workloads" / environment.name
    argv = [environment.python, "-Xmx64m", "-cp", "%s/classes:%s/lib/*" % (here, here), *words]
    server = bench.process(argv)
    server.port = json.loads(server.out.next(60))["port"]
    assert check_jvm(bench, server, 0)["accesses"] == REQUESTS
