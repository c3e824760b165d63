"""ChatGPT's account export: `conversations.json`, or `conversations-000.json` and following in large ones.

A list of conversations; the messages of each are a tree, `mapping`, of which the path to `current_node` is what the
person saw last. Kept is what the person and the assistant said to each other, dictated words included. Left out and
counted: other branches, what the assistant wrote to its tools and they to it, its notes to itself, hidden and system
messages, pictures and files. What the person wrote about themselves into the custom instructions is a conversation of
its own, once for each wording.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from prospection.exchange.conversations import (
    Conversation,
    Found,
    Importer,
    LeftOut,
    Opening,
    Reading,
    Skipped,
    spoken,
)
from prospection.exchange.threads import last_leaf, thread_to
from prospection.types import Message, mended_text

__all__ = ["IMPORTER"]

_WORDS = frozenset({"text", "multimodal_text"})
_NOTES = frozenset({"thoughts", "reasoning_recap", "model_editable_context"})
_PROFILE = re.compile(r"^.*?User profile:\s*```(.*?)```\s*$", re.DOTALL | re.IGNORECASE)


def _claims(opening: Opening) -> bool:
    return any(isinstance(value, Mapping) and isinstance(value.get("mapping"), Mapping) for value in opening.values)


def _read(entry: Any, reading: Reading) -> Iterator[Found]:  # noqa: ANN401 - JSON data
    if not isinstance(entry, Mapping) or not isinstance(entry.get("mapping"), Mapping):
        yield Skipped(what=_title(entry), reason="not a conversation")
        return
    nodes = {key: node for key, node in entry["mapping"].items() if isinstance(node, Mapping)}
    parents = {key: _text(node.get("parent")) for key, node in nodes.items()}
    thread = thread_to(_text(entry.get("current_node")) or "", parents)
    if not thread:
        times = {key: _seconds(_message_of(node).get("create_time")) or 0.0 for key, node in nodes.items()}
        thread = thread_to(last_leaf(parents, times) or "", parents)
    began = _instant(entry.get("create_time"))
    left_out = LeftOut()
    messages: list[Message] = []
    for key in thread:
        message = _message_of(nodes[key])
        if about := _about_the_person(message):
            yield _profile(about, began or _instant(message.get("create_time")))
        elif message:
            messages += _spoken(message, left_out)
    branches = nodes.keys() - set(thread)
    left_out.add("another branch", sum(_has_words(_message_of(nodes[key])) for key in branches))
    name = _text(entry.get("conversation_id")) or _text(entry.get("id"))
    at = began or next((message.at for message in messages if message.at), None) or _instant(entry.get("update_time"))
    if not messages:
        yield Skipped(what=_title(entry), reason="no message with words")
    elif name is None:
        yield Skipped(what=_title(entry), reason="no id")
    else:
        yield Conversation(id=name, at=at, messages=tuple(messages), left_out=left_out.counts())


def _spoken(message: Mapping[str, Any], left_out: LeftOut) -> Iterator[Message]:
    author, content = _mapping(message.get("author")), _mapping(message.get("content"))
    metadata, kind = _mapping(message.get("metadata")), content.get("content_type")
    role = author.get("role")
    left_out.add("attachment", len(_list(metadata.get("attachments"))))
    parts = [_part(part) for part in _list(content.get("parts"))]
    words = "\n".join(part for part in parts if part)
    if role not in ("user", "assistant"):
        if words or content.get("text"):
            left_out.add("tool message" if role == "tool" else "system message")
    elif metadata.get("is_visually_hidden_from_conversation") or kind == "user_editable_context":
        left_out.add("hidden message", bool(words))
    elif kind in _NOTES:
        left_out.add("assistant's note to itself")
    elif kind not in _WORDS or message.get("recipient", "all") not in ("all", None):
        left_out.add("tool call" if role == "assistant" else "message without words")
    else:
        if not metadata.get("attachments"):  # those that have a name are listed there as well
            left_out.add("attachment", sum(part is None for part in parts))
        if words.strip():
            yield spoken(role, words, _instant(message.get("create_time")))


def _part(part: object) -> str | None:
    """Return a part's words; None for a picture, a sound, a file."""
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("content_type") in ("audio_transcription", "text"):
        return _text(part.get("text")) or ""
    return None


def _about_the_person(message: Mapping[str, Any]) -> str | None:
    """Return what the person wrote about themselves into the custom instructions."""
    context = _mapping(_mapping(message.get("metadata")).get("user_context_message_data"))
    content = _mapping(message.get("content"))
    about = _text(context.get("about_user_message"))
    if not about and content.get("content_type") == "user_editable_context":
        profile = _text(content.get("user_profile")) or ""
        about = _PROFILE.sub(r"\1", profile)
    return about.strip() or None if about else None


def _profile(about: str, at: datetime | None) -> Conversation:
    digest = hashlib.sha256(about.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Conversation(id=f"custom-instructions-{digest}", at=at, messages=(spoken("user", about, at),))


def _has_words(message: Mapping[str, Any]) -> bool:
    author, content = _mapping(message.get("author")), _mapping(message.get("content"))
    return author.get("role") in ("user", "assistant") and any(map(_part, _list(content.get("parts"))))


def _message_of(node: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(node.get("message"))


def _title(entry: object) -> str:
    title = entry.get("title") if isinstance(entry, Mapping) else None
    return mended_text(title) if isinstance(title, str) and title else repr(entry)[:80]


def _instant(stamp: object) -> datetime | None:
    seconds = _seconds(stamp)
    return None if seconds is None else datetime.fromtimestamp(seconds, tz=UTC)


def _seconds(stamp: object) -> float | None:
    # A time of 0 is how some entries say that they have none; the upper bound is the year 9000.
    return float(stamp) if isinstance(stamp, int | float) and 0 < stamp < 221_845_392_000 else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


IMPORTER = Importer(name="chatgpt", title="ChatGPT account export", claims=_claims, read=_read)
