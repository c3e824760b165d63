"""A session cut into parts that one call can take.

In go messages and a size; out come `Part`s of numbered pieces. Only what the person and the assistant said is in them:
system and tool messages are not about the person, and what was recalled from memory is known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prospection.types import CHARACTERS_PER_TOKEN, Message

__all__ = ["Part", "Piece", "cut_into_parts", "halves"]

_CONTEXT_CHARS = 2000
_SMALLEST = 400
"""Pieces of fewer characters are not cut further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A message, or a stretch of a long one, with its place in the session."""

    place: int
    speaker: str
    text: str

    @property
    def line(self) -> str:
        """The piece as the model sees it."""
        return f"[{self.place}] {self.speaker}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Neighbouring pieces, and the end of what came before them as context."""

    pieces: tuple[Piece, ...]
    earlier: str

    @property
    def has_user(self) -> bool:
        """Whether the person says anything in it."""
        return any(piece.speaker.startswith("user") for piece in self.pieces)


def cut_into_parts(messages: Sequence[Message], start: int, max_tokens: int) -> list[Part]:
    """Cut the messages from `start` on into parts of at most about `max_tokens`, at four characters a token.

    Messages before `start` appear as context only. A message that is too long for a part is cut at a line or a word.
    `[]` when nothing is left to extract.
    """
    size = max_tokens * CHARACTERS_PER_TOKEN
    spoken = [
        Piece(place=place, speaker=_speaker(message), text=message.content)
        for place, message in enumerate(messages)
        if message.role in ("user", "assistant") and not message.recalled
    ]
    earlier = [piece for piece in spoken if piece.place < start]
    parts: list[Part] = []
    current: list[Piece] = []
    for piece in (short for long in spoken[len(earlier) :] for short in _cut(long, size)):
        if current and sum(len(each.text) for each in current) + len(piece.text) > size:
            parts.append(Part(pieces=tuple(current), earlier=_tail(earlier)))
            earlier += current
            current = []
        current.append(piece)
    return [*parts, Part(pieces=tuple(current), earlier=_tail(earlier))] if current else parts


def halves(part: Part) -> tuple[Part, Part] | None:
    """Cut a part in two of about the same length; None when it is too short for that."""
    pieces = list(part.pieces)
    if len(pieces) == 1:
        pieces = _cut(pieces[0], max(_SMALLEST, -(-len(pieces[0].text) // 2)))
    if len(pieces) == 1:
        return None
    total = sum(len(piece.text) for piece in pieces)
    middle, length = 1, len(pieces[0].text)
    while middle < len(pieces) - 1 and length + len(pieces[middle].text) / 2 <= total / 2:
        length += len(pieces[middle].text)
        middle += 1
    first, second = pieces[:middle], pieces[middle:]
    return (
        Part(pieces=tuple(first), earlier=part.earlier),
        Part(pieces=tuple(second), earlier=_tail(first)),
    )


def _cut(piece: Piece, size: int) -> list[Piece]:
    cut: list[Piece] = []
    text = piece.text
    while len(text) > size:
        # Not in the first half, or a part would shrink to nothing.
        end = max(text.rfind("\n", size // 2, size), text.rfind(" ", size // 2, size)) + 1 or size
        cut.append(Piece(place=piece.place, speaker=piece.speaker, text=text[:end]))
        text = text[end:]
    return [*cut, Piece(place=piece.place, speaker=piece.speaker, text=text)] if text else cut


def _tail(pieces: Sequence[Piece]) -> str:
    text = "\n".join(piece.line for piece in pieces)
    return text if len(text) <= _CONTEXT_CHARS else "... " + text[-_CONTEXT_CHARS:]


def _speaker(message: Message) -> str:
    return f"{message.role} ({message.name})" if message.name else message.role
