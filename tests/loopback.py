"""A loopback server that speaks the OpenAI protocol over real HTTP, for tests and for trying things out.

In a test:

    with Loopback() as server:
        server.script(Status(429, retry_after=0), Reply({"facts": []}), Reply("cut of", finish="length"))
        ...                                     # point the code under test at server.url
        assert server.chats[0].system.startswith("You")

What a chat request is answered with, first that applies:
1. the next behaviour of the queue that `script` fills;
2. what the handler makes of it: `Loopback(handler)`, a function from `Chat` to a behaviour, a dict or a text;
3. the smallest value that fits the JSON schema of the request, or "ok" where there is none.

Behaviours: `Reply` (text or JSON, finish reason, usage), `Status` (an HTTP error), `Slow` (waits first), `Drop` (hangs
up without an answer), `Garbage` (HTTP 200 whose body is not JSON). A dict or a text stands for `Reply` of it. A reply
to a request with tools is given as a tool call, to one with `stream` as server-sent events, at its `pace`. Embeddings
are hashed words and letter triples: equal texts have equal vectors, related words are near, lengths are not 1;
`script_embeddings` queues behaviours for them.

The server is strict: what OpenAI refuses (a missing model, an unknown role, an empty text to embed, a schema that is
none) it refuses with HTTP 400. `refuse={"json_schema", "tools", "json_object"}` makes it refuse these too, and `key`
makes it want that key. Every request is kept in `requests`, chats parsed in `chats`.

At the command line, `python tests/loopback.py --port 8080` serves until Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self, cast

from openai_protocol import (
    Chat,
    Json,
    RefusedError,
    Reply,
    Request,
    chunks,
    completion,
    count_tokens,
    embedding,
    read_chat,
    shape_of,
    smallest,
)

__all__ = ["Behaviour", "Chat", "Drop", "Garbage", "Loopback", "Reply", "Request", "Slow", "Status", "embedding"]


@dataclass(frozen=True)
class Status:
    """An HTTP error in OpenAI's form. `retry_after` in seconds becomes the header; `code` is OpenAI's error code."""

    status: int
    message: str = "scripted"
    retry_after: float | None = None
    code: str | None = None


@dataclass(frozen=True)
class Slow:
    """Wait, then behave as `then`. The end of the server cuts the wait short."""

    seconds: float
    then: Reply | Status = field(default_factory=lambda: Reply("late"))


@dataclass(frozen=True)
class Drop:
    """Hang up without an answer."""


@dataclass(frozen=True)
class Garbage:
    """HTTP 200 with a body that is not JSON."""

    body: bytes = b'{"choices": [{"mess'


Behaviour = Reply | Status | Slow | Drop | Garbage
Handler = Callable[[Chat], Behaviour | Json | str]


@dataclass(kw_only=True)
class Loopback:
    """The server; a context manager. See the module."""

    handler: Handler | None = field(default=None, kw_only=False)
    refuse: frozenset[str] | set[str] = frozenset()
    key: str | None = None
    dims: int = 64
    port: int = 0
    requests: list[Request] = field(default_factory=list)
    chats: list[Chat] = field(default_factory=list)
    _queue: deque[Behaviour] = field(default_factory=deque)
    _embedding_queue: deque[Behaviour] = field(default_factory=deque)
    _lock: Lock = field(default_factory=Lock)
    closing: Event = field(default_factory=Event)

    def script(self, *behaviours: Behaviour | Json | str) -> None:
        """Queue answers to the coming chat requests."""
        self._queue.extend(_behaviour(one) for one in behaviours)

    def script_embeddings(self, *behaviours: Behaviour) -> None:
        """Queue answers to the coming embedding requests; a `Reply` with data is sent as the whole response."""
        self._embedding_queue.extend(behaviours)

    @property
    def url(self) -> str:
        """Base URL, for example "http://127.0.0.1:43211/v1"."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def embeddings(self) -> list[list[str]]:
        """The texts of each embedding request so far."""
        bodies = [request.body or {} for request in self.requests if request.path == "/v1/embeddings"]
        return [[texts] if isinstance(texts := body.get("input"), str) else texts or [] for body in bodies]

    def __enter__(self) -> Self:
        self._server = _Server(self)
        self.port = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def receive(self, request: Request) -> Behaviour | Json:
        """Decide what a request is answered with: a behaviour, or the JSON of a plain answer."""
        self.requests.append(request)
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return Status(401, "Incorrect API key provided.", code="invalid_api_key")
        try:
            if request.path == "/v1/chat/completions":
                return self._chat(request)
            if request.path == "/v1/embeddings":
                return self._embed(request)
        except RefusedError as refused:
            return Status(400, str(refused), code="invalid_request_error")
        if request.path == "/v1/models":
            return {"object": "list", "data": [{"id": "loopback", "object": "model", "owned_by": "tests"}]}
        return Status(404, f"Unknown path {request.path}")

    def _chat(self, request: Request) -> Behaviour:
        chat = read_chat(request)
        with self._lock:
            self.chats.append(chat)
            scripted = self._queue.popleft() if self._queue and chat.mode not in self.refuse else None
        if chat.mode in self.refuse:
            raise RefusedError(f"{chat.mode} is not supported by this server")
        if scripted is not None:
            return scripted
        if self.handler is not None:
            return _behaviour(self.handler(chat))
        return Reply("ok" if chat.schema is None else cast("Json", smallest(chat.schema, chat.schema)))

    def _embed(self, request: Request) -> Behaviour | Json:
        body = request.body or {}
        texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input")
        if not isinstance(body.get("model"), str) or not body["model"]:
            raise RefusedError("you must provide a model parameter")
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
            raise RefusedError("'input' must be a text or a list of texts, none of them empty")
        if len(texts) > 2048:
            raise RefusedError("'input' takes at most 2048 texts")
        with self._lock:
            scripted = self._embedding_queue.popleft() if self._embedding_queue else None
        if isinstance(scripted, Reply) and isinstance(scripted.content, dict):
            return scripted.content
        if scripted is not None:
            return scripted
        tokens = sum(map(count_tokens, texts))
        return {
            "object": "list",
            "model": body["model"],
            "data": [
                {"object": "embedding", "index": i, "embedding": embedding(text, self.dims)}
                for i, text in enumerate(texts)
            ],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }


def _behaviour(given: Behaviour | Json | str) -> Behaviour:
    return Reply(given) if isinstance(given, (str, dict)) else given


class _Server(ThreadingHTTPServer):
    def __init__(self, loopback: Loopback) -> None:
        super().__init__(("127.0.0.1", loopback.port), _Connection)
        self.loopback = loopback


class _Connection(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._serve(None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self._serve(body if isinstance(body, dict) else None)

    def _serve(self, body: Json | None) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.loopback.receive(Request(path=self.path, headers=headers, body=body))
        if isinstance(answer, Slow):
            self.server.loopback.closing.wait(answer.seconds)
            answer = answer.then
        try:
            self._answer(answer, body or {})
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client did not wait, which is what some tests are about

    def _answer(self, answer: Behaviour | Json, body: Json) -> None:
        match answer:
            case Drop():
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            case Garbage():
                self._send(200, answer.body, "application/json")
            case Status():
                error = {"message": answer.message, "type": "error", "param": None, "code": answer.code}
                self._send(answer.status, json.dumps({"error": error}).encode(), retry_after=answer.retry_after)
            case Reply():
                made = completion(answer, body, shape_of(body)[0])
                with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
                pieces = list(chunks(dict(made), with_usage=with_usage))
                if body.get("stream"):
                    self._stream(pieces, answer.pace)
                else:
                    self.server.loopback.closing.wait(answer.pace * len(pieces))
                    self._send(200, json.dumps(made).encode())
            case dict():
                self._send(200, json.dumps(answer).encode())

    def _send(
        self, status: int, content: bytes, kind: str = "application/json", retry_after: float | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if retry_after is not None:
            self.send_header("Retry-After", f"{retry_after:g}")
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, chunks: Iterable[Json], pace: float) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in chunks:
            self.server.loopback.closing.wait(pace)
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: tests read the requests instead."""


def main() -> None:
    """Serve at the command line."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server for trials; see the module's text.")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--key", help="want this key")
    parser.add_argument("--refuse", action="append", default=[], choices=["json_schema", "tools", "json_object"])
    arguments = parser.parse_args()
    with Loopback(port=arguments.port, key=arguments.key, refuse=set(arguments.refuse)) as server:
        print(f"serving {server.url} until Ctrl-C", flush=True)  # noqa: T201
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
