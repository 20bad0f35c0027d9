"""Servers whose requests are not told, and clients of two of them.

serve KIND [CERTIFICATE]: says its port, answers, and says the number of requests that it has answered for each line on stdin.
    tls-thread  the standard library's HTTP server behind OpenSSL, which reads the socket by itself
    tls-asyncio one that is given what was read
    http2       hypercorn
    grpc        gRPC
    grpc-aio    the same in an asyncio loop
    redis       a protocol whose commands look like HTTP's
ask KIND PORT COUNT: so many requests, one after the other.
"""

import asyncio
import concurrent.futures
import gc
import http.server
import json
import queue
import socket
import ssl
import sys
import threading

BODY = b"x" * 37
answered = 0
gc.disable()


def answer():
    global answered
    answered += 1
    if answered % 5 == 0:
        gc.collect()
    return BODY


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = answer()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def context_of(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def serve_tls_thread(certificate):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context_of(certificate).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def in_loop(port, serve):
    threading.Thread(target=asyncio.run, args=(serve(),), daemon=True).start()
    return port


def serve_tls_asyncio(certificate):
    listener = socket.create_server(("127.0.0.1", 0))

    async def connected(reader, writer):
        while (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET "):
            body = answer()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    async def serve():
        server = await asyncio.start_server(connected, sock=listener, ssl=context_of(certificate))
        await server.serve_forever()

    return in_loop(listener.getsockname()[1], serve)


async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": answer()})


def serve_http2():
    import hypercorn.asyncio
    import hypercorn.config

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    config = hypercorn.config.Config()
    config.bind = ["fd://%d" % listener.detach()]
    config.accesslog = config.errorlog = None
    return in_loop(port, lambda: hypercorn.asyncio.serve(app, config, shutdown_trigger=asyncio.Event().wait))


def serve_grpc():
    import grpc

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(3))
    handler = grpc.unary_unary_rpc_method_handler(lambda request, context: answer())
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Test", {"Get": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    serve_grpc.keep = server
    return port


def serve_grpc_aio():
    import grpc.aio

    listening = queue.Queue()

    async def get(request, context):
        return answer()

    async def serve():
        server = grpc.aio.server()
        handler = grpc.unary_unary_rpc_method_handler(get)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Test", {"Get": handler}),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        listening.put(port)
        await server.wait_for_termination()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    return listening.get(timeout=30)


def serve_redis():
    listener = socket.create_server(("127.0.0.1", 0))

    def work():
        while True:
            connection, _ = listener.accept()
            while connection.recv(4096).startswith(b"GET "):
                connection.sendall(b"$37\r\n" + answer() + b"\r\n")

    threading.Thread(target=work, daemon=True).start()
    return listener.getsockname()[1]


def ask_grpc(port, count):
    import grpc

    channel = grpc.insecure_channel("127.0.0.1:%d" % port)
    for _ in range(count):
        assert channel.unary_unary("/test.Test/Get")(b"") == BODY


ask_grpc_aio = ask_grpc


def ask_http2(port, count):
    import h2.connection
    import h2.events

    connection, state = socket.create_connection(("127.0.0.1", port)), h2.connection.H2Connection()
    state.initiate_connection()
    for _ in range(count):
        stream = state.get_next_available_stream_id()
        head = {":method": "GET", ":path": "/", ":scheme": "http", ":authority": "here"}
        state.send_headers(stream, list(head.items()), end_stream=True)
        connection.sendall(state.data_to_send())
        ended = False
        while not ended:
            events = state.receive_data(connection.recv(65536))
            ended = any(isinstance(e, h2.events.StreamEnded) and e.stream_id == stream for e in events)
            connection.sendall(state.data_to_send())


def main(verb, kind, *words):
    function = globals()["%s_%s" % (verb, kind.replace("-", "_"))]
    if verb == "ask":
        function(*map(int, words))
        return
    print(json.dumps({"port": function(*words)}), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"answered": answered}), flush=True)


main(*sys.argv[1:])
