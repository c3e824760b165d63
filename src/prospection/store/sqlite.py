"""The embedded store: one SQLite file, the standard library's driver, numpy for similarity.

Implements `prospection.protocols.FactStore`. Work with the file runs in threads: one connection writes, a few read, and
in WAL mode neither waits for the other. This module only decides which connection and which transaction; what is done
inside stands in the modules beside it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from prospection.errors import InputError, StoreError
from prospection.store import erase, intake, ledger, traces
from prospection.store.cache import IndexCache
from prospection.store.connection import MEMORY, check_path, connect, transaction
from prospection.store.failures import explained
from prospection.store.find import check_probes, find
from prospection.store.migrations import migrate
from prospection.store.rows import fid as fact_id
from prospection.store.rows import find_user, load_facts, number
from prospection.store.statistics import count
from prospection.store.vectors import Encoder, check_encoder, load_vectors
from prospection.types import (
    Erased,
    Fact,
    Hit,
    Operation,
    SearchFilter,
    SearchProbe,
    Session,
    SessionRecord,
    SessionState,
    Trace,
    Vectors,
)

__all__ = ["SQLiteStore"]

T = TypeVar("T")

_READERS = 4
_CURRENT = SearchFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    path: str
    busy_timeout: float

    @contextmanager
    def explained(self) -> Iterator[None]:
        with explained(self.path, self.busy_timeout):
            yield

    def connect(self) -> sqlite3.Connection:
        return connect(self.path, self.busy_timeout)


class SQLiteStore:
    """A `FactStore` in one file. Make one with `open`; see the protocol for what its methods promise."""

    def __init__(self, place: _Place, writer: sqlite3.Connection, encoder: Encoder | None, cache_users: int) -> None:
        """Take over an open, migrated connection. Use `open`."""
        self._place = place
        self._writer = writer
        self._encoder = encoder
        self._cache = IndexCache(cache_users, encoder)
        self._closed = False
        # A limiter of one token is a queue for the one connection behind it, and its waiters cost no threads.
        self._writing = anyio.CapacityLimiter(1)
        private = place.path == MEMORY  # nobody but its own connection sees such a database
        self._idle: list[sqlite3.Connection] = [writer] if private else []
        self._reading = self._writing if private else anyio.CapacityLimiter(_READERS)
        self._limiters = {self._reading, self._writing}

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
        place = _Place(path=str(path), busy_timeout=busy_timeout)
        made_by = Encoder(*encoder) if encoder is not None else None

        def start() -> sqlite3.Connection:
            check_path(place.path)
            with place.explained():
                connection = place.connect()
                try:
                    migrate(connection)
                    if made_by is not None:
                        check_encoder(connection, made_by)
                except BaseException:
                    connection.close()
                    raise
                return connection

        return cls(place, await anyio.to_thread.run_sync(start), made_by, cache_users)

    # --- sessions

    async def put_session(self, user: str, session: Session) -> SessionRecord:
        """Make a session durable, or append its new messages. Raises InputError for an empty user name."""
        return await self._write(lambda c: intake.put(c, intake.user_for_writing(c, user).uid, session))

    async def claim_session(self, user: str, session_id: str, *, now: datetime, lease: float) -> SessionRecord | None:
        """Take a session for extraction for `lease` seconds; None when it is not to be had."""
        return await self._write(lambda c: intake.claim(c, _uid(c, user), session_id, now, lease))

    async def finish_session(
        self, user: str, session_id: str, operations: Sequence[Operation], *, extracted: int, now: datetime
    ) -> tuple[Fact, ...]:
        """Carry out the operations and mark the first `extracted` messages as done, in one transaction."""

        def work(connection: sqlite3.Connection) -> tuple[Fact, ...]:
            row = intake.user_for_writing(connection, user)
            return ledger.finish(connection, row, session_id, operations, extracted=extracted, encoder=self._encoder)

        return await self._write(work)

    async def fail_session(self, user: str, session_id: str, *, reason: str, raw: str | None = None) -> None:
        """Mark a session as failed, unless it has been finished meanwhile. Raises StoreError when there is none."""
        await self._write(lambda c: intake.fail(c, _uid(c, user), session_id, reason, raw))

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
        after: str | None = None,
        limit: int = 100,
    ) -> list[Fact]:
        """Page through a user's facts in the order of ids, or fetch some by id, in the order asked."""

        def work(connection: sqlite3.Connection) -> list[Fact]:
            uid = _uid(connection, user)
            if fids is not None:
                wanted = [fact for fact in map(number, fids) if fact is not None]
            else:
                rows = connection.execute(
                    "SELECT fact FROM facts WHERE uid = ? AND fact > ? AND (? OR valid_until IS NULL)"
                    " ORDER BY fact LIMIT ?",
                    (uid, _start(after), history, max(limit, 0)),
                )
                wanted = [row[0] for row in rows]
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
        """
        check_probes(probes, None if self._encoder is None else self._encoder.dims)

        def work(connection: sqlite3.Connection) -> list[list[Hit]] | None:
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

    # --- traces

    async def put_trace(self, user: str, trace: Trace) -> None:
        """Keep a trace; the same id again replaces it."""
        await self._write(lambda c: traces.put_trace(c, intake.user_for_writing(c, user).uid, trace))

    async def traces(self, user: str, *, before: str | None = None, limit: int = 20) -> list[Trace]:
        """Newest first. Raises InputError when `before` is not held."""
        return await self._read(lambda c: traces.list_traces(c, _uid(c, user), before, limit))

    async def trace(self, user: str, trace_id: str) -> Trace | None:
        """One trace, or None."""
        return await self._read(lambda c: traces.load_trace(c, _uid(c, user), trace_id))

    # --- users

    async def users(self, *, after: str | None = None, limit: int = 100) -> list[str]:
        """Names of the users that have anything here, in the order of code points."""

        def work(connection: sqlite3.Connection) -> list[str]:
            rows = connection.execute(
                "SELECT name FROM users WHERE name > ? ORDER BY name LIMIT ?", (after or "", max(limit, 0))
            )
            return [row[0] for row in rows]

        return await self._read(work)

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
        await self._use_writer(erase.scrub)
        return erased

    async def statistics(self, user: str | None = None) -> dict[str, int]:
        """Counts, of one user or of all: see `prospection.store.statistics`."""
        return await self._read(lambda c: count(c, None if user is None else _uid(c, user)))

    async def close(self) -> None:
        """Close the file when running work has ended. Idempotent."""
        if self._closed:
            return
        self._closed = True

        def end() -> None:
            while self._idle:
                self._idle.pop().close()
            self._writer.close()

        borrowed = [(limiter, object()) for limiter in self._limiters for _ in range(int(limiter.total_tokens))]
        with anyio.CancelScope(shield=True):
            for limiter, borrower in borrowed:  # all tokens together: nothing is running any more
                await limiter.acquire_on_behalf_of(borrower)
            await anyio.to_thread.run_sync(end)
            for limiter, borrower in borrowed:  # whoever comes now is told that the store is closed
                limiter.release_on_behalf_of(borrower)

    async def __aenter__(self) -> SQLiteStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- connections

    async def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def run(connection: sqlite3.Connection) -> T:
            with transaction(connection, "IMMEDIATE"):
                return work(connection)

        return await self._use_writer(run)

    async def _use_writer(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def run() -> T:
            with self._in_use():
                return work(self._writer)

        return await anyio.to_thread.run_sync(run, limiter=self._writing)

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def run() -> T:
            with self._in_use():
                connection = self._idle.pop() if self._idle else self._place.connect()
                try:
                    with transaction(connection, "DEFERRED"):
                        return work(connection)
                finally:
                    self._idle.append(connection)

        return await anyio.to_thread.run_sync(run, limiter=self._reading)

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        if self._closed:
            raise StoreError(f"the store {self._place.path!r} is closed; open it again")
        with self._place.explained():
            yield


def _uid(connection: sqlite3.Connection, user: str) -> int:
    row = find_user(connection, user)
    return 0 if row is None else row.uid  # no row carries uid 0: reads find nothing


def _start(after: str | None) -> int:
    if after is None:
        return 0
    fact = number(after)
    if fact is None:
        raise InputError(f"{after!r} is not the id of a fact to go on after; ids look like {fact_id(1)!r}")
    return fact
