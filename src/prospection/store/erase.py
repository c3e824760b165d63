"""Erasing a user, a session or a fact, and then the bytes.

Two steps. The erasing functions run inside the caller's transaction and return counts. `scrub` runs outside of one and
makes what was deleted unreadable in the file, its log and the word index. Between them a mark stands in the database,
so that a scrub that was cut short is made up for by the next one. Nothing that a later statement replaced becomes
current again by an erasure. A merge holds the words of others: it goes with the first of them that goes, and the rest
are current again.
"""

from __future__ import annotations

import json
import sqlite3

from prospection.errors import StoreError
from prospection.store import spending
from prospection.store.intake import echo
from prospection.store.merges import release, with_merges
from prospection.store.rows import User
from prospection.types import Erased

__all__ = ["erase_fact", "erase_rows", "erase_session", "erase_user", "scrub", "start_afresh"]


def erase_user(connection: sqlite3.Connection, user: User) -> Erased:
    """Erase everything a user has, and the user."""
    everything = [row[0] for row in connection.execute("SELECT fact FROM facts WHERE uid = ?", (user.uid,))]
    facts = erase_rows(connection, user.uid, everything)
    messages = connection.execute(
        "DELETE FROM messages WHERE sid IN (SELECT sid FROM sessions WHERE uid = ?)", (user.uid,)
    ).rowcount
    sessions = connection.execute("DELETE FROM sessions WHERE uid = ?", (user.uid,)).rowcount
    traces = connection.execute("DELETE FROM traces WHERE uid = ?", (user.uid,)).rowcount
    spending.disown(connection, user.uid)
    connection.execute("DELETE FROM users WHERE uid = ?", (user.uid,))
    _mark(connection)
    return _sum(facts, Erased(sessions=sessions, messages=messages, traces=traces))


def erase_session(connection: sqlite3.Connection, user: User, name: str) -> Erased:
    """Erase a session, its messages and the facts that stand on it alone; other facts lose it as a source."""
    key = (user.uid, name)
    alone = connection.execute(
        "SELECT fact FROM sources WHERE uid = ?1 GROUP BY fact HAVING sum(session = ?2) > 0 AND sum(session != ?2) = 0",
        key,
    ).fetchall()
    chosen = with_merges(connection, user.uid, [row[0] for row in alone])
    release(connection, user.uid, chosen)
    facts = erase_rows(connection, user.uid, chosen)
    messages = connection.execute(
        "DELETE FROM messages WHERE sid IN (SELECT sid FROM sessions WHERE uid = ? AND name = ?)", key
    ).rowcount
    sessions = connection.execute("DELETE FROM sessions WHERE uid = ? AND name = ?", key).rowcount
    others = connection.execute("SELECT DISTINCT fact FROM sources WHERE uid = ? AND session = ?", key).fetchall()
    connection.execute("DELETE FROM sources WHERE uid = ? AND session = ?", key)
    connection.executemany(
        "UPDATE facts SET said_at = coalesce((SELECT max(s.at) FROM sources o JOIN sessions s"
        " ON s.uid = o.uid AND s.name = o.session WHERE o.uid = ?1 AND o.fact = ?2), valid_from)"
        " WHERE uid = ?1 AND fact = ?2",
        [(user.uid, fact) for (fact,) in others],
    )
    start_afresh(connection, user.uid)
    _mark(connection)
    return _sum(facts, Erased(sessions=sessions, messages=messages))


def erase_fact(connection: sqlite3.Connection, user: User, fact: int) -> Erased:
    """Erase a fact, the versions it replaced, and the text of the messages it was drawn from.

    The messages keep their places, empty, so that sources of other facts still point where they did. A fact that
    later replaced this one stays: it is another statement.
    """
    versions = connection.execute(
        "WITH RECURSIVE chain(fact) AS (SELECT fact FROM facts WHERE uid = ?1 AND fact = ?2"
        " UNION SELECT f.fact FROM facts f JOIN chain c ON f.uid = ?1 AND f.superseded_by = c.fact)"
        " SELECT fact FROM chain",
        (user.uid, fact),
    ).fetchall()
    chosen = with_merges(connection, user.uid, [row[0] for row in versions])
    release(connection, user.uid, chosen)
    messages = _blank_messages(connection, user.uid, chosen)
    facts = erase_rows(connection, user.uid, chosen)
    start_afresh(connection, user.uid)
    _mark(connection)
    return _sum(facts, Erased(messages=messages))


def scrub(connection: sqlite3.Connection) -> None:
    """Make erased bytes unreadable, if anything was erased since this was last done. Takes time with the file's size.

    Raises:
        StoreError: Another process kept reading, so that the log could not be emptied.
        sqlite3.Error: The file could not be rewritten.
    """
    if not connection.execute("SELECT 1 FROM unscrubbed").fetchone():
        return
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")  # deleted terms stay in segments until merged
    connection.execute("VACUUM")
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreError(
            "what was named is erased, but its bytes may still stand in the log because another process is reading; "
            "forget again when it has ended"
        )
    connection.execute("DELETE FROM unscrubbed")


def erase_rows(connection: sqlite3.Connection, uid: int, facts: list[int]) -> Erased:
    """Delete these facts and all that hangs on them; see `merges` for what was merged from or into them."""
    chosen = (uid, json.dumps(facts))
    traces = connection.execute(
        # A trace lists every fact it reached. Texts are compared too: a model may have been shown an older version.
        "DELETE FROM traces WHERE uid = ?1 AND ("
        " EXISTS (SELECT 1 FROM json_each(body, '$.facts') WHERE key IN (SELECT 'f' || value FROM json_each(?2)))"
        " OR EXISTS (SELECT 1 FROM facts f WHERE f.uid = ?1 AND f.fact IN (SELECT value FROM json_each(?2))"
        " AND f.info != '' AND instr(body, trim(json_quote(f.info), '\"')) > 0))",
        chosen,
    ).rowcount
    connection.execute(
        "DELETE FROM words WHERE rowid IN"
        " (SELECT id FROM facts WHERE uid = ? AND fact IN (SELECT value FROM json_each(?)))",
        chosen,
    )
    connection.execute("DELETE FROM sources WHERE uid = ? AND fact IN (SELECT value FROM json_each(?))", chosen)
    vectors = connection.execute(
        "DELETE FROM vectors WHERE uid = ? AND fact IN (SELECT value FROM json_each(?))", chosen
    ).rowcount
    cues = connection.execute(
        "DELETE FROM cues WHERE uid = ? AND fact IN (SELECT value FROM json_each(?))", chosen
    ).rowcount
    count = connection.execute(
        "DELETE FROM facts WHERE uid = ? AND fact IN (SELECT value FROM json_each(?))", chosen
    ).rowcount
    connection.execute(
        "UPDATE facts SET superseded_by = NULL WHERE uid = ? AND superseded_by IN (SELECT value FROM json_each(?))",
        chosen,
    )
    return Erased(facts=count, cues=cues, vectors=vectors, traces=traces)


def _blank_messages(connection: sqlite3.Connection, uid: int, facts: list[int]) -> int:
    chosen = (uid, json.dumps(facts))
    spans = connection.execute(
        "SELECT DISTINCT s.sid, m.position, m.role, m.content, m.name, s.name"
        " FROM sources o JOIN facts f ON f.uid = o.uid AND f.fact = o.fact"
        " JOIN sessions s ON s.uid = o.uid AND s.name = o.session JOIN messages m ON m.sid = s.sid"
        " WHERE o.uid = ? AND o.fact IN (SELECT value FROM json_each(?)) AND m.echo IS NULL"
        " AND (m.position = o.message OR instr(m.content, nullif(o.quote, '')) > 0"
        " OR instr(m.content, nullif(f.info, '')) > 0)",
        chosen,
    ).fetchall()
    for sid, position, role, content, speaker, session in spans:
        connection.execute(
            "UPDATE messages SET content = '', echo = ? WHERE sid = ? AND position = ?",
            (echo(role, content, speaker), sid, position),
        )
        # Other facts of that message stay; the words they were drawn from are gone with it.
        connection.execute(
            "UPDATE sources SET quote = NULL WHERE uid = ? AND session = ? AND message = ?", (uid, session, position)
        )
        connection.execute("UPDATE sessions SET raw = NULL, reason = NULL WHERE sid = ?", (sid,))
    return len(spans)


def start_afresh(connection: sqlite3.Connection, uid: int) -> None:
    """Have every cache load the user anew."""
    connection.execute("UPDATE users SET revision = revision + 1, generation = revision + 1 WHERE uid = ?", (uid,))


def _mark(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO unscrubbed (since) VALUES (1) ON CONFLICT DO NOTHING")


def _sum(first: Erased, second: Erased) -> Erased:
    return Erased(
        sessions=first.sessions + second.sessions,
        messages=first.messages + second.messages,
        facts=first.facts + second.facts,
        cues=first.cues + second.cues,
        vectors=first.vectors + second.vectors,
        traces=first.traces + second.traces,
    )
