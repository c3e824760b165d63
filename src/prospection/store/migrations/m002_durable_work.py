"""Schema 2: a queue over all users, what work has cost, pins and consolidation, and vectors of two encoders at once."""

from __future__ import annotations

import sqlite3

__all__ = ["make_work_durable"]

_STATEMENTS = (
    # From when on a worker may take the session without being told which; NULL: not by itself. While a session is being
    # extracted this is the end of the lease.
    "ALTER TABLE sessions RENAME COLUMN leased_until TO due",
    "UPDATE sessions SET due = 0 WHERE state = 'pending'",
    "CREATE INDEX sessions_by_due ON sessions (uid, sid) WHERE due IS NOT NULL",
    "CREATE INDEX sessions_taken ON sessions (uid) WHERE state = 'extracting'",
    # By UTC day. What forgotten users have spent stands under uid 0, nobody's, so that a day's ceiling still holds.
    """CREATE TABLE usage (
        day TEXT NOT NULL,
        uid INTEGER NOT NULL,
        calls INTEGER NOT NULL,
        failed_calls INTEGER NOT NULL,
        tokens_in INTEGER NOT NULL,
        tokens_out INTEGER NOT NULL,
        cost REAL,
        seconds REAL NOT NULL,
        PRIMARY KEY (day, uid)) WITHOUT ROWID""",
    # One encoder is "active". Vectors of one that is "coming" are gathered beside it until that one takes over, those
    # of one that is "leaving" are being removed.
    "ALTER TABLE encoders ADD COLUMN state TEXT NOT NULL DEFAULT 'active'",
    "CREATE UNIQUE INDEX encoders_active ON encoders (state) WHERE state = 'active'",
    "ALTER TABLE facts ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
    # Number of the last fact that has been looked at for merging.
    "ALTER TABLE users ADD COLUMN consolidated INTEGER NOT NULL DEFAULT 0",
)


def make_work_durable(connection: sqlite3.Connection) -> None:
    """Add columns, indexes and the table of usage."""
    for statement in _STATEMENTS:
        connection.execute(statement)
