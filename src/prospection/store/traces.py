"""Traces as rows: one JSON text each. Runs inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3

from prospection.errors import InputError
from prospection.serial import from_text, to_text
from prospection.store.rows import User, number
from prospection.types import Trace

__all__ = ["list_traces", "load_trace", "put_trace", "shows_what_is_gone"]


def put_trace(connection: sqlite3.Connection, uid: int, trace: Trace) -> None:
    """Keep a trace; the same id again replaces it."""
    connection.execute("DELETE FROM traces WHERE uid = ? AND name = ?", (uid, trace.id))
    connection.execute("INSERT INTO traces (uid, name, body) VALUES (?, ?, ?)", (uid, trace.id, to_text(trace)))


def shows_what_is_gone(connection: sqlite3.Connection, user: User, trace: Trace) -> bool:
    """Tell whether a trace shows a fact that was forgotten since: a recall takes time, and so does what follows it."""
    shown = {fact: info for fid, info in trace.facts.items() if (fact := number(fid) or user.facts + 1) <= user.facts}
    held = dict(
        connection.execute(
            "SELECT fact, info FROM facts WHERE uid = ? AND fact IN (SELECT value FROM json_each(?))",
            (user.uid, json.dumps(list(shown))),
        ).fetchall()
    )
    return any(held.get(fact) != info for fact, info in shown.items())


def list_traces(connection: sqlite3.Connection, uid: int, before: str | None, limit: int) -> list[Trace]:
    """Return a page of a user's traces, newest first, older than the one named.

    Raises:
        InputError: There is no trace of the name to go on before.
    """
    end = None
    if before is not None:
        row = connection.execute("SELECT number FROM traces WHERE uid = ? AND name = ?", (uid, before)).fetchone()
        if row is None:
            raise InputError(f"there is no trace {before!r} to go on before; begin again at the first page")
        end = row[0]
    rows = connection.execute(
        "SELECT body FROM traces WHERE uid = ? AND (? IS NULL OR number < ?) ORDER BY number DESC LIMIT ?",
        (uid, end, end, max(limit, 0)),
    ).fetchall()
    return [from_text(Trace, body) for (body,) in rows]


def load_trace(connection: sqlite3.Connection, uid: int, name: str) -> Trace | None:
    """Return one trace, or None."""
    row = connection.execute("SELECT body FROM traces WHERE uid = ? AND name = ?", (uid, name)).fetchone()
    return from_text(Trace, row[0]) if row else None
