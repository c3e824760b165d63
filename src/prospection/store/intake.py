"""Sessions: durable intake, and reading them back. Who extracts them and when is `queue`'s to say.

Functions over a connection that is in a transaction; the caller commits. Never looks into what messages say.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from prospection.errors import InputError
from prospection.store.rows import User, find_user, instant, microseconds
from prospection.types import BY_HAND, Message, Session, SessionRecord, SessionState

__all__ = [
    "check_name",
    "echo",
    "list_sessions",
    "load_session",
    "new_messages",
    "put",
    "user_for_writing",
    "write_messages",
]

_COLUMNS = "sid, name, at, zone, state, extracted, attempts, due, reason, raw"


def user_for_writing(connection: sqlite3.Connection, name: str) -> User:
    """Return the user, creating the row on first use.

    Raises:
        InputError: The name is empty.
    """
    if not name:
        raise InputError(f"user {name!r} is empty; name the person whose memory this is")
    connection.execute("INSERT INTO users (name) VALUES (?) ON CONFLICT (name) DO NOTHING", (name,))
    user = find_user(connection, name)
    if user is None:  # pragma: no cover - just written
        raise InputError(f"user {name!r} cannot be stored")
    return user


def check_name(session_id: str) -> None:
    """Refuse the name under which facts by hand are kept.

    Raises:
        InputError: It is that name.
    """
    if session_id == BY_HAND:
        raise InputError(
            f"no conversation can be named {BY_HAND!r}, which stands for facts by hand; choose another one"
        )


def put(connection: sqlite3.Connection, uid: int, session: Session) -> SessionRecord:
    """Store a session, or append to it the messages it does not hold yet. Time and zone stay as first given.

    Raises:
        InputError: It bears the name under which facts by hand are kept.
    """
    check_name(session.id)
    key = (uid, session.id)
    connection.execute(
        "INSERT INTO sessions (uid, name, at, zone, state, due) VALUES (?, ?, ?, ?, ?, 0)"
        " ON CONFLICT (uid, name) DO NOTHING",
        (*key, microseconds(session.at), session.zone, SessionState.PENDING),
    )
    (sid,) = connection.execute("SELECT sid FROM sessions WHERE uid = ? AND name = ?", key).fetchone()
    held = [
        _identity(*row)
        for row in connection.execute(
            "SELECT role, content, name, echo FROM messages WHERE sid = ? ORDER BY position", (sid,)
        )
    ]
    new = new_messages(held, session.messages)
    write_messages(connection, sid, new, start=len(held))
    if new:
        # Whoever is extracting now keeps its claim; `finish` then sees that messages are left.
        connection.execute(
            "UPDATE sessions SET state = ?, due = 0, attempts = 0 WHERE sid = ? AND state != ?",
            (SessionState.PENDING, sid, SessionState.EXTRACTING),
        )
    return _one(connection, uid, session.id)


def write_messages(
    connection: sqlite3.Connection, sid: int, messages: Sequence[Message], *, start: int, erased: Mapping[int, int] = {}
) -> None:
    """Write messages of a session at the places from `start` on.

    Args:
        erased: Echoes of those that were erased, by place.
    """
    connection.executemany(
        "INSERT INTO messages (sid, position, role, content, name, at, recalled, echo) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(sid, place, m.role, m.content, m.name),
                *(None if m.at is None else microseconds(m.at), m.recalled, erased.get(place)),
            )
            for place, m in enumerate(messages, start)
        ],
    )


def new_messages(held: Sequence[int], sent: Sequence[Message]) -> tuple[Message, ...]:
    """Return those of the sent messages that are not held yet.

    Clients send a conversation whole each time, or only what is new, or the same again. What begins with all that is
    held continues it; what stands in one piece inside it is a repetition; anything else is new.

    Args:
        held: Echoes of the messages held.
        sent: Messages of the same session.
    """
    echoes = [echo(message.role, message.content, message.name) for message in sent]
    if echoes[: len(held)] == list(held):
        return tuple(sent[len(held) :])
    inside = any(held[start : start + len(echoes)] == echoes for start in range(len(held) - len(echoes) + 1))
    return () if inside else tuple(sent)


def echo(role: str, content: str, name: str | None) -> int:
    """Return 32 bits that tell a message from its neighbours and from which it cannot be read back."""
    return zlib.crc32("\x1f".join((role, name or "", content)).encode("utf-8", "surrogatepass"))


def load_session(connection: sqlite3.Connection, uid: int, name: str) -> SessionRecord | None:
    """Return one session, or None."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM sessions WHERE uid = ? AND name = ?", (uid, name)).fetchone()  # noqa: S608
    return _record(connection, row) if row else None


def list_sessions(
    connection: sqlite3.Connection, uid: int, states: Collection[SessionState], after: str | None, limit: int
) -> list[SessionRecord]:
    """Return a page of a user's sessions in these states, in the order of arrival, after the one named.

    Raises:
        InputError: There is no session of the name to go on after.
    """
    start = 0
    if after is not None:
        row = connection.execute("SELECT sid FROM sessions WHERE uid = ? AND name = ?", (uid, after)).fetchone()
        if row is None:
            raise InputError(f"there is no session {after!r} to go on after; begin again at the first page")
        start = row[0]
    marks = ", ".join("?" for _ in states)
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM sessions WHERE uid = ? AND state IN ({marks})"  # noqa: S608 - constants and marks
        " AND sid > ? ORDER BY sid LIMIT ?",
        (uid, *states, start, max(limit, 0)),
    ).fetchall()
    return [_record(connection, row) for row in rows]


def _identity(role: str, content: str, name: str | None, kept: int | None) -> int:
    return echo(role, content, name) if kept is None else kept


def _one(connection: sqlite3.Connection, uid: int, name: str) -> SessionRecord:
    record = load_session(connection, uid, name)
    if record is None:  # pragma: no cover - callers have just written it
        raise InputError(f"session {name!r} is not stored")
    return record


def _record(connection: sqlite3.Connection, row: tuple[Any, ...]) -> SessionRecord:
    sid, name, at, zone, state, extracted, attempts, due, reason, raw = row
    messages: list[Message] = []
    erased: list[tuple[int, int]] = []
    for role, content, speaker, when, recalled, kept in connection.execute(
        "SELECT role, content, name, at, recalled, echo FROM messages WHERE sid = ? ORDER BY position", (sid,)
    ):
        if kept is not None:
            erased.append((len(messages), kept))
        messages.append(Message(role=role, content=content, name=speaker, at=instant(when), recalled=bool(recalled)))
    began = instant(at)
    assert began is not None  # noqa: S101 - the column is NOT NULL
    return SessionRecord(
        session=Session(id=name, at=began, messages=tuple(messages), zone=zone),
        state=SessionState(state),
        extracted=extracted,
        attempts=attempts,
        retry_at=instant(due) if state == SessionState.FAILED else None,
        reason=reason,
        raw=raw,
        erased=tuple(erased),
    )
