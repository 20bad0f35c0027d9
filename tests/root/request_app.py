"""Applications for real servers, which log each request in FOLDER/PID: [path, after it was read, before its response].

Run as a program: uvicorn with a FastAPI application, HTTP and LOOP as it calls them. Imported by gunicorn: `wsgi`, `asgi`.
"""

import gc
import json
import os
import sys
import time

FOLDER = os.environ["REQUEST_LOG"]
BODY = b"x" * 37
keep = [[i] for i in range(20000)]
gc.disable()


def answer(path, read_ns):
    if path == "/collect":
        gc.collect()
    with open(os.path.join(FOLDER, str(os.getpid())), "a") as log:
        log.write(json.dumps([path, read_ns, time.monotonic_ns()]) + "\n")
    return BODY


def wsgi(environ, start_response):
    body = answer(environ["PATH_INFO"], time.monotonic_ns())
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]


async def asgi(scope, receive, send):
    if scope["type"] != "http":  # not even its begin and end
        return
    body = answer(scope["path"], time.monotonic_ns())
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


def main(http, loop):
    import socket

    import fastapi
    import uvicorn

    app = fastapi.FastAPI()

    @app.get("/gone")
    async def gone(request: fastapi.Request):
        """Until its client is: it is answered too late."""
        open(os.path.join(FOLDER, "asked"), "w").close()
        while (await request.receive())["type"] != "http.disconnect":
            pass
        return fastapi.Response(BODY)

    @app.get("/{name:path}")
    async def get(name: str):
        return fastapi.Response(answer("/" + name, time.monotonic_ns()))

    @app.post("/{name:path}")
    async def post(name: str, request: fastapi.Request):
        read_ns = time.monotonic_ns()
        return fastapi.Response(answer("/%d" % len(await request.body()), read_ns))

    @app.websocket("/socket")
    async def echo(connection: fastapi.WebSocket):
        answer("/socket", time.monotonic_ns())
        await connection.accept()
        for _ in range(11):
            await connection.send_bytes(await connection.receive_bytes())
        await connection.close()

    listener = socket.create_server(("127.0.0.1", 0))
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
    config = uvicorn.Config(app, http=http, loop=loop, log_level="warning")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(*sys.argv[1:])
