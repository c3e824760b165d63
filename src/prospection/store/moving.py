"""Everything a user has, out of one store and into another, to the last detail.

`dump` pages through records in an order in which `restore` takes them: the user, then sessions and facts in the order
of arrival, then traces, oldest first. `restore` writes records as they are and derives only the index of words. Both
run inside the caller's transaction; vectors are the caller's to make.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from prospection.errors import ConflictError, InputError, StoreError
from prospection.serial import from_text
from prospection.store.fact_rows import write_cues, write_fact, write_sources, write_vectors
from prospection.store.intake import check_name, list_sessions, load_session, user_for_writing, write_messages
from prospection.store.rows import User, find_user, load_facts, microseconds, number
from prospection.store.traces import load_trace, put_trace
from prospection.store.vectors import Encoder, pack
from prospection.types import FactRecord, Record, SessionRecord, SessionState, Source, Trace, UserRecord

__all__ = ["dump", "restore"]


def dump(connection: sqlite3.Connection, name: str, after: Record | None, limit: int) -> list[Record]:
    """Return a page of a user's records after the one seen last; `[]` when there are no more.

    Raises:
        InputError: The record to go on after is not there.
    """
    user = find_user(connection, name)
    if user is None:
        return []
    if after is None:
        (done,) = connection.execute("SELECT consolidated FROM users WHERE uid = ?", (user.uid,)).fetchone()
        return [UserRecord(facts=user.facts, consolidated=done)]
    if isinstance(after, UserRecord | SessionRecord):
        last = after.session.id if isinstance(after, SessionRecord) else None
        if sessions := list_sessions(connection, user.uid, frozenset(SessionState), last, limit):
            return list(sessions)
    if not isinstance(after, Trace):
        start = number(after.fact.fid) if isinstance(after, FactRecord) else 0
        if facts := _facts(connection, user.uid, start or 0, limit):
            return list(facts)
    return list(_traces(connection, user.uid, after.id if isinstance(after, Trace) else None, limit))


def restore(connection: sqlite3.Connection, name: str, records: Sequence[Record], encoder: Encoder | None) -> None:
    """Write records of a user, leaving those alone that are held already just as they are.

    A session that was being extracted when it was dumped waits for extraction again.

    Raises:
        ConflictError: Something else is held in a record's place.
        StoreError: A fact comes without vectors, or the store was opened without an encoder.
    """
    user = user_for_writing(connection, name)
    revision = user.revision + 1
    for record in records:
        match record:
            case UserRecord():
                _restore_user(connection, user, name, record)
            case SessionRecord():
                _restore_session(connection, user.uid, name, record)
            case FactRecord():
                _restore_fact(connection, user.uid, name, record, revision, encoder)
            case Trace():
                held = load_trace(connection, user.uid, record.id)
                if held is None:
                    put_trace(connection, user.uid, record)
                elif held != record:
                    raise _conflict(name, f"trace {record.id!r}")
    connection.execute("UPDATE users SET revision = ? WHERE uid = ?", (revision, user.uid))


def _facts(connection: sqlite3.Connection, uid: int, start: int, limit: int) -> list[FactRecord]:
    rows = connection.execute(
        "SELECT fact FROM facts WHERE uid = ? AND fact > ? ORDER BY fact LIMIT ?", (uid, start, max(limit, 0))
    )
    numbers = [row[0] for row in rows]
    facts = load_facts(connection, uid, numbers)
    own = _own_sources(connection, uid, numbers[0], numbers[-1]) if numbers else {}
    return [FactRecord(fact=facts[fact], own=tuple(own.get(fact, ()))) for fact in numbers]


def _own_sources(connection: sqlite3.Connection, uid: int, first: int, last: int) -> dict[int, list[Source]]:
    found: dict[int, list[Source]] = defaultdict(list)
    for fact, session, message, quote in connection.execute(
        "SELECT fact, session, message, quote FROM sources WHERE uid = ? AND fact BETWEEN ? AND ?"
        " ORDER BY fact, position",
        (uid, first, last),
    ):
        found[fact].append(Source(session=session, message=message, quote=quote))
    return found


def _traces(connection: sqlite3.Connection, uid: int, after: str | None, limit: int) -> list[Trace]:
    start = 0
    if after is not None:
        row = connection.execute("SELECT number FROM traces WHERE uid = ? AND name = ?", (uid, after)).fetchone()
        if row is None:
            raise InputError(f"there is no trace {after!r} to go on after; begin again")
        start = row[0]
    rows = connection.execute(
        "SELECT body FROM traces WHERE uid = ? AND number > ? ORDER BY number LIMIT ?", (uid, start, max(limit, 0))
    )
    return [from_text(Trace, body) for (body,) in rows]


def _restore_user(connection: sqlite3.Connection, user: User, name: str, record: UserRecord) -> None:
    if user.facts not in (0, record.facts):
        raise _conflict(name, f"{user.facts} facts")
    connection.execute(
        "UPDATE users SET facts = ?, consolidated = ? WHERE uid = ?", (record.facts, record.consolidated, user.uid)
    )


def _restore_session(connection: sqlite3.Connection, uid: int, name: str, record: SessionRecord) -> None:
    if record.state == SessionState.EXTRACTING:
        record = replace(record, state=SessionState.PENDING)
    session = record.session
    check_name(session.id)
    held = load_session(connection, uid, session.id)
    if held is not None:
        if held != record:
            raise _conflict(name, f"session {session.id!r}")
        return
    due = {SessionState.PENDING: 0}.get(record.state)
    if record.retry_at is not None:
        due = microseconds(record.retry_at)
    row = connection.execute(
        "INSERT INTO sessions (uid, name, at, zone, state, extracted, attempts, due, reason, raw)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(uid, session.id, microseconds(session.at), session.zone, record.state),
            *(record.extracted, record.attempts, due, record.reason, record.raw),
        ),
    )
    assert row.lastrowid is not None  # noqa: S101 - a row was just inserted
    write_messages(connection, row.lastrowid, session.messages, start=0, erased=dict(record.erased))


def _restore_fact(
    connection: sqlite3.Connection, uid: int, name: str, record: FactRecord, revision: int, encoder: Encoder | None
) -> None:
    fact = record.fact
    place = number(fact.fid) or 0
    held = load_facts(connection, uid, [place]).get(place)
    if held is not None:
        if held != fact:
            raise _conflict(name, f"fact {fact.fid!r}")
        return
    if encoder is None or record.vectors is None or len(record.vectors) != 1 + len(fact.cues):
        raise StoreError(
            f"fact {fact.fid!r} needs {1 + len(fact.cues)} vectors, of its statement and its cues, in a store that was "
            "opened with their encoder"
        )
    write_fact(connection, uid, fact, revision)
    write_cues(connection, uid, place, fact.cues)
    write_sources(connection, uid, place, record.own, start=1)
    write_vectors(connection, uid, place, encoder, pack(record.vectors, encoder, f"fact {fact.fid!r}"), start=0)


def _conflict(name: str, what: str) -> ConflictError:
    return ConflictError(
        f"user {name!r} already has {what}, and not as it is to be restored; restore to another user, or forget "
        f"{name!r} first"
    )
