"""A server for tests of requests, of the standard library, with a log of its own; commands on stdin, answers on stdout.

KIND: thread (a thread for each connection), asyncio (one loop for all), fork (two children that share the socket).
Paths: / answers, /collect collects and answers, /hold waits until COUNT of such requests are held, then collects once and
answers all of them.
"""

import asyncio
import gc
import json
import os
import socket
import sys
import threading
import time

BODY = b"x" * 37
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)
keep = [[i] for i in range(20000)]
log = []  # of each request: [path, after it was read, before its response, on CLOCK_MONOTONIC]
collections = []


def collect():
    start = time.monotonic_ns()
    gc.collect()
    collections.append([start, time.monotonic_ns()])


def path_of(data):
    return data.split(b" ", 2)[1].decode()


def serve_connection(connection):
    while True:
        data = connection.recv(65536)
        read_ns = time.monotonic_ns()
        if not data:
            connection.close()
            return
        if path_of(data) == "/collect":
            collect()
        if path_of(data) == "/early":  # what comes before a response is none
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        log.append([path_of(data), read_ns, time.monotonic_ns()])
        connection.sendall(HEAD + BODY)


def serve_threads(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_connection, args=(connection,), daemon=True).start()


class Holder:
    def __init__(self, count):
        self.count, self.held = count, []

    def hold(self, answer):
        self.held.append(answer)
        if len(self.held) == self.count:
            collect()
            held, self.held = self.held, []
            for one in held:
                one()


class Protocol(asyncio.Protocol):
    holder = None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        read_ns, path = time.monotonic_ns(), path_of(data)

        def answer():
            log.append([path, read_ns, time.monotonic_ns()])
            self.transport.write(HEAD + BODY)

        if path == "/hold":
            self.holder.hold(answer)
            return
        if path == "/collect":
            collect()
        answer()


async def serve_loop(listener):
    server = await asyncio.get_event_loop().create_server(Protocol, sock=listener)
    async with server:
        await server.serve_forever()


def work(kind, listener):
    if kind == "asyncio":
        Protocol.holder = Holder(int(sys.argv[2]))
        threading.Thread(target=asyncio.run, args=(serve_loop(listener),), daemon=True).start()
    else:
        threading.Thread(target=serve_threads, args=(listener,), daemon=True).start()


def say(**what):
    print(json.dumps(what), flush=True)


def main():
    kind, children = sys.argv[1], []
    gc.disable()
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    if kind != "fork":
        work(kind, listener)
    say(port=listener.getsockname()[1])
    for line in sys.stdin:
        if line == "fork\n":
            read, write = os.pipe()
            told, tell = os.pipe()
            child = os.fork()
            if not child:
                for others, _ in [*children, (write, told)]:
                    os.close(others)  # or its input would not end with its parent
                sys.stdin = os.fdopen(read)
                work(kind, listener)
                for _ in sys.stdin:
                    say(log=log, collections=collections)
                    os.write(tell, b".")
                os._exit(0)
            children.append((write, told))
            say(pid=child)
        elif line == "log\n":
            say(log=log, collections=collections)
            for write, told in children:  # one after the other: lines longer than a pipe takes at once would mix
                os.write(write, b"log\n")
                os.read(told, 1)
        else:
            break
    os._exit(0)


main()
