"""One conversation as JSON or JSONL: a list of messages with "role" and "content", or one message a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prospection.errors import InputError
from prospection.exchange.conversations import Found, Importer, Opening, Reading, Skipped
from prospection.exchange.formats.conversations import as_imported
from prospection.remember.conversation import parse_file

__all__ = ["IMPORTER"]


def _claims(opening: Opening) -> bool:
    return any(isinstance(value, Mapping) and "role" in value for value in opening.values)


def _read(text: str, reading: Reading) -> Iterator[Found]:
    try:
        transcripts = parse_file(text, zone=reading.zone)
    except InputError as error:
        yield Skipped(what=str(error), reason="not a conversation")
    else:
        yield from map(as_imported, transcripts)


IMPORTER = Importer(name="messages", title="messages as JSON or JSONL", claims=_claims, read=_read, whole=True)
