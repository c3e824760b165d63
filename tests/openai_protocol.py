"""What the loopback server reads and writes: the OpenAI protocol as plain functions.

In go JSON bodies, strictly checked; out come `Chat` values, completions, chunks of a stream, and made-up replies.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "Chat",
    "Json",
    "Mode",
    "RefusedError",
    "Reply",
    "Request",
    "chunks",
    "completion",
    "count_tokens",
    "embedding",
    "read_chat",
    "shape_of",
    "smallest",
]

Json = dict[str, Any]
Mode = Literal["json_schema", "tools", "json_object", "text"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as it came. `headers` have lower-case names; `body` is None where it was not a JSON object."""

    path: str
    headers: dict[str, str]
    body: Json | None


@dataclass(frozen=True, kw_only=True)
class Chat:
    """A chat request, read.

    Attributes:
        mode: How the reply is to be shaped.
        schema: JSON schema of the reply, from the response format or the first tool.
        system: System and developer messages, joined.
        user: The last user message.
    """

    body: Json
    mode: Mode
    schema: Json | None
    system: str
    user: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Reply:
    """An answer of the model: a text as it is, or data as JSON.

    Attributes:
        finish: "length" for a reply that was cut off.
        tokens: (prompt, completion) as reported; None leaves the usage out; "count" counts four characters a token.
        as_tool: Answer a request with tools by a tool call; False answers by a text all the same.
        pace: Seconds from one piece of a stream to the next; an answer that is not streamed takes as long in all.
    """

    content: str | Json
    finish: str | None = None
    tokens: tuple[int, int] | Literal["count"] | None = "count"
    as_tool: bool = True
    pace: float = 0.0

    @property
    def text(self) -> str:
        """The content as the model would have written it."""
        return self.content if isinstance(self.content, str) else json.dumps(self.content, ensure_ascii=False)


class RefusedError(Exception):
    """The request is not what OpenAI would accept."""


def embedding(text: str, dims: int = 64) -> list[float]:
    """A vector made of hashed words and letter triples."""
    lowered = f" {text.lower()} "
    features = re.findall(r"\w+", lowered) * 2 + [lowered[i : i + 3] for i in range(len(lowered) - 2)]
    vector = [0.1] + [0.0] * (dims - 1)
    for feature in features:
        digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
        vector[int.from_bytes(digest[:4], "big") % dims] += 1.0 if digest[4] % 2 else -1.0
    return vector


def read_chat(request: Request) -> Chat:
    body = request.body
    if body is None:
        raise RefusedError("the body is not a JSON object")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise RefusedError("you must provide a model parameter")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedError("'messages' must be a list that is not empty")
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise RefusedError(f"not a message: {message!r}")
    mode, schema = shape_of(body)
    texts = {role: [_content(m) for m in messages if m["role"] in roles] for role, roles in _WHOSE.items()}
    if not texts["user"]:
        raise RefusedError("there is no user message")
    return Chat(
        body=body,
        mode=mode,
        schema=schema,
        system="\n\n".join(texts["system"]),
        user=texts["user"][-1],
        headers=request.headers,
    )


_ROLES = {"system", "developer", "user", "assistant", "tool"}
_WHOSE = {"system": {"system", "developer"}, "user": {"user"}}


def shape_of(body: Json) -> tuple[Mode, Json | None]:
    shape: Json = body.get("response_format") or {"type": "text"}
    if shape.get("type") == "json_schema":
        described = shape.get("json_schema")
        if (
            not isinstance(described, dict)
            or not described.get("name")
            or not isinstance(described.get("schema"), dict)
        ):
            raise RefusedError("response_format.json_schema needs 'name' and 'schema'")
        return "json_schema", described["schema"]
    if shape.get("type") not in {"text", "json_object"}:
        raise RefusedError(f"unknown response_format {shape!r}")
    tools = body.get("tools")
    if isinstance(tools, list) and tools:
        function = tools[0].get("function") if tools[0].get("type") == "function" else None
        if not isinstance(function, dict) or not function.get("name"):
            raise RefusedError(f"not a tool: {tools[0]!r}")
        return "tools", function.get("parameters")
    return ("json_object", None) if shape["type"] == "json_object" else ("text", None)


def _content(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def smallest(schema: Json, root: Json) -> object:
    """The smallest value that fits a schema, with one element in each list so that there is something to see."""
    if "$ref" in schema:
        return smallest(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for union in ("anyOf", "oneOf", "allOf"):
        if union in schema:
            return smallest(schema[union][0], root)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: smallest(properties[name], root) for name in schema.get("required") or list(properties)}
        case "array":
            return [smallest(schema.get("items", {}), root)] * schema.get("minItems", 1)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "null":
            return None
    return "x" * max(4, schema.get("minLength", 0))


def count_tokens(text: str) -> int:
    return max(1, len(text) // 4)


def completion(reply: Reply, body: Json, mode: Mode) -> Json:
    """The response to a chat request, with the tool call in it where one is due."""
    message: Json = {"role": "assistant", "content": reply.text}
    finish = reply.finish or "stop"
    if mode == "tools" and reply.as_tool:
        call = {"name": body["tools"][0]["function"]["name"], "arguments": reply.text}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        }
        finish = reply.finish or "tool_calls"
    answer: Json = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if reply.tokens is not None:
        prompt = sum(count_tokens(_content(m)) for m in body["messages"])
        tokens = (prompt, count_tokens(reply.text)) if reply.tokens == "count" else reply.tokens
        answer["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return answer


def chunks(completion: Json, *, with_usage: bool) -> Iterator[Json]:
    """The same completion in the pieces of a stream."""
    usage = completion.pop("usage", None)
    choice = completion.pop("choices")[0]
    head = completion | {"object": "chat.completion.chunk"}
    message = choice["message"]
    deltas: list[Json] = [{"role": "assistant"}]
    if message["content"] is not None:
        deltas += [{"content": piece} for piece in re.findall(r".{1,8}", message["content"], re.DOTALL)]
    else:
        for call in message["tool_calls"]:
            function = call["function"]
            deltas.append({"tool_calls": [{"index": 0, **call, "function": {**function, "arguments": ""}}]})
            pieces = re.findall(r".{1,8}", function["arguments"], re.DOTALL)
            deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces]
    for delta in deltas:
        yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield head | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if with_usage and usage is not None:
        yield head | {"choices": [], "usage": usage}
