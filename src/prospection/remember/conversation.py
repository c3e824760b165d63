"""From what callers pass to messages and sessions.

In go the message dicts that every chat API uses, or the text of a conversation file; out come `Message`, `Session` and
`Transcript` values. It reads no file and no clock, and nothing that was said is changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from prospection.errors import ConversationError
from prospection.remember.instants import parse_instant, zone_named
from prospection.types import Message, Role, Session, aware_utc, whole_text

__all__ = ["Transcript", "as_session", "default_session_id", "parse_file", "parse_messages", "parse_value"]

_ROLES: Mapping[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "developer": "system",
    "function": "tool",
}
_TIMES = ("at", "timestamp", "created_at")
_LISTS = ("messages", "turns", "conversation")
_IDS = ("session_id", "session", "id", "conversation_id", "uuid")
_DATES = ("at", "date", "timestamp", "created_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A conversation as a file holds it.

    Attributes:
        id: The file's name for it, or else one derived from its content.
        at: When it took place, in UTC; None where the file does not say.
    """

    id: str
    at: datetime | None
    messages: tuple[Message, ...]


def as_session(
    messages: object,
    *,
    at: datetime,
    id: str | None = None,  # noqa: A002 - the name of the field
    zone: str | None = None,
) -> Session:
    """Turn what a caller passes into a session.

    Args:
        messages: As for `parse_messages`.
        at: When the conversation took place.
        id: A name for it; by default one derived from its content and the day.
        zone: IANA name of the person's time zone.

    Raises:
        ConversationError: As `parse_messages`, or the id is empty.
        NaiveTimeError: A time has no zone.
        UnknownNameError: There is no such time zone.
    """
    parsed = parse_messages(messages)
    at = aware_utc(at, "at")
    if zone is not None:
        zone_named(zone)
    if id is not None and not whole_text(id, "the session's id").strip():
        raise ConversationError(f"the session's id is {id!r}; name it, or leave the id out to have one derived")
    return Session(id=id or default_session_id(parsed, at), at=at, messages=parsed, zone=zone)


def parse_messages(messages: object, *, zone: tzinfo | None = None) -> tuple[Message, ...]:
    """Turn what a caller passes into messages.

    Args:
        messages: A sequence of dicts with "role" and "content", optionally "name" and "at" (or "timestamp",
            "created_at"), or of `Message` values. Content is text or a list of parts, of which the text is taken.
            Messages that hold no text at all (an image, a tool call) are left out.
        zone: Where times without a zone were written down; None refuses them.

    Raises:
        ConversationError: It is not such a sequence, holds no text, or a message lacks a role or content.
        NaiveTimeError: A message's time has no zone.
    """
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise ConversationError(
            f"a conversation is a list of messages like {{'role': 'user', 'content': '...'}}, not {_short(messages)}"
        )
    if not messages:
        raise ConversationError("the conversation is empty; pass at least one message")
    found = [parsed for place, item in enumerate(messages) if (parsed := _message(item, place, zone)).content.strip()]
    if not found:
        raise ConversationError("no message of the conversation holds text; pass at least one that does")
    return tuple(found)


def parse_file(text: str, *, zone: tzinfo = UTC) -> list[Transcript]:
    """Read the conversations of a JSON or JSONL file.

    The file is a list of messages; an object with "messages" (or "turns") and optionally "id" and "date"; a list of
    such objects, alone or under "sessions"; or one message or one such object a line.

    Args:
        text: The content of the file.
        zone: Where times without a zone were written down.

    Returns:
        The conversations in the order of the file, at least one.

    Raises:
        ConversationError: The text is none of these, or a conversation in it cannot be used.
    """
    return parse_value(_load(text), zone=zone)


def parse_value(data: object, *, zone: tzinfo = UTC) -> list[Transcript]:
    """Read the conversations of a JSON value, as `parse_file` does those of a text.

    Raises:
        ConversationError: It is none, or a conversation in it cannot be used.
    """
    if isinstance(data, Mapping) and isinstance(data.get("sessions"), list):
        data = data["sessions"]
        if not data:
            raise ConversationError("the file's list of sessions is empty; put a conversation into it")
    if not isinstance(data, list) or not data or not all(_has_messages(item) for item in data):
        return [_transcript(data, zone)]
    found: list[Transcript] = []
    for place, item in enumerate(data, start=1):
        try:
            found.append(_transcript(item, zone))
        except ConversationError as error:
            raise ConversationError(f"conversation {place} of {len(data)}: {error}") from error
    return found


def default_session_id(messages: Sequence[Message], at: datetime | None = None) -> str:
    """Name a conversation by its content and its UTC day: the same on the same day is the same session."""
    digest = hashlib.sha256()
    parts = [at.astimezone(UTC).date().isoformat()] if at else []
    parts += [f"{message.role}\x1f{message.name or ''}\x1f{message.content}" for message in messages]
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\x1e")
    return f"s-{digest.hexdigest()[:16]}"


def _message(item: object, place: int, zone: tzinfo | None) -> Message:
    if isinstance(item, Message):
        if item.at is not None:
            aware_utc(item.at, f"the time of message {place}")
        return item
    if not isinstance(item, Mapping):
        raise ConversationError(f"message {place} is {_short(item)}; it must be a dict with 'role' and 'content'")
    role, name = item.get("role"), item.get("name")
    if not isinstance(role, str):
        raise ConversationError(f"message {place} has no 'role': {_short(item)}; say who speaks, for example 'user'")
    if role.lower() not in _ROLES:
        raise ConversationError(f"message {place} has the unknown role {role!r}; known: {', '.join(_ROLES)}")
    stamp = _first(item, _TIMES)
    return Message(
        role=_ROLES[role.lower()],
        content=_content(item, place),
        name=name if isinstance(name, str) and name else None,
        at=None if stamp is None else parse_instant(stamp, f"the time of message {place}", zone),
        recalled=item.get("recalled") is True,
    )


def _content(item: Mapping[str, Any], place: int) -> str:
    if "content" not in item:
        raise ConversationError(f"message {place} has no 'content': {_short(item)}; put the text there")
    content = item["content"]
    if content is None:  # an assistant message that only calls a tool
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(text for part in content if (text := _text(part)))
    raise ConversationError(
        f"the content of message {place} is {_short(content)}; it must be text, or a list of parts like "
        "{'type': 'text', 'text': '...'}"
    )


def _text(part: object) -> str:
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else ""


def _load(text: str) -> Any:  # noqa: ANN401 - JSON data
    text = text.removeprefix("\ufeff").strip()
    if not text:
        raise ConversationError("the file is empty; it must hold a conversation as JSON or JSONL")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) == 1 or not lines[0].rstrip().endswith("}"):
            raise _not_json(error, f"line {error.lineno}") from error
        return [_load_line(line, number) for number, line in enumerate(lines, start=1)]
    return [data] if isinstance(data, Mapping) and "role" in data else data


def _load_line(line: str, number: int) -> Any:  # noqa: ANN401 - JSON data
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise _not_json(error, f"line {number}") from error


def _not_json(error: json.JSONDecodeError, where: str) -> ConversationError:
    return ConversationError(f"the file is not JSON: {error.msg} in {where}, column {error.colno}; correct it there")


def _has_messages(item: object) -> bool:
    return isinstance(item, Mapping) and any(isinstance(item.get(key), list) for key in _LISTS)


def _transcript(data: object, zone: tzinfo) -> Transcript:
    if not isinstance(data, Mapping):
        messages = parse_messages(data, zone=zone)
        at = next((message.at for message in messages if message.at), None)
        return Transcript(id=default_session_id(messages), at=at, messages=messages)
    found = next((data[key] for key in _LISTS if isinstance(data.get(key), list)), None)
    if found is None:
        raise ConversationError(
            f"{_short(data)} is not a conversation; it must be a list of messages or hold 'messages'"
        )
    messages = parse_messages(found, zone=zone)
    at = _date(data, zone) or next((message.at for message in messages if message.at), None)
    name = _first(data, _IDS)
    named = isinstance(name, str | int) and str(name).strip()
    return Transcript(id=str(name) if named else default_session_id(messages, at), at=at, messages=messages)


def _date(data: Mapping[str, Any], zone: tzinfo) -> datetime | None:
    stamp, clock = _first(data, _DATES), data.get("time")
    if stamp is None:
        return None
    if isinstance(stamp, str) and isinstance(clock, str) and "T" not in stamp:
        stamp = f"{stamp.strip()}T{clock.strip()}"
    return parse_instant(stamp, "the date", zone)


def _first(item: Mapping[str, Any], keys: Sequence[str]) -> Any:  # noqa: ANN401 - JSON data
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
