"""Columns to values and back: instants, fact ids, users, facts.

Reads facts by number with all that belongs to them. Never writes.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prospection.errors import InputError
from prospection.types import Cue, EventTime, Fact, FactType, Precision, Source, aware_utc

__all__ = [
    "User",
    "fid",
    "find_user",
    "instant",
    "list_facts",
    "list_users",
    "load_facts",
    "microseconds",
    "number",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class User:
    """A row of users."""

    uid: int
    facts: int
    revision: int
    generation: int


def find_user(connection: sqlite3.Connection, name: str) -> User | None:
    """Return the user of that name, or None."""
    row = connection.execute("SELECT uid, facts, revision, generation FROM users WHERE name = ?", (name,)).fetchone()
    return User(*row) if row else None


def microseconds(time: datetime) -> int:
    """Return an aware instant as microseconds since 1970 UTC.

    Raises:
        NaiveTimeError: It has no zone.
    """
    return (aware_utc(time) - _EPOCH) // _MICROSECOND


def instant(value: int | None) -> datetime | None:
    """Return what `microseconds` was given, in UTC."""
    return None if value is None else _EPOCH + value * _MICROSECOND


def fid(fact: int) -> str:
    """Return the id of fact number `fact`."""
    return f"f{fact}"


def number(fact_id: str) -> int | None:
    """Return the number in a fact's id; None when no fact can have that id."""
    return int(fact_id[1:]) if re.fullmatch(r"f[1-9][0-9]{0,17}", fact_id) else None


def list_users(connection: sqlite3.Connection, after: str | None, limit: int) -> list[str]:
    """Return a page of the names of users in the order of code points, after the one named."""
    rows = connection.execute(
        "SELECT name FROM users WHERE name > ? ORDER BY name LIMIT ?", (after or "", max(limit, 0))
    )
    return [row[0] for row in rows]


def list_facts(
    connection: sqlite3.Connection,
    uid: int,
    *,
    history: bool,
    session: str | None,
    pinned: bool,
    after: str | None,
    limit: int,
) -> list[int]:
    """Return a page of the numbers of a user's facts, in order, after the one named; see `FactLedger.facts`.

    Raises:
        InputError: `after` is no id of a fact.
    """
    start = 0 if after is None else number(after)
    if start is None:
        raise InputError(f"{after!r} is not the id of a fact to go on after; ids look like {fid(1)!r}")
    rows = connection.execute(
        "SELECT fact FROM facts f WHERE uid = ?1 AND fact > ?2 AND (?3 OR valid_until IS NULL)"
        " AND (NOT ?4 OR pinned) AND (?5 IS NULL OR EXISTS (SELECT 1 FROM sources s"
        " WHERE s.uid = ?1 AND s.fact = f.fact AND s.session = ?5)) ORDER BY fact LIMIT ?6",
        (uid, start, history, pinned, session, max(limit, 0)),
    )
    return [row[0] for row in rows]


def load_facts(connection: sqlite3.Connection, uid: int, facts: Sequence[int]) -> dict[int, Fact]:
    """Return the user's facts of these numbers, missing ones left out."""
    chosen = (uid, json.dumps(list(facts)))
    sources = _sources(connection, chosen)
    cues = _cues(connection, chosen)
    replaced = _replaced(connection, chosen)
    rows = connection.execute(
        "SELECT fact, info, type, entities, said_at, event_start, event_end, event_precision, event_zone,"
        " valid_from, valid_until, superseded_by, pinned FROM facts"
        " WHERE uid = ? AND fact IN (SELECT value FROM json_each(?))",
        chosen,
    )
    found = {}
    for fact, info, kind, entities, said_at, start, end, precision, zone, *valid, successor, pinned in rows:
        found[fact] = Fact(
            fid=fid(fact),
            info=info,
            type=FactType(kind),
            frequency=max(len({source.session for source in sources[fact]}), 1),
            related_entities=tuple(json.loads(entities)),
            provenance=tuple(dict.fromkeys(sources[fact])),
            said_at=instant(said_at),
            event_time=_event_time(start, end, precision, zone),
            valid_from=instant(valid[0]),
            valid_until=instant(valid[1]),
            supersedes=tuple(replaced[fact]),
            superseded_by=None if successor is None else fid(successor),
            cues=tuple(cues[fact]),
            pinned=bool(pinned),
        )
    return found


def _sources(connection: sqlite3.Connection, chosen: tuple[int, str]) -> dict[int, list[Source]]:
    """Return what each fact stands on, what it inherits from the facts that it replaced included."""
    sources: dict[int, list[Source]] = defaultdict(list)
    for fact, session, message, quote in connection.execute(
        # A row stands at the fact that was said; what replaced it inherits it.
        "WITH RECURSIVE line (fact, origin) AS (SELECT value, value FROM json_each(?2)"
        " UNION SELECT line.fact, f.fact FROM line JOIN facts f ON f.uid = ?1 AND f.superseded_by = line.origin)"
        " SELECT line.fact, s.session, s.message, s.quote FROM line JOIN sources s"
        " ON s.uid = ?1 AND s.fact = line.origin ORDER BY line.fact, line.origin, s.position",
        chosen,
    ):
        sources[fact].append(Source(session=session, message=message, quote=quote))
    return sources


def _cues(connection: sqlite3.Connection, chosen: tuple[int, str]) -> dict[int, list[Cue]]:
    cues: dict[int, list[Cue]] = defaultdict(list)
    for fact, text, weight in connection.execute(
        "SELECT fact, text, weight FROM cues"
        " WHERE uid = ? AND fact IN (SELECT value FROM json_each(?)) ORDER BY fact, cue",
        chosen,
    ):
        cues[fact].append(Cue(text=text, weight=weight))
    return cues


def _replaced(connection: sqlite3.Connection, chosen: tuple[int, str]) -> dict[int, list[str]]:
    """Return the ids of the facts that each fact replaced."""
    replaced: dict[int, list[str]] = defaultdict(list)
    for fact, old in connection.execute(
        "SELECT superseded_by, fact FROM facts"
        " WHERE uid = ? AND superseded_by IN (SELECT value FROM json_each(?)) ORDER BY fact",
        chosen,
    ):
        replaced[fact].append(fid(old))
    return replaced


def _event_time(start: int | None, end: int | None, precision: str | None, zone: str | None) -> EventTime | None:
    first, last = instant(start), instant(end)
    if first is None or last is None or precision is None:
        return None
    return EventTime(start=first, end=last, precision=Precision(precision), zone=zone)
