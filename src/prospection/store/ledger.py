"""What a session's extraction proposes, carried out on the user's facts.

Operations go in, the numbers of the facts they came to come out. Runs inside the caller's transaction. Destroys
nothing: a revision closes the old fact's interval and leaves it as history.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prospection.errors import ConflictError, StoreError
from prospection.search.lexical import index_terms, normalise, query_terms
from prospection.store.rows import User, fid, load_facts, microseconds, number
from prospection.store.vectors import Encoder, pack, register_encoder
from prospection.types import Add, Candidate, Fact, Operation, Reinforce, SessionState, Source, Vectors

__all__ = ["finish"]

_SourceRow = tuple[str, int | None, str | None]


def finish(
    connection: sqlite3.Connection,
    user: User,
    session: str,
    operations: Sequence[Operation],
    *,
    extracted: int,
    encoder: Encoder | None,
) -> tuple[Fact, ...]:
    """Carry out the operations and close the extraction of the session's first `extracted` messages.

    Raises:
        ConflictError: A fact to change is not current any more, or the session has been finished by somebody else.
        StoreError: There is no such session or not that many messages, or the store was opened without an encoder.
    """
    row = connection.execute(
        "SELECT sid, at, state, extracted FROM sessions WHERE uid = ? AND name = ?", (user.uid, session)
    ).fetchone()
    if row is None:
        raise StoreError(f"there is no session {session!r} to finish; store it first")
    sid, at, state, before = row
    if state == SessionState.DONE:
        raise ConflictError(f"session {session!r} has been finished by somebody else; nothing was stored twice")
    (messages,) = connection.execute("SELECT count(*) FROM messages WHERE sid = ?", (sid,)).fetchone()
    if extracted > messages:
        raise StoreError(f"session {session!r} has {messages} messages, not {extracted}")
    ledger = _Ledger(connection, user.uid, session, at, encoder, user.revision + 1, user.facts)
    changed = [ledger.carry_out(operation) for operation in operations]
    if changed:
        connection.execute(
            "UPDATE users SET facts = ?, revision = ? WHERE uid = ?", (ledger.last, ledger.revision, user.uid)
        )
    extracted = max(extracted, before)
    connection.execute(
        "UPDATE sessions SET state = ?, extracted = ?, attempts = 0, leased_until = NULL, reason = NULL, raw = NULL"
        " WHERE sid = ?",
        (SessionState.DONE if extracted == messages else SessionState.PENDING, extracted, sid),
    )
    facts = load_facts(connection, user.uid, changed)
    return tuple(facts[fact] for fact in changed)


@dataclass(slots=True)
class _Ledger:
    """One transaction's view of a user's facts. `last` is the number given last."""

    connection: sqlite3.Connection
    uid: int
    session: str
    at: int
    encoder: Encoder | None
    revision: int
    last: int

    def carry_out(self, operation: Operation) -> int:
        if isinstance(operation, Reinforce):
            return self._reinforce(self._current(operation.fid), operation.provenance)
        candidate = operation.candidate
        if isinstance(operation, Add):
            row = self.connection.execute(
                "SELECT fact FROM facts WHERE uid = ? AND digest = ? AND valid_until IS NULL",
                (self.uid, _digest(candidate.info)),
            ).fetchone()
            if row:
                return self._reinforce(row[0], candidate.provenance)
            return self._add(candidate, operation.vector, operation.cue_vectors)
        replaced = [self._current(old) for old in dict.fromkeys(operation.fids)]
        new = self._add(candidate, operation.vector, operation.cue_vectors)
        self.connection.executemany(
            # A session may be older than the fact it revises; an interval never ends before it begins.
            "UPDATE facts SET valid_until = max(valid_from, ?), superseded_by = ?, revision = ?"
            " WHERE uid = ? AND fact = ?",
            [(self.at, new, self.revision, self.uid, old) for old in replaced],
        )
        return new

    def _current(self, fact_id: str) -> int:
        fact = number(fact_id)
        row = self.connection.execute(
            "SELECT superseded_by, valid_until FROM facts WHERE uid = ? AND fact = ?", (self.uid, fact)
        ).fetchone()
        if fact is None or row is None:
            raise ConflictError(f"fact {fact_id!r} does not exist any more; read the facts again and decide anew")
        if row[1] is not None:
            successor = "" if row[0] is None else f" by {fid(row[0])!r}"
            raise ConflictError(f"fact {fact_id!r} has been replaced{successor}; read the facts again and decide anew")
        return fact

    def _add(self, candidate: Candidate, vector: Vectors, cue_vectors: Vectors) -> int:
        if self.encoder is None:
            raise StoreError("facts need vectors and this store was opened without an encoder; open it with one")
        blobs = pack(np.atleast_2d(vector), self.encoder, f"fact {candidate.info!r}")
        cue_blobs = pack(cue_vectors, self.encoder, f"the cues of {candidate.info!r}")
        if len(blobs) != 1 or len(cue_blobs) != len(candidate.cues):
            raise StoreError(
                f"fact {candidate.info!r} with {len(candidate.cues)} cues came with {len(blobs)} and {len(cue_blobs)} "
                "vectors; give one for the fact and one for each cue"
            )
        self.last += 1
        self._insert_fact(candidate)
        self.connection.executemany(
            "INSERT INTO cues (uid, fact, cue, text, weight) VALUES (?, ?, ?, ?, ?)",
            [(self.uid, self.last, n, cue.text, cue.weight) for n, cue in enumerate(candidate.cues, start=1)],
        )
        encoder = register_encoder(self.connection, self.encoder)
        self.connection.executemany(
            "INSERT INTO vectors (uid, encoder, fact, cue, vector) VALUES (?, ?, ?, ?, ?)",
            [(self.uid, encoder, self.last, n, blob) for n, blob in enumerate([*blobs, *cue_blobs])],
        )
        self._keep_sources(self.last, candidate.provenance, {})
        return self.last

    def _insert_fact(self, candidate: Candidate) -> None:
        event: tuple[Any, ...] = (None, None, None, None)
        if candidate.event_time is not None:
            event = (
                *map(microseconds, (candidate.event_time.start, candidate.event_time.end)),
                candidate.event_time.precision,
                candidate.event_time.zone,
            )
        row = self.connection.execute(
            "INSERT INTO facts (uid, fact, info, digest, words, type, entities, said_at, event_start, event_end,"
            " event_precision, event_zone, valid_from, revision)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self.uid, self.last, candidate.info, _digest(candidate.info), len(query_terms(candidate.info))),
                *(candidate.type, json.dumps(candidate.related_entities, ensure_ascii=False), self.at),
                *event,
                *(self.at, self.revision),
            ),
        )
        terms = " ".join(f"{self.uid}_{term}" for term in index_terms(candidate.info))
        self.connection.execute("INSERT INTO words (rowid, terms) VALUES (?, ?)", (row.lastrowid, terms))

    def _reinforce(self, fact: int, provenance: Sequence[Source]) -> int:
        held = {
            (session, message, quote): position
            for position, session, message, quote in self.connection.execute(
                "SELECT position, session, message, quote FROM sources WHERE uid = ? AND fact = ?", (self.uid, fact)
            )
        }
        self._keep_sources(fact, provenance, held)
        self.connection.execute(
            "UPDATE facts SET said_at = max(said_at, ?), revision = ? WHERE uid = ? AND fact = ?",
            (self.at, self.revision, self.uid, fact),
        )
        return fact

    def _keep_sources(self, fact: int, provenance: Sequence[Source], held: Mapping[_SourceRow, int]) -> None:
        if not provenance and any(session == self.session for session, _, _ in held):
            return
        # A fact that names no source stands on the session that brought it.
        wanted = [(s.session, s.message, s.quote) for s in provenance] or [(self.session, None, None)]
        new = [source for source in dict.fromkeys(wanted) if source not in held]
        self.connection.executemany(
            "INSERT INTO sources (uid, fact, position, session, message, quote) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (self.uid, fact, place, *source)
                for place, source in enumerate(new, start=max(held.values(), default=0) + 1)
            ],
        )


def _digest(info: str) -> bytes:
    return hashlib.blake2b(normalise(info).encode(), digest_size=16).digest()
