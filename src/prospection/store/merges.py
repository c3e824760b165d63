"""Merged facts, when what they were made of has to stand by itself again.

A merge is a fact that replaced several. Its statement stands on theirs: when one of them is erased, the merge has to go
with it, and the others become current again. In go fact numbers of one user; the rows are put right inside the caller's
transaction. Deletes nothing itself.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

__all__ = ["is_merge", "release", "with_merges"]

_PREDECESSORS = "(SELECT count(*) FROM facts p WHERE p.uid = ?1 AND p.superseded_by = f.fact)"


def is_merge(connection: sqlite3.Connection, uid: int, fact: int) -> bool:
    """Tell whether a fact replaced several others."""
    row = connection.execute(f"SELECT {_PREDECESSORS} FROM facts f WHERE f.uid = ?1 AND f.fact = ?2", (uid, fact))  # noqa: S608
    found = row.fetchone()
    return found is not None and found[0] > 1


def with_merges(connection: sqlite3.Connection, uid: int, facts: Collection[int]) -> list[int]:
    """Return the facts and every merge that holds one of them, also through other merges, in the order of numbers."""
    found = set(facts)
    while True:
        rows = connection.execute(
            f"SELECT f.fact FROM facts f WHERE f.uid = ?1 AND {_PREDECESSORS} > 1 AND f.fact IN"  # noqa: S608
            " (SELECT superseded_by FROM facts WHERE uid = ?1 AND fact IN (SELECT value FROM json_each(?2)))",
            (uid, json.dumps(sorted(found))),
        )
        merges = {row[0] for row in rows} - found
        if not merges:
            return sorted(found)
        found |= merges


def release(connection: sqlite3.Connection, uid: int, leaving: Collection[int]) -> list[int]:
    """Let the facts that merges among `leaving` were made of take the merges' place.

    They get the end and the successor that the merge had, so that those of a current merge are current again, and the
    sources that the merge itself had gathered.

    Returns:
        Numbers of the facts released, in order.
    """
    gone = set(leaving)
    held = {
        fact: (successor, until, said_at)
        for fact, successor, until, said_at in connection.execute(
            f"SELECT f.fact, f.superseded_by, f.valid_until, f.said_at FROM facts f"  # noqa: S608
            f" WHERE f.uid = ?1 AND f.fact IN (SELECT value FROM json_each(?2)) AND {_PREDECESSORS} > 1",
            (uid, json.dumps(sorted(gone))),
        )
    }
    free = connection.execute(
        "SELECT fact, superseded_by FROM facts WHERE uid = ? AND superseded_by IN (SELECT value FROM json_each(?))"
        " ORDER BY fact",
        (uid, json.dumps(sorted(held))),
    ).fetchall()
    released = []
    for fact, merge in free:
        if fact in gone:
            continue
        successor, until = merge, None
        while successor in held:
            _hand_on(connection, uid, merge=successor, to=fact, said_at=held[successor][2])
            successor, until, _ = held[successor]
        connection.execute(
            "UPDATE facts SET superseded_by = ?, valid_until = ? WHERE uid = ? AND fact = ?",
            (successor, until, uid, fact),
        )
        released.append(fact)
    return released


def _hand_on(connection: sqlite3.Connection, uid: int, *, merge: int, to: int, said_at: int) -> None:
    """Give a fact the sources that are a merge's own: it was said again while it was merged."""
    new = connection.execute(
        "INSERT INTO sources (uid, fact, position, session, message, quote)"
        " SELECT uid, ?3, position + (SELECT coalesce(max(position), 0) FROM sources WHERE uid = ?1 AND fact = ?3),"
        " session, message, quote FROM sources o WHERE uid = ?1 AND fact = ?2 AND NOT EXISTS (SELECT 1 FROM sources h"
        " WHERE h.uid = ?1 AND h.fact = ?3 AND h.session = o.session AND h.message IS o.message)",
        (uid, merge, to),
    )
    if new.rowcount > 0:
        connection.execute("UPDATE facts SET said_at = max(said_at, ?) WHERE uid = ? AND fact = ?", (said_at, uid, to))
