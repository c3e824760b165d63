"""The loopback server itself: it has to be as strict as what it stands for."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from loopback import Loopback, Reply, Status, embedding

USER = [{"role": "user", "content": "hello"}]
SCHEMA = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"$ref": "#/$defs/Fact"}}, "kind": {"enum": ["a", "b"]}},
    "required": ["facts", "kind"],
    "$defs": {"Fact": {"type": "object", "properties": {"info": {"type": "string"}, "n": {"type": "integer"}}}},
}
BY_SCHEMA = {"type": "json_schema", "json_schema": {"name": "Facts", "schema": SCHEMA}}
TOOL = {"type": "function", "function": {"name": "Facts", "parameters": SCHEMA}}


def post(server: Loopback, path: str, body: Any) -> tuple[int, str]:
    request = urllib.request.Request(
        server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_replies_fit_the_schema_where_nothing_is_scripted() -> None:
    with Loopback() as server:
        _, text = post(server, "/chat/completions", {"model": "m", "messages": USER, "response_format": BY_SCHEMA})
        content = json.loads(json.loads(text)["choices"][0]["message"]["content"])
        assert content == {"facts": [{"info": "xxxx", "n": 1}], "kind": "a"}
        _, text = post(server, "/chat/completions", {"model": "m", "messages": USER, "tools": [TOOL]})
        choice = json.loads(text)["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == content
        _, text = post(server, "/chat/completions", {"model": "m", "messages": USER})
        assert json.loads(text)["choices"][0]["message"]["content"] == "ok"
        assert json.loads(text)["usage"]["total_tokens"] == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/chat/completions", {"messages": USER}),
        ("/chat/completions", {"model": "m", "messages": []}),
        ("/chat/completions", {"model": "m", "messages": [{"role": "boss", "content": "x"}]}),
        ("/chat/completions", {"model": "m", "messages": [{"role": "system", "content": "x"}]}),
        ("/chat/completions", {"model": "m", "messages": USER, "response_format": {"type": "xml"}}),
        ("/chat/completions", {"model": "m", "messages": USER, "response_format": {"type": "json_schema"}}),
        ("/chat/completions", {"model": "m", "messages": USER, "tools": [{"name": "x"}]}),
        ("/chat/completions", ["not", "an", "object"]),
        ("/embeddings", {"model": "m", "input": ["a", ""]}),
        ("/embeddings", {"model": "m", "input": []}),
        ("/embeddings", {"input": "a"}),
    ],
)
def test_what_openai_refuses_is_refused(path: str, body: object) -> None:
    with Loopback() as server:
        assert post(server, path, body)[0] == 400


def test_scripts_come_before_handlers() -> None:
    with Loopback(lambda chat: f"you said {chat.user}") as server:
        server.script(Status(503), Reply("first"))
        assert post(server, "/chat/completions", {"model": "m", "messages": USER})[0] == 503
        assert '"first"' in post(server, "/chat/completions", {"model": "m", "messages": USER})[1]
        assert '"you said hello"' in post(server, "/chat/completions", {"model": "m", "messages": USER})[1]
        assert len(server.chats) == 3
        assert post(server, "/nothing", {})[0] == 404


def test_streams_add_up() -> None:
    with Loopback() as server:
        server.script("A text of more than a few letters.")
        body = {"model": "m", "messages": USER, "stream": True, "stream_options": {"include_usage": True}}
        _, text = post(server, "/chat/completions", body)
        *lines, done = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
        assert done == "[DONE]"
        *chunks, usage = map(json.loads, lines)
        pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in chunks]
        assert "".join(pieces) == "A text of more than a few letters."
        assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
        assert usage["usage"]["completion_tokens"] == 8


def test_embeddings_are_the_same_for_the_same_text() -> None:
    with Loopback(dims=8) as server:
        _, text = post(server, "/embeddings", {"model": "m", "input": ["a cat", "a dog", "a cat"]})
        first, second, third = [item["embedding"] for item in json.loads(text)["data"]]
        assert first == third == embedding("a cat", 8)
        assert first != second
