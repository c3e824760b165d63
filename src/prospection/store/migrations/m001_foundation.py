"""Schema 1: users, sessions, facts with versions, cues, vectors, words, traces.

Instants are microseconds since 1970 UTC. `fact` is a fact's number within its user: 7 for "f7". A version chain is kept
in one direction only (`superseded_by`); the other is read backwards.
"""

from __future__ import annotations

import sqlite3

__all__ = ["lay_foundation"]

_STATEMENTS = (
    "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL)",
    # `revision` grows with every change of the user's facts; `generation` is the revision of the last change that was
    # more than new facts and new values of known columns, after which a cache has to start afresh. AUTOINCREMENT never
    # gives the uid of a forgotten user to another one.
    """CREATE TABLE users (
        uid INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        facts INTEGER NOT NULL DEFAULT 0,
        revision INTEGER NOT NULL DEFAULT 0,
        generation INTEGER NOT NULL DEFAULT 0)""",
    """CREATE TABLE sessions (
        sid INTEGER PRIMARY KEY,
        uid INTEGER NOT NULL,
        name TEXT NOT NULL,
        at INTEGER NOT NULL,
        zone TEXT,
        state TEXT NOT NULL,
        extracted INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        leased_until INTEGER,
        reason TEXT,
        raw TEXT,
        UNIQUE (uid, name))""",
    # An erased message keeps its place and `echo`, 32 bits by which it is recognised when it is sent again.
    """CREATE TABLE messages (
        sid INTEGER NOT NULL,
        position INTEGER NOT NULL,
        role TEXT NOT NULL,
        content TEXT NOT NULL,
        name TEXT,
        at INTEGER,
        recalled INTEGER NOT NULL,
        echo INTEGER,
        PRIMARY KEY (sid, position))""",
    """CREATE TABLE facts (
        id INTEGER PRIMARY KEY,
        uid INTEGER NOT NULL,
        fact INTEGER NOT NULL,
        info TEXT NOT NULL,
        digest BLOB NOT NULL,
        words INTEGER NOT NULL,
        type TEXT NOT NULL,
        entities TEXT NOT NULL,
        said_at INTEGER NOT NULL,
        event_start INTEGER,
        event_end INTEGER,
        event_precision TEXT,
        event_zone TEXT,
        valid_from INTEGER NOT NULL,
        valid_until INTEGER,
        superseded_by INTEGER,
        revision INTEGER NOT NULL,
        UNIQUE (uid, fact))""",
    "CREATE INDEX facts_by_digest ON facts (uid, digest) WHERE valid_until IS NULL",
    "CREATE INDEX facts_by_revision ON facts (uid, revision)",
    "CREATE INDEX facts_by_successor ON facts (uid, superseded_by) WHERE superseded_by IS NOT NULL",
    """CREATE TABLE sources (
        uid INTEGER NOT NULL,
        fact INTEGER NOT NULL,
        position INTEGER NOT NULL,
        session TEXT NOT NULL,
        message INTEGER,
        quote TEXT,
        PRIMARY KEY (uid, fact, position)) WITHOUT ROWID""",
    "CREATE INDEX sources_by_session ON sources (uid, session)",
    """CREATE TABLE cues (
        uid INTEGER NOT NULL,
        fact INTEGER NOT NULL,
        cue INTEGER NOT NULL,
        text TEXT NOT NULL,
        weight REAL NOT NULL,
        PRIMARY KEY (uid, fact, cue)) WITHOUT ROWID""",
    "CREATE TABLE encoders (encoder INTEGER PRIMARY KEY, name TEXT NOT NULL, dims INTEGER NOT NULL)",
    # Cue 0 is the fact itself. A table with rowids: without them vectors would take three times the space.
    """CREATE TABLE vectors (
        uid INTEGER NOT NULL,
        encoder INTEGER NOT NULL,
        fact INTEGER NOT NULL,
        cue INTEGER NOT NULL,
        vector BLOB NOT NULL,
        PRIMARY KEY (uid, encoder, fact, cue))""",
    # Rowids are those of facts. Terms come segmented and each begins with its user ("17_soup"), so that a query reads
    # one user's part of the index and no other. ASCII tokenising leaves them whole.
    """CREATE VIRTUAL TABLE words USING fts5 (
        terms, detail = none, columnsize = 0, tokenize = "ascii tokenchars '_'")""",
    """CREATE TABLE traces (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        uid INTEGER NOT NULL,
        name TEXT NOT NULL,
        body TEXT NOT NULL,
        UNIQUE (uid, name))""",
    # Holds a row from an erasure until the erased bytes are gone from the file as well.
    "CREATE TABLE unscrubbed (since INTEGER PRIMARY KEY)",
)


def lay_foundation(connection: sqlite3.Connection) -> None:
    """Create the tables."""
    for statement in _STATEMENTS:
        connection.execute(statement)
