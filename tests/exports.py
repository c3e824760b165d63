"""Account exports in small, written by hand after their publicly documented layouts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

__all__ = ["BEGAN", "chatgpt", "chatgpt_message", "claude", "claude_message", "text_of"]

BEGAN = 1_735_725_600.5  # 2025-01-01 10:00 UTC


def chatgpt_message(
    role: str,
    *parts: Any,
    kind: str = "text",
    recipient: str = "all",
    at: float | None = BEGAN,
    metadata: Mapping[str, Any] | None = None,
    **content: Any,
) -> dict[str, Any]:
    """A message as it stands in a node of the tree."""
    return {
        "id": "m",
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": {"content_type": kind, "parts": list(parts), **content}
        if parts
        else {"content_type": kind, **content},
        "status": "finished_successfully",
        "end_turn": None,
        "weight": 1.0,
        "metadata": dict(metadata or {}),
        "recipient": recipient,
    }


def chatgpt(
    name: str,
    *messages: dict[str, Any] | None,
    parents: Mapping[int, int] | None = None,
    current: int | None = None,
    began: float | None = BEGAN,
) -> dict[str, Any]:
    """A conversation: a root without a message, then the messages, each under the one before unless `parents` says so.

    Places count from 1; 0 is the root. `current` is the place of the current node, by default the last.
    """
    nodes: list[dict[str, Any]] = [{"id": "n0", "message": None, "parent": None, "children": []}]
    for place, message in enumerate(messages, start=1):
        parent = (parents or {}).get(place, place - 1)
        nodes.append({"id": f"n{place}", "message": message, "parent": f"n{parent}", "children": []})
        nodes[parent]["children"].append(f"n{place}")
    return {
        "title": f"About {name}",
        "create_time": began,
        "update_time": began,
        "mapping": {node["id"]: node for node in nodes},
        "moderation_results": [],
        "current_node": f"n{len(messages) if current is None else current}",
        "conversation_id": name,
        "id": name,
    }


def claude_message(
    sender: str, text: str, *content: Mapping[str, Any], name: str = "", parent: str | None = None, **more: Any
) -> dict[str, Any]:
    """A message; its content is one part of text unless parts are given."""
    return {
        "uuid": name,
        "text": text,
        "content": list(content) or ([{"type": "text", "text": text, "citations": []}] if text else []),
        "sender": sender,
        "created_at": "2025-01-01T10:00:00.500000Z",
        "attachments": [],
        "files": [],
        **({"parent_message_uuid": parent} if parent else {}),
        **more,
    }


def claude(name: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A conversation."""
    return {
        "uuid": name,
        "name": f"About {name}",
        "created_at": "2025-01-01T10:00:00.500000Z",
        "updated_at": "2025-01-02T10:00:00.500000Z",
        "account": {"uuid": "a"},
        "chat_messages": list(messages),
        **more,
    }


def text_of(conversations: Sequence[Any]) -> str:
    """The export as a file holds it."""
    return json.dumps(list(conversations))


AT = datetime.fromtimestamp(BEGAN, tz=UTC)
