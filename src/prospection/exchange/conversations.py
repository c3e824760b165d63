"""What importers give and take.

An importer turns one piece of a file (a JSON value, or the file's whole text) into `Conversation`s and `Skipped`s. It
is a plain function: it opens nothing, writes nothing and reads no clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeAlias

from prospection.types import Message, Role, aware_utc, mended_text

__all__ = ["Conversation", "Importer", "LeftOut", "Opening", "Reading", "Skipped", "local_instant", "spoken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation as an export holds it.

    Attributes:
        id: The export's own name for it, the same in every export of that account.
        at: When it began; None where the export does not say.
        messages: What was said; at least one.
        left_out: How much of it is not among the messages, by reason: {"another branch": 4}.
        person: Whose it is, in files that hold several people; None in an account's export.
    """

    id: str
    at: datetime | None
    messages: tuple[Message, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    person: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """An entry that is not imported.

    Attributes:
        what: Names it for a reader.
        reason: One of few, so that it can be counted.
    """

    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read what a file leaves open.

    Attributes:
        zone: Where times without a zone were written down.
        speaker: Which speaker is the person, in files that name speakers.
        name: What the file is called, with its folders below the one that is imported.
    """

    zone: tzinfo = UTC
    speaker: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a file begins: its first JSON values (none where it is not JSON) and its first characters."""

    values: Sequence[Any]
    text: str


Found: TypeAlias = Conversation | Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """One layout.

    Attributes:
        name: For the command line: "chatgpt".
        title: For people: "ChatGPT account export".
        claims: Whether a file that begins like this is of this layout.
        read: Conversations and skipped entries of one piece, in its order.
        whole: A piece is the file's whole text, as str. Otherwise pieces are its JSON values, one at a time: the items
            of a list at the top, or values that follow one another (JSONL).
    """

    name: str
    title: str
    claims: Callable[[Opening], bool]
    read: Callable[[Any, Reading], Iterator[Found]]
    whole: bool = False


class LeftOut:
    """Counts what of a conversation is left out, by reason."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, reason: str, count: int = 1) -> None:
        """Count `count` more."""
        if count:
            self._counts[reason] += count

    def counts(self) -> dict[str, int]:
        """Return the counts, in the order in which the reasons first came up."""
        return dict(self._counts)


def spoken(role: Role, content: str, at: datetime | None = None, name: str | None = None) -> Message:
    """Return a message as it is imported.

    Exports cut texts in the middle of surrogate pairs; half a character cannot be stored and becomes U+FFFD.
    """
    return Message(role=role, content=mended_text(content), name=name, at=at)


def local_instant(stamp: object, form: str, reading: Reading) -> datetime | None:
    """Return the instant of a time that was written down without a zone; None when it is not of the form.

    Args:
        form: As for `datetime.strptime`.
    """
    try:
        parsed = datetime.strptime(str(stamp).strip(), form)  # noqa: DTZ007 - the zone follows
    except ValueError:  # an odd time is no reason to lose what was said
        return None
    return aware_utc(parsed.replace(tzinfo=reading.zone))
