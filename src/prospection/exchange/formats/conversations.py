"""Plain conversations as JSON or JSONL: objects with "messages" (or "turns"), each optionally with "id" and "date".

They stand in a list, one a line, alone, or under "sessions". What `prospection add` reads, this reads as well, one
conversation at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prospection.errors import InputError
from prospection.exchange.conversations import Conversation, Found, Importer, Opening, Reading, Skipped, spoken
from prospection.remember.conversation import Transcript, parse_value
from prospection.types import Message

__all__ = ["IMPORTER", "as_imported"]

_LISTS = ("messages", "turns", "conversation", "sessions")


def _claims(opening: Opening) -> bool:
    return any(
        isinstance(value, Mapping) and any(isinstance(value.get(key), list) for key in _LISTS)
        for value in opening.values
    )


def _read(entry: Any, reading: Reading) -> Iterator[Found]:  # noqa: ANN401 - JSON data
    sessions = entry.get("sessions") if isinstance(entry, Mapping) else None
    for item in sessions if isinstance(sessions, list) else [entry]:
        try:
            transcripts = parse_value([item], zone=reading.zone)
        except InputError as error:
            yield Skipped(what=str(error), reason="not a conversation")
        else:
            yield from map(as_imported, transcripts)


def as_imported(transcript: Transcript) -> Conversation:
    """Return a transcript as a conversation whose texts can be stored."""
    return Conversation(id=transcript.id, at=transcript.at, messages=tuple(map(_clean, transcript.messages)))


def _clean(message: Message) -> Message:
    if message.recalled:  # what came out of memory stays marked
        return message
    return spoken(message.role, message.content, message.at, message.name)


IMPORTER = Importer(name="conversations", title="conversations as JSON or JSONL", claims=_claims, read=_read)
