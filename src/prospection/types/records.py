"""Memory as it lies in a store: what a user has, as it moves between stores, and what has no vector yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from prospection.types.conversations import SessionRecord
from prospection.types.facts import Fact, Source, Vectors
from prospection.types.recalls import Trace

__all__ = ["FactRecord", "Record", "Unembedded", "UserRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord:
    """What a store knows of a user beside sessions, facts and traces.

    Attributes:
        facts: The number given last: the next fact is "f" and one more.
        consolidated: Number of the last fact that has been looked at for merging.
    """

    facts: int = 0
    consolidated: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRecord:
    """A fact as it lies in a store.

    Attributes:
        own: Where it itself was said, without what it inherited from the facts it replaced.
        vectors: (1 + c, d) float32 unit rows of its statement and its cues; None where they have to be made.
    """

    fact: Fact
    own: tuple[Source, ...]
    vectors: Vectors | None = field(default=None, compare=False)


Record: TypeAlias = UserRecord | SessionRecord | FactRecord | Trace
"""One of the things that all together are a user's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A statement or a cue that has no vector of some encoder yet.

    Attributes:
        place: Where the store has it; only the store can read this.
    """

    place: tuple[int, int]
    text: str
