#!/usr/bin/env python3
"""What it costs a server that its requests are seen.

usage: requests.py GCTRACE [-r ROUNDS] [-s SECONDS] [--only NAME]...

A client with one connection that is kept asks 1,000 times a second, and as fast as it is answered. Every round measures
each server untraced and traced, one after the other, in turn first; server and client go before all other processes
(SCHED_FIFO). CPU time of the server and of gctrace for one request, and how many were answered; medians and quartiles of the
rounds' differences. The server is traced by its pid alone, collects nothing, and
so pays for the probes on its sockets only.
"""
import argparse
import gc
import glob
import http.server
import os
import pathlib
import socket
import sys
import time

import bench

RATES = {"1,000 a second": 1000, "as many as it can": None}
ASK = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
BODY = b"x" * 37
WARM = 300


async def app(scope, receive, send):
    if scope["type"] == "http":
        length = [(b"content-length", b"%d" % len(BODY))]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": BODY})


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *words):
        pass


def serve_uvicorn(listener, loop="uvloop"):
    import uvicorn
    config = uvicorn.Config(app, http="httptools" if loop == "uvloop" else "h11", loop=loop,
                            log_level="warning", access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listener])


def serve_thread(listener):
    server = http.server.ThreadingHTTPServer(listener.getsockname(), Handler, False)
    server.socket = listener
    server.serve_forever()


SERVERS = {
    "uvicorn, httptools, uvloop": serve_uvicorn,
    "uvicorn, h11, asyncio": lambda listener: serve_uvicorn(listener, "asyncio"),
    "http.server, threads": serve_thread,
}


def python_of(name):
    """The interpreter of scripts/workloads that has uvicorn; the system's where none is needed."""
    if "uvicorn" not in name:
        return "/usr/bin/python3"
    cache = os.environ.get("GCTRACE_CACHE", pathlib.Path.home() / ".cache/gctrace")
    found = sorted(glob.glob("%s/workloads/server-*/bin/python" % cache))
    if not found:
        raise bench.Skip("scripts/workloads server-3.11 has not been run")
    return found[-1]


def cpu_ns(pid):
    return sum(int(pathlib.Path(path).read_text().split()[0])
               for path in glob.glob("/proc/%d/task/*/schedstat" % pid))


class Asked:
    """A server as a subject, and the client's connection to it."""

    def __init__(self, name):
        self.subject = bench.Subject([python_of(name), __file__, "serve", name], os.environ)
        self.pid = self.subject.pid
        self.socket = socket.create_connection(("127.0.0.1", self.subject.read()))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self):
        self.socket.sendall(ASK)
        answer = b""
        while not answer.endswith(BODY):
            answer += self.socket.recv(65536)

    def before_others(self, policy, priority):
        """The server's threads, and the client."""
        for task in [*map(int, os.listdir("/proc/%d/task" % self.pid)), 0]:
            os.sched_setscheduler(task, policy, os.sched_param(priority))

    def measure(self, rate, seconds, beside=None):
        """CPU time of one request, µs, of the server and of @beside; requests a second. Whatever else runs here waits."""
        self.before_others(os.SCHED_FIFO, 1)
        try:
            return self._measure(rate, seconds, beside or self.pid)
        finally:
            self.before_others(os.SCHED_OTHER, 0)

    def _measure(self, rate, seconds, beside):
        for _ in range(WARM):
            self.ask()
        count, start, before, other = 0, time.monotonic(), cpu_ns(self.pid), cpu_ns(beside)
        while time.monotonic() < start + seconds:
            if rate:
                time.sleep(max(0, start + count / rate - time.monotonic()))
            self.ask()
            count += 1
        took = time.monotonic() - start
        return ((cpu_ns(self.pid) - before) / count / 1000, (cpu_ns(beside) - other) / count / 1000,
                count / took)

    def end(self):
        self.socket.close()
        self.subject.end()


def wait_quiet(tracer):
    """Until it has looked through the server's libraries."""
    last = -100
    while tracer.cpu_ms() - last > 10:
        last = tracer.cpu_ms()
        time.sleep(0.3)


def traced(binary, server, rate, seconds):
    tracer = bench.Tracer([binary, "-v", "-p", server.pid])
    try:
        tracer.wait_says("requests of process %d are seen" % server.pid)
        wait_quiet(tracer)
        figures = server.measure(rate, seconds, tracer.pid)
        if "too often" in tracer.words():
            raise bench.Skip("they came too often, and were let go")
        return figures
    finally:
        tracer.stop()


def one_pair(binary, name, rate, seconds, first):
    """What both ways gave, untraced and traced; @first is traced or not."""
    server, got = Asked(name), {}
    try:
        for way in (first, not first):
            got[way] = traced(binary, server, rate, seconds) if way else server.measure(rate, seconds)
    finally:
        server.end()
    return got[False], got[True]


def report(name, results):
    rows = []
    for rate, pairs in results.items():
        if not pairs:
            continue
        plain = bench.spread([a[0] for a, _ in pairs])
        added = bench.spread([b[0] - a[0] for a, b in pairs])
        own = bench.spread([b[1] for _, b in pairs])
        asked = bench.spread([a[2] for a, _ in pairs])
        ratio = bench.spread([100 * (b[2] / a[2] - 1) for a, b in pairs])
        rows.append((rate, "%.1f" % plain[0], "%+.1f" % added[0], "%+.1f … %+.1f" % added[1:],
                     "%.1f" % own[0], "%.0f" % asked[0], "%+.1f %%" % ratio[0],
                     "%+.1f … %+.1f" % ratio[1:]))
    print("\n%s, %d rounds" % (name, max(map(len, results.values()))))
    bench.table(("requests", "µs each", "added", "quartiles", "gctrace's own", "a second", "traced",
                 "quartiles"), rows)


def serve(name):
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # those that it accepts have it too
    gc.disable()
    print('"ready"\n%d' % listener.getsockname()[1], flush=True)
    SERVERS[name](listener)


def main():
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    parser = argparse.ArgumentParser(description="cost of seeing a server's requests")
    parser.add_argument("gctrace")
    parser.add_argument("-r", type=int, default=15, help="rounds")
    parser.add_argument("-s", type=float, default=1.5, help="seconds of each measurement")
    parser.add_argument("--only", action="append", help="servers whose name holds this")
    args = parser.parse_args()
    print(bench.versions(args.gctrace))
    chosen = [n for n in SERVERS if not args.only or any(word in n for word in args.only)]
    results = {name: {rate: [] for rate in RATES} for name in chosen}
    for i in range(args.r):
        for name in list(results):
            for rate, per_second in RATES.items():
                try:
                    results[name][rate].append(
                        one_pair(args.gctrace, name, per_second, args.s, bool(i % 2)))
                except bench.Skip as reason:
                    print("%s, %s: not measured: %s" % (name, rate, reason))
    for name in chosen:
        report(name, results[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
