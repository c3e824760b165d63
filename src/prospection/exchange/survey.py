"""What an export holds: a first reading that keeps only where each conversation stands and when it took place.

In go the parts of an export; out comes a `Survey`, from which conversations are read again one by one, oldest first:
exports come in any order, most of them newest first, and memory has to learn of a life in the order in which it was
lived. Memory is bounded by the largest conversation and a few hundred bytes for each. Never writes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO

from prospection.errors import ConversationError
from prospection.exchange.conversations import Conversation, Found, Importer, Reading, Skipped
from prospection.exchange.formats import detect, importer_named
from prospection.exchange.json_stream import JsonValue, json_values
from prospection.exchange.sources import Part
from prospection.protocols import Progress

__all__ = ["Entry", "Survey", "Wanted", "survey"]

_OPEN_FILES = 64
"""Files of an export that are open at once while conversations are read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which conversations to take.

    Attributes:
        layout: Name of the files' layout; None to tell it from their content.
        person: Whose conversations, in files that hold several people.
        at: When conversations took place that do not say; None: when their file was written.
        since: From this instant on.
        until: Before this instant.
    """

    layout: str | None = None
    person: str | None = None
    at: datetime | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a conversation stands: the `place`-th of the piece in bytes [start, end) of a part."""

    at: datetime
    id: str
    messages: int
    part: int
    start: int
    end: int
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What an export holds of what is wanted.

    Attributes:
        entries: The conversations, oldest first; those of the same instant in the order of the files.
        skipped: What is not among them, and why.
        left_out: What is left out of the conversations, by reason.
        titles: The layouts found.
        size: Bytes read.
    """

    parts: Sequence[tuple[Part, Importer, Reading]]
    entries: Sequence[Entry]
    skipped: Sequence[Skipped]
    left_out: Mapping[str, int]
    titles: Sequence[str]
    size: int

    def conversations(self) -> Generator[Conversation]:
        """Read the conversations again, in the order of the entries."""
        piece: tuple[int, int] | None = None
        found: list[Found] = []
        with ExitStack() as stack:
            files: dict[int, BinaryIO] = {}

            def opened(number: int) -> BinaryIO:
                if number not in files:
                    if len(files) >= _OPEN_FILES:
                        stack.close()
                        files.clear()
                    files[number] = stack.enter_context(self.parts[number][0].open())
                return files[number]

            for entry in self.entries:
                _, importer, reading = self.parts[entry.part]
                if piece != (entry.part, entry.start):
                    file = opened(entry.part)
                    file.seek(entry.start)
                    text = file.read(entry.end - entry.start).decode("utf-8-sig")
                    value = text if importer.whole else json.loads(text, strict=False)
                    found, piece = list(importer.read(value, reading)), (entry.part, entry.start)
                conversation = found[entry.place]
                assert isinstance(conversation, Conversation)  # noqa: S101 - readers are functions of the text
                yield replace(conversation, at=entry.at)


def survey(parts: Sequence[Part], reading: Reading, wanted: Wanted, progress: Progress | None = None) -> Survey:
    """Read through an export.

    Args:
        parts: Its files.
        reading: Zone and speaker.
        wanted: Which conversations.
        progress: Called with (bytes read, bytes in all).

    Raises:
        ConversationError: A file cannot be read or is of no known layout (in a folder of several it is skipped), or the
            files hold several people and none of them is named.
    """
    surveyor = _Surveyor(wanted)
    total = sum(part.size for part in parts)
    chosen: list[tuple[Part, Importer, Reading]] = []
    done = 0
    for part in parts:
        with part.open() as file, _named(part):
            importer = importer_named(wanted.layout) if wanted.layout else detect(file)
            if importer is None and len(parts) == 1:
                raise ConversationError(
                    "it is of no known layout; name one with --format, or convert it to JSON: "
                    "[{'role': 'user', 'content': '...'}, ...]"
                )
            if importer is None:
                surveyor.skipped.append(Skipped(what=part.name, reason="file of no known layout"))
            else:
                chosen.append((part, importer, replace(reading, name=part.name)))
                for value in _pieces(file, importer):
                    surveyor.note(len(chosen) - 1, part, value, importer.read(value.data, chosen[-1][2]))
                    if progress:
                        progress(done + value.end, total)
        done += part.size
        if progress:
            progress(done, total)
    return Survey(
        parts=chosen,
        entries=surveyor.entries(),
        skipped=surveyor.skipped,
        left_out=dict(surveyor.left_out),
        titles=sorted({importer.title for _, importer, _ in chosen}),
        size=total,
    )


@contextmanager
def _named(part: Part) -> Iterator[None]:
    try:
        yield
    except ConversationError as error:
        raise ConversationError(f"{part.name!r}: {error}") from error


def _pieces(file: BinaryIO, importer: Importer) -> Iterator[JsonValue]:
    if not importer.whole:
        yield from json_values(file)
        return
    data = file.read()
    try:
        yield JsonValue(data.decode("utf-8-sig"), 0, len(data))
    except UnicodeDecodeError as error:
        raise ConversationError("the file is not text in UTF-8; save it as UTF-8") from error


class _Surveyor:
    """Gathers entries and what is skipped."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._entries: list[Entry] = []
        self._persons: dict[str, None] = {}
        self.skipped: list[Skipped] = []
        self.left_out: Counter[str] = Counter()

    def note(self, number: int, part: Part, value: JsonValue, found: Iterator[Any]) -> None:
        for place, item in enumerate(found):
            if isinstance(item, Skipped):
                self.skipped.append(item)
                continue
            at = item.at or self._wanted.at or part.modified
            if reason := self._unwanted(item, at):
                self.skipped.append(Skipped(what=item.id, reason=reason))
                continue
            self._entries.append(Entry(at, item.id, len(item.messages), number, value.start, value.end, place))
            self.left_out.update(item.left_out)

    def _unwanted(self, item: Conversation, at: datetime) -> str | None:
        wanted = self._wanted
        if wanted.person is not None and item.person != wanted.person:
            return "another person's"
        if wanted.since is not None and at < wanted.since:
            return "before the time wanted"
        if wanted.until is not None and at >= wanted.until:
            return "after the time wanted"
        if item.person is not None:
            self._persons[item.person] = None
        return None

    def entries(self) -> list[Entry]:
        if len(self._persons) > 1:
            names = list(self._persons)
            raise ConversationError(
                f"the file holds conversations of {len(names)} people: {', '.join(names[:12])}"
                f"{', ...' if len(names) > 12 else ''}; name one of them with --person"
            )
        kept: list[Entry] = []
        seen: set[str] = set()
        for entry in sorted(self._entries, key=lambda entry: entry.at):
            if entry.id in seen:
                self.skipped.append(Skipped(what=entry.id, reason="in the export twice"))
            else:
                seen.add(entry.id)
                kept.append(entry)
        return kept
