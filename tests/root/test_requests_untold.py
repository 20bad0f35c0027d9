"""Servers that cannot be understood, or not all: no wrong requests, and a sentence that says so."""

import http.client
import json
import socket
import ssl
import subprocess

import pytest

import harness
from request_check import App, Client, check_summary, check_times, here, need, seen, servers

PROGRAM = harness.HERE / "request_other.py"
REQUESTS = 23
ENCRYPTED = " (%d) are encrypted: their requests are not told."
HTTP2 = " (%d) speak HTTP/2: their requests are not told."


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 7 -subj /CN=here".split()
    subprocess.run(["openssl", *words, "-keyout", path, "-out", "%s.crt" % path], check=True, capture_output=True)
    path.write_text(path.read_text() + (path.parent / "both.pem.crt").read_text())
    return path


class Other(harness.Process):
    def __init__(self, bench, python, *words, env=None):
        super().__init__([python, PROGRAM, "serve", *words], env=env)
        bench.keep(self)
        self.port = json.loads(self.out.next(60))["port"]

    def answered(self):
        self.send("said")
        return json.loads(self.out.next(30))["answered"]


def check_untold(bench, tracer, server, sentence):
    """All were answered, none is told, and nothing is claimed of steps."""
    assert server.answered() == REQUESTS
    assert tracer.interrupt() == 0, tracer.err.text()
    records = bench.report()
    assert len(records.of_pid(server.pid)) == REQUESTS // 5 and records.drops == []
    assert "requests" not in records.summary and records.summary["tracks"] == []
    if sentence:
        assert sentence % server.pid in records.summary["verdict"]
        kinds = {"encrypted": sentence is ENCRYPTED, "http2": sentence is HTTP2}
        assert records.summary["requests_untold"] == [{"pid": server.pid, **kinds, "responses": 0}]
    else:
        assert "requests_untold" not in records.summary
        assert not any(word in records.summary["verdict"] for word in ("requests", "Connections", "responses"))


@here
@pytest.mark.parametrize("kind", ["tls-thread", "tls-asyncio"])
def test_an_encrypted_server(bench, python, certificate, kind):
    server = Other(bench, python.exe, kind, certificate, env=python.environment)
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    context = ssl.create_default_context(cafile=certificate)
    context.check_hostname = False
    for i in range(REQUESTS):
        if i % 7 == 0:
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context)
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"x" * 37
    check_untold(bench, tracer, server, ENCRYPTED)


@servers
@pytest.mark.parametrize("kind", ["http2", "grpc", "grpc-aio"])
def test_a_server_of_another_http(bench, environment, kind):
    need(environment)
    server = Other(bench, environment.python, kind)
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    client = bench.process([environment.python, PROGRAM, "ask", kind, str(server.port), str(REQUESTS)])
    assert client.wait(60) == 0, client.err.text()
    check_untold(bench, tracer, server, HTTP2)


@here
@pytest.mark.parametrize("command", ["GET key:%d\r\n", "GET /key/%d\r\n"])
def test_a_protocol_like_http(bench, python, command):
    """Redis' commands may be written so. They get no response of HTTP: nothing is taken for one."""
    server = Other(bench, python.exe, "redis", env=python.environment)
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    connection = socket.create_connection(("127.0.0.1", server.port))
    for i in range(REQUESTS):
        connection.sendall((command % i).encode())
        assert connection.recv(4096).startswith(b"$37\r\n")
    check_untold(bench, tracer, server, None)


class Raw:
    """A client that says what it is told to, and no more."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.settimeout(60 * harness.SLOWNESS)
        self.file = self.socket.makefile("rb")

    def send(self, *lines, body=b""):
        self.socket.sendall(b"".join(line.encode() + b"\r\n" for line in lines) + b"\r\n" + body)

    def status(self):
        """Of the response that comes next, whose head is read."""
        status = int(self.file.readline().split()[1])
        while self.file.readline() != b"\r\n":
            pass
        return status

    def answer(self):
        assert self.status() == 200 and self.file.read(37) == b"x" * 37


HOST = "Host: here"
LARGE = 4000037


def upload(client):
    client.send("POST / HTTP/1.1", HOST, "Content-Length: %d" % LARGE)
    client.socket.sendall(b"y" * LARGE)
    client.answer()


def upload_in_chunks(client):
    client.send("POST / HTTP/1.1", HOST, "Transfer-Encoding: chunked")
    for size in (1, 8, 4099):
        client.socket.sendall(b"%x\r\n%s\r\n" % (size, b"y" * size))
    client.socket.sendall(b"0\r\n\r\n")
    client.answer()


def upload_if_asked(client, body=b"y" * 41):
    """The body is sent once the server has read the head, and so is received by itself."""
    client.send("POST / HTTP/1.1", HOST, "Content-Length: %d" % len(body), "Expect: 100-continue")
    assert client.status() == 100
    client.socket.sendall(body)
    client.answer()


def upgrade(client):
    """Eleven messages both ways; what follows the handshake is no request."""
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    client.send("GET /socket HTTP/1.1", HOST, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", key)
    assert client.status() == 101
    for _ in range(11):
        client.socket.sendall(b"\x82\x86\0\0\0\0GET / ")
        assert client.file.read(8) == b"\x82\x06GET / "


def leave(bench, client):
    """Before the response, which is then not sent."""
    client.send("GET /gone HTTP/1.1", HOST)
    harness.wait_until((bench.scratch / "asked").exists, what="that it was asked")
    client.socket.shutdown(socket.SHUT_RDWR)
    client.socket.close()


variants = pytest.mark.parametrize(
    "parser,loop", [("h11", "asyncio"), ("httptools", "uvloop"), ("h11", "uvloop"), ("httptools", "asyncio")]
)


@servers
@variants
def test_what_clients_do(bench, environment, parser, loop):
    need(environment)
    server = App(bench, environment, parser, loop)
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    kept = Raw(server.port)
    for _ in range(3):
        for act in (upload, upload_in_chunks, upload_if_asked):
            act(kept)
    upgrade(Raw(server.port))
    leave(bench, Raw(server.port))
    for _ in range(REQUESTS):
        Client(server.port).get("/")
    assert tracer.interrupt() == 0, tracer.err.text()
    sizes = 3 * ["/%d" % LARGE, "/4108", "/41"]
    log = server.log()
    assert [path for path, _, _ in log] == sizes + ["/socket"] + REQUESTS * ["/"]
    requests = check_times(bench.file, server.pid, log, unanswered=1)
    records = check_summary(bench, server.pid, requests, log, 0, 1, unanswered=1)
    assert "not told" not in records.summary["verdict"]


def pipeline(client):
    """Three at a time: they arrive together, and their responses follow each other."""
    for _ in range(5):
        client.socket.sendall(3 * b"GET /piped HTTP/1.1\r\nHost: here\r\n\r\n")
        for _ in range(3):
            client.answer()


def resemble(client):
    """A body that begins like a request."""
    for _ in range(7):
        upload_if_asked(client, b"GET / HTTP/1.1\r\n")


@servers
@variants
@pytest.mark.parametrize("act,untold", [(pipeline, 15), (resemble, 7)])
def test_connections_out_of_turn(bench, environment, parser, loop, act, untold):
    """They are left out as a whole, and counted; others are told all the same."""
    need(environment)
    server = App(bench, environment, parser, loop)
    tracer = bench.record(server, "-v")
    seen(tracer, server.pid)
    act(Raw(server.port))
    for _ in range(REQUESTS):
        Client(server.port).get("/")
    assert tracer.interrupt() == 0, tracer.err.text()
    log = server.log()
    assert len(log) == untold + REQUESTS
    records = bench.report()
    (found,) = records.summary["requests"]
    assert (found["requests"], found["unanswered"], found["at_once"]) == (REQUESTS, 0, 1)
    assert " %d responses of python (%d) answer requests that are not told" % (untold, server.pid) in records.summary["verdict"]
