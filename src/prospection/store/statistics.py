"""Counts for operators. Reads only."""

from __future__ import annotations

import sqlite3

from prospection.types import SessionState

__all__ = ["count"]

_COUNTS = {
    "users": "SELECT count(*) FROM users WHERE ?1 IS NULL OR uid = ?1",
    "messages": "SELECT count(*) FROM messages m JOIN sessions s USING (sid) WHERE ?1 IS NULL OR s.uid = ?1",
    "facts": "SELECT count(*) FROM facts WHERE (?1 IS NULL OR uid = ?1) AND valid_until IS NULL",
    "facts_new": "SELECT count(*) FROM facts JOIN users USING (uid)"
    " WHERE (?1 IS NULL OR uid = ?1) AND valid_until IS NULL AND fact > consolidated",
    "facts_replaced": "SELECT count(*) FROM facts WHERE (?1 IS NULL OR uid = ?1) AND valid_until IS NOT NULL",
    "cues": "SELECT count(*) FROM cues WHERE ?1 IS NULL OR uid = ?1",
    "vectors": "SELECT count(*) FROM vectors WHERE ?1 IS NULL OR uid = ?1",
    "traces": "SELECT count(*) FROM traces WHERE ?1 IS NULL OR uid = ?1",
}


def count(connection: sqlite3.Connection, uid: int | None) -> dict[str, int]:
    """Count what one user has, or all users together.

    Returns:
        "users", "sessions", "sessions_pending", "sessions_extracting", "sessions_done", "sessions_failed", "messages",
        "facts" (current ones), "facts_new" (those of them that no consolidation has looked at), "facts_replaced",
        "cues", "vectors", "traces".
    """
    states = dict(
        connection.execute("SELECT state, count(*) FROM sessions WHERE ?1 IS NULL OR uid = ?1 GROUP BY state", (uid,))
    )
    counts = {name: int(connection.execute(query, (uid,)).fetchone()[0]) for name, query in _COUNTS.items()}
    counts["sessions"] = sum(states.values())
    return counts | {f"sessions_{state}": states.get(state, 0) for state in SessionState}
