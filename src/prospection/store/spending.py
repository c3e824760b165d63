"""What work has cost, by user and UTC day. Counts only: nothing of what was said.

Functions over a connection that is in a transaction; the caller commits.
"""

from __future__ import annotations

import sqlite3
from datetime import date

from prospection.types import Usage

__all__ = ["add", "disown", "total"]

_NOBODY = 0
_SUMS = (
    "calls = calls + excluded.calls, failed_calls = failed_calls + excluded.failed_calls,"
    " tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out,"
    " cost = cost + excluded.cost, seconds = seconds + excluded.seconds"  # a cost that is unknown makes the sum unknown
)


def add(connection: sqlite3.Connection, uid: int, day: date, usage: Usage) -> None:
    """Add to what a user has spent on a day; uid 0 for a user who is not there any more."""
    connection.execute(
        f"INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, uid) DO UPDATE SET {_SUMS}",  # noqa: S608
        (
            *(day.isoformat(), uid, usage.calls, usage.failed_calls),
            *(usage.tokens_in, usage.tokens_out, usage.cost, usage.seconds),
        ),
    )


def total(connection: sqlite3.Connection, uid: int | None, since: date) -> Usage:
    """Return what a user, or everybody together, has spent from a day on."""
    calls, failed_calls, tokens_in, tokens_out, cost, unpriced, seconds = connection.execute(
        "SELECT total(calls), total(failed_calls), total(tokens_in), total(tokens_out), total(cost),"
        " total(cost IS NULL), total(seconds) FROM usage WHERE day >= ?1 AND (?2 IS NULL OR uid = ?2)",
        (since.isoformat(), uid),
    ).fetchone()
    return Usage(
        calls=int(calls),
        failed_calls=int(failed_calls),
        tokens_in=int(tokens_in),
        tokens_out=int(tokens_out),
        cost=None if unpriced else cost,
        seconds=seconds,
    )


def disown(connection: sqlite3.Connection, uid: int) -> None:
    """Take a user's name from what the user has spent: only the sums of days are left."""
    connection.execute(
        "INSERT INTO usage SELECT day, ?, calls, failed_calls, tokens_in, tokens_out, cost, seconds FROM usage"  # noqa: S608
        f" WHERE uid = ? ON CONFLICT (day, uid) DO UPDATE SET {_SUMS}",
        (_NOBODY, uid),
    )
    connection.execute("DELETE FROM usage WHERE uid = ?", (uid,))
