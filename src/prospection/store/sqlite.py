"""The embedded store: one SQLite file, the standard library's driver, numpy for similarity.

Implements `prospection.protocols.FactStore`. This module only says what is read and what is written, each in a
transaction of its own; what is done inside stands in the modules beside it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path

from prospection.errors import InputError, StoreError
from prospection.store import erase, intake, ledger, moving, queue, reembed, spending, traces
from prospection.store.cache import IndexCache
from prospection.store.database import Database
from prospection.store.find import check_probes, find
from prospection.store.migrations import migrate
from prospection.store.rows import find_user, list_facts, list_users, load_facts, microseconds, number
from prospection.store.statistics import count
from prospection.store.vectors import Encoder, check_encoder, load_vectors
from prospection.types import (
    Edit,
    Erased,
    Fact,
    Hit,
    Operation,
    Record,
    SearchFilter,
    SearchProbe,
    Session,
    SessionRecord,
    SessionState,
    Trace,
    Unembedded,
    Usage,
    Vectors,
)

__all__ = ["SQLiteStore"]

_STRETCH = 20_000  # rows of vectors that are looked through in one transaction
_CURRENT = SearchFilter()


class SQLiteStore:
    """A `FactStore` in one file. Make one with `open`; see the protocol for what its methods promise."""

    def __init__(self, database: Database, encoder: Encoder | None, cache_users: int) -> None:
        """Take over an open, migrated database. Use `open`."""
        self._database = database
        self._read, self._write = database.read, database.write
        self._encoder = encoder
        self._cache = IndexCache(cache_users, encoder)

    @classmethod
    async def open(
        cls,
        path: str | Path,
        *,
        encoder: tuple[str, int] | None,
        busy_timeout: float = 30.0,
        cache_users: int = 64,
    ) -> SQLiteStore:
        """Open a store, creating the file if there is none.

        Args:
            path: The file, or ":memory:" for a store that ends with the process.
            encoder: Id and dimensions of the encoder whose vectors will be written and searched with. None: no
                vectors; facts cannot be added, and only text can be searched.
            busy_timeout: Seconds to wait for another process that is writing.
            cache_users: How many users' vectors stay in memory.

        Raises:
            EncoderMismatchError: The vectors held were made by another encoder.
            NewerDatabaseError: A newer version of prospection wrote it.
            StorageFullError: There is no space for it.
            StoreError: The path cannot be used, or the file is something else.
        """
        made_by = Encoder(*encoder) if encoder is not None else None

        def prepare(connection: sqlite3.Connection) -> None:
            migrate(connection)
            if made_by is not None:
                check_encoder(connection, made_by)

        return cls(await Database.open(str(path), busy_timeout, prepare), made_by, cache_users)

    # --- sessions

    async def put_session(self, user: str, session: Session) -> SessionRecord:
        """Make a session durable, or append its new messages. Raises InputError for an empty user name."""
        return await self._write(lambda c: intake.put(c, intake.user_for_writing(c, user).uid, session))

    async def claim_session(self, user: str, session_id: str, *, now: datetime, lease: float) -> SessionRecord | None:
        """Take a session for extraction for `lease` seconds; None when it is not to be had."""
        # A claim that a power cut takes back leaves a session that waits: nothing is lost by not waiting for the disk.
        return await self._write(lambda c: queue.claim(c, _uid(c, user), session_id, now, lease), durable=False)

    async def claim_next(
        self, *, now: datetime, lease: float, after: str | None = None, skip: frozenset[str] = frozenset()
    ) -> tuple[str, SessionRecord] | None:
        """Take the next due session of any user for `lease` seconds; None when nothing is due."""
        return await self._write(lambda c: queue.claim_next(c, now, lease, after, skip), durable=False)

    async def finish_session(
        self,
        user: str,
        session_id: str,
        operations: Sequence[Operation],
        *,
        extracted: int,
        since: int | None = None,
        now: datetime,
    ) -> tuple[Fact, ...]:
        """Carry out the operations and mark the first `extracted` messages as done, in one transaction."""

        def work(connection: sqlite3.Connection) -> tuple[Fact, ...]:
            row = intake.user_for_writing(connection, user)
            return ledger.finish(
                connection, row, session_id, operations, extracted=extracted, since=since, encoder=self._encoder
            )

        return await self._write(work)

    async def edit_facts(self, user: str, edits: Sequence[Edit], *, at: datetime) -> tuple[Fact, ...]:
        """Carry out what comes from no conversation, in one transaction."""
        when = microseconds(at)

        def work(connection: sqlite3.Connection) -> tuple[Fact, ...]:
            row = intake.user_for_writing(connection, user)
            return ledger.edit(connection, row, edits, at=when, encoder=self._encoder)

        return await self._write(work)

    async def fail_session(
        self, user: str, session_id: str, *, reason: str, raw: str | None = None, retry_at: datetime | None = None
    ) -> None:
        """Mark a session as failed, unless it has been finished meanwhile. Raises StoreError when there is none."""
        await self._write(lambda c: queue.fail(c, _uid(c, user), session_id, reason, raw, retry_at))

    async def release_session(self, user: str, session_id: str) -> None:
        """Put a claimed session back, the attempt not counted."""
        await self._write(lambda c: queue.release(c, _uid(c, user), session_id))

    async def sessions(
        self,
        user: str,
        *,
        states: frozenset[SessionState] | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionRecord]:
        """Page through a user's sessions in the order of arrival. Raises InputError when `after` is not held."""
        wanted = frozenset(SessionState) if states is None else states
        return await self._read(lambda c: intake.list_sessions(c, _uid(c, user), wanted, after, limit))

    async def session(self, user: str, session_id: str) -> SessionRecord | None:
        """One session, or None."""
        return await self._read(lambda c: intake.load_session(c, _uid(c, user), session_id))

    # --- facts

    async def facts(
        self,
        user: str,
        *,
        fids: Sequence[str] | None = None,
        history: bool = False,
        session: str | None = None,
        pinned: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> list[Fact]:
        """Page through a user's facts in the order of ids, or fetch some by id, in the order asked."""

        def work(connection: sqlite3.Connection) -> list[Fact]:
            uid = _uid(connection, user)
            if fids is not None:
                wanted = [fact for fact in map(number, fids) if fact is not None]
            else:
                wanted = list_facts(
                    connection, uid, history=history, session=session, pinned=pinned, after=after, limit=limit
                )
            found = load_facts(connection, uid, wanted)
            return [found[fact] for fact in wanted if fact in found]

        return await self._read(work)

    async def search(
        self,
        user: str,
        probes: Sequence[SearchProbe],
        *,
        k: int,
        min_similarity: float = -1.0,
        where: SearchFilter = _CURRENT,
    ) -> list[list[Hit]]:
        """Compare every probe with the user's facts, cues or words.

        The threshold is for cosines; hits over text are not bounded. Ties go by id.

        Raises:
            StoreError: A dense probe has no vector of the store's width, or the store was opened without an encoder.
            EncoderMismatchError: Another encoder has been put in use since the store was opened.
        """
        check_probes(probes, None if self._encoder is None else self._encoder.dims)

        def work(connection: sqlite3.Connection) -> list[list[Hit]] | None:
            if self._encoder is not None:
                check_encoder(connection, self._encoder)
            row = find_user(connection, user)
            if row is None:
                return [[] for _ in probes]
            index = self._cache.get(connection, row)
            if index is None:
                return None
            return find(connection, index, probes, k=k, min_similarity=min_similarity, where=where)

        while True:
            hits = await self._read(work)
            if hits is not None:  # None: somebody wrote meanwhile, and another search has already loaded it
                return hits

    async def vectors(self, user: str, fids: Sequence[str]) -> Vectors:
        """Vectors of some of the user's facts, in the order asked. Raises StoreError when one is not there."""
        if self._encoder is None:
            raise StoreError(
                "this store was opened without an encoder; open it with the one its vectors were made with"
            )
        encoder = self._encoder
        return await self._read(lambda c: load_vectors(c, _uid(c, user), encoder, [number(fid) for fid in fids]))

    # --- encoders

    async def prepare_encoder(self, encoder: tuple[str, int]) -> int:
        """Make room for an encoder's vectors; return how many texts have none of it yet."""
        return await self._write(lambda c: reembed.prepare(c, Encoder(*encoder)))

    async def unembedded(
        self, encoder: tuple[str, int], *, after: tuple[int, int] | None = None, limit: int = 100
    ) -> list[Unembedded]:
        """Page through all users' texts that have no vector of the encoder."""
        return await self._read(lambda c: reembed.unembedded(c, Encoder(*encoder), after, limit))

    async def put_vectors(self, encoder: tuple[str, int], texts: Sequence[Unembedded], vectors: Vectors) -> None:
        """Keep vectors of a prepared encoder. Raises ConflictError when it is not prepared any more."""
        await self._write(lambda c: reembed.put_vectors(c, Encoder(*encoder), texts, vectors), durable=False)

    async def use_encoder(self, encoder: tuple[str, int]) -> bool:
        """Put the prepared encoder in use if no vector is missing; tell whether it is."""
        return await self._write(lambda c: reembed.cut_over(c, Encoder(*encoder)))

    async def drop_unused_vectors(self) -> int:
        """Remove vectors of other encoders, in many short transactions; return how many."""
        removed, start = 0, 0
        while True:
            count, end = await self._write(partial(reembed.drop_unused, start=start, size=_STRETCH))
            removed += count
            if end is None:
                return removed
            start = end

    # --- usage

    async def add_usage(self, user: str, usage: Usage, *, day: date) -> None:
        """Add to what has been spent on a user on a day."""
        await self._write(lambda c: spending.add(c, _uid(c, user), day, usage), durable=False)

    async def usage(self, user: str | None = None, *, since: date) -> Usage:
        """Sum what has been spent from a day on, on a user or on all."""

        def work(connection: sqlite3.Connection) -> Usage:
            row = None if user is None else find_user(connection, user)
            if user is not None and row is None:
                return Usage()
            return spending.total(connection, None if row is None else row.uid, since)

        return await self._read(work)

    # --- traces

    async def put_trace(self, user: str, trace: Trace) -> None:
        """Keep a trace, unless what it shows has been forgotten meanwhile; the same id again replaces it."""

        def work(connection: sqlite3.Connection) -> None:
            row = find_user(connection, user)
            if row is not None and not traces.shows_what_is_gone(connection, row, trace):
                traces.put_trace(connection, row.uid, trace)

        await self._write(work)

    async def traces(self, user: str, *, before: str | None = None, limit: int = 20) -> list[Trace]:
        """Newest first. Raises InputError when `before` is not held."""
        return await self._read(lambda c: traces.list_traces(c, _uid(c, user), before, limit))

    async def trace(self, user: str, trace_id: str) -> Trace | None:
        """One trace, or None."""
        return await self._read(lambda c: traces.load_trace(c, _uid(c, user), trace_id))

    # --- users

    async def users(self, *, after: str | None = None, limit: int = 100) -> list[str]:
        """Names of the users that have anything here, in the order of code points."""
        return await self._read(lambda c: list_users(c, after, limit))

    async def forget(self, user: str, *, session: str | None = None, fid: str | None = None) -> Erased:
        """Erase a user, or one session with the facts that stand on it alone, or one fact with the versions before it.

        Afterwards the bytes are gone from the file and its log, which takes time with the size of the file. What is
        not there counts as erased: all counts are 0.

        Raises:
            InputError: Both a session and a fact are named.
            StoreError: Erased, but another process kept the bytes in the log; forget again.
        """
        if session is not None and fid is not None:
            raise InputError(f"name either session {session!r} or fact {fid!r} to forget, not both")

        def work(connection: sqlite3.Connection) -> tuple[int, Erased]:
            row = find_user(connection, user)
            if row is None:
                return 0, Erased()
            if session is not None:
                return row.uid, erase.erase_session(connection, row, session)
            if fid is not None:
                return row.uid, erase.erase_fact(connection, row, number(fid) or 0)
            return row.uid, erase.erase_user(connection, row)

        uid, erased = await self._write(work)
        self._cache.drop(uid)
        await self._database.alone(erase.scrub)
        return erased

    async def dump(self, user: str, *, after: Record | None = None, limit: int = 100) -> list[Record]:
        """Page through all that a user has. Raises InputError when `after` is not held."""
        return await self._read(lambda c: moving.dump(c, user, after, limit))

    async def restore(self, user: str, records: Sequence[Record]) -> None:
        """Write records as they are, in one transaction."""
        await self._write(lambda c: moving.restore(c, user, records, self._encoder))

    async def statistics(self, user: str | None = None) -> dict[str, int]:
        """Counts, of one user or of all: see `prospection.store.statistics`."""
        return await self._read(lambda c: count(c, None if user is None else _uid(c, user)))

    async def close(self) -> None:
        """Close the file when running work has ended. Idempotent."""
        await self._database.close()

    async def __aenter__(self) -> SQLiteStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _uid(connection: sqlite3.Connection, user: str) -> int:
    row = find_user(connection, user)
    return 0 if row is None else row.uid  # no row carries uid 0: reads find nothing
