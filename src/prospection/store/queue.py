"""The queue of sessions: who may extract which, until when, and what came of it.

Functions over a connection that is in a transaction; the caller commits. A session waits with a time from which it is
due. A user's sessions are handed out one at a time and in the order of arrival, so that a later statement meets what an
earlier one left; users take turns. Never extracts anything.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from datetime import datetime

from prospection.errors import StoreError
from prospection.store.intake import load_session
from prospection.store.rows import find_user, microseconds
from prospection.types import SessionRecord

__all__ = ["claim", "claim_next", "fail", "release"]

_LAST = 2**63 - 1


def claim(connection: sqlite3.Connection, uid: int, name: str, now: datetime, lease: float) -> SessionRecord | None:
    """Take a session for extraction; None when it is done, unknown, or held by somebody whose lease still runs."""
    began = microseconds(now)
    taken = connection.execute(
        "UPDATE sessions SET state = 'extracting', attempts = attempts + 1, due = ?, reason = NULL, raw = NULL"
        " WHERE uid = ? AND name = ? AND (state IN ('pending', 'failed') OR (state = 'extracting' AND due <= ?))",
        (began + int(lease * 1_000_000), uid, name, began),
    )
    return load_session(connection, uid, name) if taken.rowcount else None


def claim_next(
    connection: sqlite3.Connection, now: datetime, lease: float, after: str | None, skip: Collection[str]
) -> tuple[str, SessionRecord] | None:
    """Take the earliest due session of the first user in the round that has one and is not being worked on.

    Args:
        after: The user served last, after whom the round goes on; None to begin it.
        skip: Users to pass over.
    """
    served = find_user(connection, after) if after is not None else None
    start = 0 if served is None else served.uid
    for before, last in ((start, _LAST), (0, start)):
        uid = before
        while (waiting := _next_waiting(connection, uid, last)) is not None:
            uid, user = waiting
            if user not in skip and (session := _first_due(connection, uid, microseconds(now))) is not None:
                record = claim(connection, uid, session, now, lease)
                return None if record is None else (user, record)
    return None


def fail(
    connection: sqlite3.Connection, uid: int, name: str, reason: str, raw: str | None, retry_at: datetime | None
) -> None:
    """Mark a session as failed, unless somebody else has finished it meanwhile.

    Raises:
        StoreError: There is no such session.
    """
    if not connection.execute("SELECT 1 FROM sessions WHERE uid = ? AND name = ?", (uid, name)).fetchone():
        raise StoreError(f"there is no session {name!r} to mark as failed")
    connection.execute(
        "UPDATE sessions SET state = 'failed', due = ?, reason = ?, raw = ?"
        " WHERE uid = ? AND name = ? AND state != 'done'",
        (None if retry_at is None else microseconds(retry_at), reason, raw, uid, name),
    )


def release(connection: sqlite3.Connection, uid: int, name: str) -> None:
    """Put a session back as it was before it was claimed, if it is still being extracted."""
    connection.execute(
        "UPDATE sessions SET state = 'pending', due = 0, attempts = attempts - 1"
        " WHERE uid = ? AND name = ? AND state = 'extracting'",
        (uid, name),
    )


def _next_waiting(connection: sqlite3.Connection, before: int, last: int) -> tuple[int, str] | None:
    row: tuple[int, str] | None = connection.execute(
        "SELECT s.uid, u.name FROM sessions s JOIN users u USING (uid)"
        " WHERE s.due IS NOT NULL AND s.uid > ? AND s.uid <= ? ORDER BY s.uid LIMIT 1",
        (before, last),
    ).fetchone()
    return row


def _first_due(connection: sqlite3.Connection, uid: int, now: int) -> str | None:
    if connection.execute(
        "SELECT 1 FROM sessions WHERE uid = ? AND state = 'extracting' AND due > ?", (uid, now)
    ).fetchone():
        return None
    row = connection.execute(
        "SELECT name FROM sessions WHERE uid = ? AND due <= ? ORDER BY sid LIMIT 1", (uid, now)
    ).fetchone()
    return None if row is None else str(row[0])
