"""Claude's account export: `conversations.json`.

A list of conversations with `chat_messages`, whose text stands in `content` parts and, in older exports, in `text`.
Where messages name their parents, the thread to the current leaf (or the message written last) is taken. Left out and
counted: other branches, thinking, tool calls and results, attachments and files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from prospection.errors import InputError
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
from prospection.remember.instants import parse_instant
from prospection.types import Message, Role, mended_text

__all__ = ["IMPORTER"]

_ROLES: Mapping[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}
_REASONS = {"thinking": "assistant's note to itself", "tool_use": "tool call", "tool_result": "tool message"}


def _claims(opening: Opening) -> bool:
    return any(isinstance(value, Mapping) and isinstance(value.get("chat_messages"), list) for value in opening.values)


def _read(entry: Any, reading: Reading) -> Iterator[Found]:  # noqa: ANN401 - JSON data
    listed = entry.get("chat_messages") if isinstance(entry, Mapping) else None
    if not isinstance(listed, list):
        yield Skipped(what=_title(entry), reason="not a conversation")
        return
    left_out = LeftOut()
    written = [message for message in listed if isinstance(message, Mapping)]
    left_out.add("not a message", len(listed) - len(written))
    thread = _thread(written, entry.get("current_leaf_message_uuid"), reading)
    left_out.add("another branch", len(written) - len(thread))
    messages = [found for message in thread for found in _spoken(message, reading, left_out)]
    at = _instant(entry.get("created_at"), reading) or next((message.at for message in messages if message.at), None)
    name = entry.get("uuid")
    if not messages:
        yield Skipped(what=_title(entry), reason="no message with words")
    elif not isinstance(name, str) or not name:
        yield Skipped(what=_title(entry), reason="no id")
    else:
        yield Conversation(id=name, at=at, messages=tuple(messages), left_out=left_out.counts())


def _thread(messages: Sequence[Mapping[str, Any]], leaf: object, reading: Reading) -> Sequence[Mapping[str, Any]]:
    if not all(isinstance(message.get("uuid"), str) for message in messages):
        return messages
    if not any(message.get("parent_message_uuid") for message in messages):
        return messages
    by_id = {message["uuid"]: message for message in messages}
    parents = {name: message.get("parent_message_uuid") for name, message in by_id.items()}
    if not isinstance(leaf, str) or leaf not in by_id:
        instants = {name: _instant(message.get("created_at"), reading) for name, message in by_id.items()}
        leaf = last_leaf(parents, {name: at.timestamp() for name, at in instants.items() if at})
    return [by_id[name] for name in thread_to(leaf or "", parents)]


def _spoken(message: Mapping[str, Any], reading: Reading, left_out: LeftOut) -> Iterator[Message]:
    left_out.add("attachment", sum(len(found) for key in ("attachments", "files") if (found := message.get(key))))
    role = _ROLES.get(str(message.get("sender")))
    if role is None:
        left_out.add("system message")
        return
    words = _words(message, left_out)
    if words.strip():
        yield spoken(role, words, _instant(message.get("created_at"), reading))


def _words(message: Mapping[str, Any], left_out: LeftOut) -> str:
    content = message.get("content")
    found: list[str] = []
    for part in content if isinstance(content, list) else ():
        kind, text = (part.get("type"), part.get("text")) if isinstance(part, Mapping) else (None, None)
        if kind == "text" and isinstance(text, str):
            found.append(text)
        elif kind != "text":
            left_out.add(_REASONS.get(str(kind), "attachment"))
    if any(part.strip() for part in found):
        return "\n".join(found)
    # Older exports have no parts; newer ones repeat in `text` what the parts hold, tool calls as placeholders included.
    text = message.get("text")
    return text if isinstance(text, str) and not content else ""


def _title(entry: object) -> str:
    title = (entry.get("name") or entry.get("uuid")) if isinstance(entry, Mapping) else None
    return mended_text(title) if isinstance(title, str) and title else repr(entry)[:80]


def _instant(stamp: object, reading: Reading) -> datetime | None:
    if not isinstance(stamp, str):
        return None
    try:
        return parse_instant(stamp, "the time", reading.zone)
    except InputError:  # an odd time is no reason to lose what was said
        return None


IMPORTER = Importer(name="claude", title="Claude account export", claims=_claims, read=_read)
