"""What a session's extraction proposes, or a person's hand, carried out on the user's facts.

Operations go in, the numbers of the facts they came to come out. Runs inside the caller's transaction. Destroys
nothing that was said: a revision closes the old fact's interval and leaves it as history.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prospection.errors import ConflictError, StoreError
from prospection.store.erase import erase_rows, start_afresh
from prospection.store.fact_rows import digest, write_cues, write_fact, write_sources, write_vectors
from prospection.store.merges import is_merge, release
from prospection.store.rows import User, fid, instant, load_facts, number
from prospection.store.vectors import Encoder, pack
from prospection.types import (
    BY_HAND,
    Candidate,
    Close,
    Consolidated,
    Edit,
    Fact,
    Operation,
    Pin,
    Recue,
    Reinforce,
    Revise,
    SessionState,
    Source,
    Unmerge,
    Vectors,
)

__all__ = ["edit", "finish"]

_SourceRow = tuple[str, int | None, str | None]


def finish(
    connection: sqlite3.Connection,
    user: User,
    session: str,
    operations: Sequence[Operation],
    *,
    extracted: int,
    since: int | None,
    encoder: Encoder | None,
) -> tuple[Fact, ...]:
    """Carry out the operations and close the extraction of the session's first `extracted` messages.

    Args:
        since: How many messages were extracted when the work began; None: it does not matter.

    Raises:
        ConflictError: A fact to change is not current any more or pinned, or the session has been finished by
            somebody else.
        StoreError: There is no such session or not that many messages, or the store was opened without an encoder.
    """
    row = connection.execute(
        "SELECT sid, at, state, extracted FROM sessions WHERE uid = ? AND name = ?", (user.uid, session)
    ).fetchone()
    if row is None:
        raise StoreError(f"there is no session {session!r} to finish; store it first")
    sid, at, state, before = row
    if state == SessionState.DONE or since not in (None, before):
        raise ConflictError(f"session {session!r} has been finished by somebody else; nothing was stored twice")
    (messages,) = connection.execute("SELECT count(*) FROM messages WHERE sid = ?", (sid,)).fetchone()
    if extracted > messages:
        raise StoreError(f"session {session!r} has {messages} messages, not {extracted}")
    ledger = _Ledger(connection, user.uid, session, at, encoder, user.revision + 1, user.facts)
    changed = [ledger.carry_out(operation) for operation in operations]
    if changed:
        ledger.close()
    extracted = max(extracted, before)
    connection.execute(
        "UPDATE sessions SET state = ?, due = ?, extracted = ?, attempts = 0, reason = NULL, raw = NULL WHERE sid = ?",
        ((SessionState.DONE, None) if extracted == messages else (SessionState.PENDING, 0)) + (extracted, sid),
    )
    facts = load_facts(connection, user.uid, changed)
    return tuple(facts[fact] for fact in changed)


def edit(
    connection: sqlite3.Connection, user: User, edits: Sequence[Edit], *, at: int, encoder: Encoder | None
) -> tuple[Fact, ...]:
    """Carry out what comes from no conversation.

    Args:
        at: When, in microseconds.

    Raises:
        ConflictError: A fact to change is not current any more, or pinned, or no merge.
        StoreError: The store was opened without an encoder.
    """
    ledger = _Ledger(connection, user.uid, BY_HAND, at, encoder, user.revision + 1, user.facts)
    changed = [fact for each in edits for fact in ledger.edit(each)]
    ledger.close()
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
    afresh: bool = False

    def close(self) -> None:
        self.connection.execute(
            "UPDATE users SET facts = ?, revision = ? WHERE uid = ?", (self.last, self.revision, self.uid)
        )
        if self.afresh:
            start_afresh(self.connection, self.uid)

    def edit(self, edit: Edit) -> list[int]:
        match edit:
            case Close():
                return [self._end([self._current(edit.fid)], None)]
            case Pin():
                return [self._pin(self._current(edit.fid), pinned=edit.pinned)]
            case Recue():
                return [self._recue(self._current(edit.fid), edit)]
            case Unmerge():
                return self._unmerge(self._current(edit.fid))
            case Consolidated():
                self.connection.execute(
                    "UPDATE users SET consolidated = max(consolidated, ?) WHERE uid = ?",
                    (number(edit.fid) or 0, self.uid),
                )
                return []
            case _:
                return [self.carry_out(edit)]

    def carry_out(self, operation: Operation) -> int:
        if isinstance(operation, Reinforce):
            return self._reinforce(self._current(operation.fid), operation.provenance)
        if isinstance(operation, Revise):
            return self._revise(operation)
        candidate = operation.candidate
        twin = self._twin(candidate.info)
        if twin is None:
            new = self._add(candidate, operation.vector, operation.cue_vectors)
            self._keep_sources(new, candidate.provenance, {})
            return new
        if candidate.pinned:
            self._pin(twin, pinned=True)
        return self._reinforce(twin, candidate.provenance)

    def _revise(self, operation: Revise) -> int:
        candidate = operation.candidate
        replaced = [self._current(old) for old in dict.fromkeys(operation.fids)]
        pinned = [fact for fact in replaced if self._is_pinned(fact)]
        if pinned and not candidate.pinned:
            raise ConflictError(
                f"fact {fid(pinned[0])!r} is pinned and only a person may replace it; leave it as it is"
            )
        twin = self._twin(candidate.info)
        if twin is not None and twin not in replaced:  # what is said already is not said twice
            replaced.append(twin)
            candidate = replace(candidate, pinned=candidate.pinned or self._is_pinned(twin))
        for part in operation.parts:
            replaced.append(self._add(part.candidate, part.vector, part.cue_vectors))
            self._keep_sources(self.last, part.candidate.provenance, {})
        new = self._add(candidate, operation.vector, operation.cue_vectors)
        merges = len(replaced) > 1 and (bool(operation.parts) or self.session == BY_HAND)
        if candidate.provenance or not merges:
            self._keep_sources(new, candidate.provenance, {})
        self._end(replaced, new)
        return new

    def _end(self, facts: Sequence[int], successor: int | None) -> int:
        self.connection.executemany(
            # A session may be older than the fact it revises; an interval never ends before it begins.
            "UPDATE facts SET valid_until = max(valid_from, ?), superseded_by = ?, revision = ?"
            " WHERE uid = ? AND fact = ?",
            [(self.at, successor, self.revision, self.uid, fact) for fact in facts],
        )
        return facts[0]

    def _pin(self, fact: int, *, pinned: bool) -> int:
        self.connection.execute(
            "UPDATE facts SET pinned = ?, revision = ? WHERE uid = ? AND fact = ?",
            (pinned, self.revision, self.uid, fact),
        )
        return fact

    def _is_pinned(self, fact: int) -> bool:
        row = self.connection.execute("SELECT pinned FROM facts WHERE uid = ? AND fact = ?", (self.uid, fact))
        return bool(row.fetchone()[0])

    def _recue(self, fact: int, edit: Recue) -> int:
        encoder, blobs = self._packed(edit.cue_vectors, f"the cues of {edit.fid!r}")
        if len(blobs) != len(edit.cues):
            raise StoreError(
                f"{len(edit.cues)} cues of fact {edit.fid!r} came with {len(blobs)} vectors; give one for each"
            )
        self.connection.execute("DELETE FROM vectors WHERE uid = ? AND fact = ? AND cue > 0", (self.uid, fact))
        self.connection.execute("DELETE FROM cues WHERE uid = ? AND fact = ?", (self.uid, fact))
        write_cues(self.connection, self.uid, fact, edit.cues)
        write_vectors(self.connection, self.uid, fact, encoder, blobs, start=1)
        self.afresh = True
        return fact

    def _unmerge(self, fact: int) -> list[int]:
        if not is_merge(self.connection, self.uid, fact):
            raise ConflictError(f"fact {fid(fact)!r} was not merged from others, so there is nothing to take back")
        released = release(self.connection, self.uid, [fact])
        erase_rows(self.connection, self.uid, [fact])
        self.afresh = True
        return released

    def _twin(self, info: str) -> int | None:
        row = self.connection.execute(
            "SELECT fact FROM facts WHERE uid = ? AND digest = ? AND valid_until IS NULL", (self.uid, digest(info))
        ).fetchone()
        return None if row is None else int(row[0])

    def _current(self, fact_id: str) -> int:
        fact = number(fact_id)
        row = self.connection.execute(
            "SELECT superseded_by, valid_until FROM facts WHERE uid = ? AND fact = ?", (self.uid, fact)
        ).fetchone()
        if fact is None or row is None:
            raise ConflictError(f"fact {fact_id!r} does not exist any more; read the facts again and decide anew")
        if row[1] is not None:
            what = "removed" if row[0] is None else f"replaced by {fid(row[0])!r}"
            raise ConflictError(f"fact {fact_id!r} has been {what}; read the facts again and decide anew")
        return fact

    def _add(self, candidate: Candidate, vector: Vectors, cue_vectors: Vectors) -> int:
        encoder, blobs = self._packed(np.atleast_2d(vector), f"fact {candidate.info!r}")
        _, cue_blobs = self._packed(cue_vectors, f"the cues of {candidate.info!r}")
        if len(blobs) != 1 or len(cue_blobs) != len(candidate.cues):
            raise StoreError(
                f"fact {candidate.info!r} with {len(candidate.cues)} cues came with {len(blobs)} and {len(cue_blobs)} "
                "vectors; give one for the fact and one for each cue"
            )
        self.last += 1
        self._insert_fact(candidate)
        write_cues(self.connection, self.uid, self.last, candidate.cues)
        write_vectors(self.connection, self.uid, self.last, encoder, [*blobs, *cue_blobs], start=0)
        return self.last

    def _packed(self, vectors: Vectors, what: str) -> tuple[Encoder, list[bytes]]:
        if self.encoder is None:
            raise StoreError("facts need vectors and this store was opened without an encoder; open it with one")
        return self.encoder, pack(vectors, self.encoder, what)

    def _insert_fact(self, candidate: Candidate) -> None:
        said_at = instant(self.at)
        fact = Fact(
            fid=fid(self.last),
            info=candidate.info,
            type=candidate.type,
            related_entities=candidate.related_entities,
            said_at=said_at,
            event_time=candidate.event_time,
            valid_from=said_at,
            pinned=candidate.pinned,
        )
        write_fact(self.connection, self.uid, fact, self.revision)

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
        wanted = provenance or [Source(session=self.session)]
        new = [source for source in dict.fromkeys(wanted) if _row(source) not in held]
        write_sources(self.connection, self.uid, fact, new, start=max(held.values(), default=0) + 1)


def _row(source: Source) -> _SourceRow:
    return source.session, source.message, source.quote
