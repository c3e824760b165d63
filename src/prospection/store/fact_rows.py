"""Facts into rows: the fact, its words, its cues, its vectors.

Functions over a connection that is in a transaction. They write what they are given; what becomes of a user's other
facts is the ledger's to say.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from prospection.errors import InputError
from prospection.search.lexical import index_terms, normalise, query_terms
from prospection.store.rows import microseconds, number
from prospection.store.vectors import Encoder, register_encoder
from prospection.types import Cue, Fact, Source

__all__ = ["digest", "write_cues", "write_fact", "write_sources", "write_vectors"]


def write_fact(connection: sqlite3.Connection, uid: int, fact: Fact, revision: int) -> None:
    """Write a fact without its cues, sources and vectors.

    Raises:
        InputError: Its id is not one of ours, or it lacks a type or a time.
    """
    place = number(fact.fid)
    if place is None or fact.type is None or fact.said_at is None or fact.valid_from is None:
        raise InputError(
            f"fact {fact.fid!r} cannot be stored: it needs an id like 'f1', a type, said_at and valid_from"
        )
    event: tuple[Any, ...] = (None, None, None, None)
    if fact.event_time is not None:
        start, end = fact.event_time.start, fact.event_time.end
        event = (microseconds(start), microseconds(end), fact.event_time.precision, fact.event_time.zone)
    row = connection.execute(
        "INSERT INTO facts (uid, fact, info, digest, words, type, entities, said_at, event_start, event_end,"
        " event_precision, event_zone, valid_from, valid_until, superseded_by, pinned, revision)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(uid, place, fact.info, digest(fact.info), len(query_terms(fact.info))),
            *(fact.type, json.dumps(fact.related_entities, ensure_ascii=False), microseconds(fact.said_at)),
            *event,
            microseconds(fact.valid_from),
            None if fact.valid_until is None else microseconds(fact.valid_until),
            None if fact.superseded_by is None else number(fact.superseded_by),
            *(fact.pinned, revision),
        ),
    )
    terms = " ".join(f"{uid}_{term}" for term in index_terms(fact.info))
    connection.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (row.lastrowid, terms))


def write_cues(connection: sqlite3.Connection, uid: int, fact: int, cues: Sequence[Cue]) -> None:
    """Write the cues of fact number `fact`, which has none."""
    connection.executemany(
        "INSERT INTO cues (uid, fact, cue, text, weight) VALUES (?, ?, ?, ?, ?)",
        [(uid, fact, n, cue.text, cue.weight) for n, cue in enumerate(cues, start=1)],
    )


def write_sources(connection: sqlite3.Connection, uid: int, fact: int, sources: Sequence[Source], start: int) -> None:
    """Write sources of fact number `fact` at the places from `start` on."""
    connection.executemany(
        "INSERT INTO sources (uid, fact, position, session, message, quote) VALUES (?, ?, ?, ?, ?, ?)",
        [(uid, fact, place, s.session, s.message, s.quote) for place, s in enumerate(sources, start)],
    )


def write_vectors(
    connection: sqlite3.Connection, uid: int, fact: int, encoder: Encoder, blobs: Sequence[bytes], start: int
) -> None:
    """Write vectors of fact number `fact`: place 0 is its statement's, the following ones are its cues'.

    Raises:
        EncoderMismatchError: The vectors held were made by another encoder.
    """
    made_by = register_encoder(connection, encoder)
    connection.executemany(
        "INSERT INTO vectors (uid, encoder, fact, cue, vector) VALUES (?, ?, ?, ?, ?)",
        [(uid, made_by, fact, place, blob) for place, blob in enumerate(blobs, start)],
    )


def digest(info: str) -> bytes:
    """Return what statements with the same normalised text have in common."""
    return hashlib.blake2b(normalise(info).encode(), digest_size=16).digest()
