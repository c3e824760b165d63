"""What is known about a person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BY_HAND", "Candidate", "Cue", "EventTime", "Fact", "FactType", "Precision", "Source", "Vectors"]

Vectors: TypeAlias = "NDArray[Any]"
"""An (n, d) float32 array of unit rows, or one (d,) row of it."""

BY_HAND = "by hand"
"""The session that facts written by a person's own hand name as their source. No conversation may bear this name."""


class FactType(StrEnum):
    """The six kinds of memory facts (paper, section 3.2)."""

    IDENTITY = "Identity"
    PREFERENCE = "Preference"
    GOAL = "Goal"
    INTEREST = "Interest"
    ACTIVITY = "Activity"
    EVENT = "Event"


class Precision(StrEnum):
    """How exactly an event's time is known."""

    MINUTE = "minute"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"
    RANGE = "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTime:
    """When something happened or will happen: the half-open interval [start, end) and how exactly it is known.

    Attributes:
        zone: IANA name of the zone in which its days begin and end; None for UTC.
    """

    start: datetime
    end: datetime
    precision: Precision
    zone: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact was said.

    Attributes:
        session: Id of the session.
        message: Position of the message in the session, from 0; None when only the session is known.
        quote: The words it was drawn from, as they stand in the message.
    """

    session: str
    message: int | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """A short description of a future situation in which a fact will matter. `weight` in (0, 1] scales its cosine."""

    text: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A fact that has been extracted and not yet been stored. It has no id: ids are the store's to give.

    Attributes:
        pinned: See `Fact.pinned`. Only a person pins; nothing that is extracted comes pinned.
    """

    info: str
    type: FactType
    related_entities: tuple[str, ...] = ()
    provenance: tuple[Source, ...] = ()
    event_time: EventTime | None = None
    cues: tuple[Cue, ...] = ()
    pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One atomic statement about a person (paper, section 3.2).

    Attributes:
        fid: "f1", "f2", ... in the order of arrival, per user; for foreign stores, their own id.
        info: The statement, in the person's own language.
        type: One of the six kinds; None where a foreign store does not say.
        frequency: In how many conversations it was said, those of the facts it replaced included.
        provenance: Where it was said, those of the facts it replaced included, oldest fact first.
        said_at: When it was last said.
        valid_from: From when on it has been part of memory. With `valid_until` a half-open interval.
        valid_until: Since when a later fact has replaced it; None while it is current.
        supersedes: Ids of the facts this one replaced (one for a revision, several for a merge).
        superseded_by: Id of the fact that replaced this one; None also for one that was closed by hand.
        pinned: A person wants it kept in view: it heads every context, and only a person replaces it.
    """

    fid: str
    info: str
    type: FactType | None = None
    frequency: int = 1
    related_entities: tuple[str, ...] = ()
    provenance: tuple[Source, ...] = ()
    said_at: datetime | None = None
    event_time: EventTime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    cues: tuple[Cue, ...] = ()
    pinned: bool = False
