"""One database file: its connections, and which work goes over which.

Work, a function of a connection, goes in; its result comes out, run in a thread. One connection writes, a few read, and
in WAL mode neither waits for the other. Knows nothing of what is stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio
import anyio.to_thread

from prospection.errors import StoreError
from prospection.store.connection import MEMORY, check_path, connect, transaction
from prospection.store.failures import explained

__all__ = ["Database"]

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_READERS = 4


class Database:
    """An open file. Make one with `open`."""

    def __init__(self, path: str, busy_timeout: float, writer: sqlite3.Connection) -> None:
        """Take over an open connection. Use `open`."""
        self._path = path
        self._busy_timeout = busy_timeout
        self._writer = writer
        self._closed = False
        # A limiter of one token is a queue for the one connection behind it, and its waiters cost no threads.
        self._writing = anyio.CapacityLimiter(1)
        private = path == MEMORY  # nobody but its own connection sees such a database
        self._idle: list[sqlite3.Connection] = [writer] if private else []
        self._reading = self._writing if private else anyio.CapacityLimiter(_READERS)
        self._limiters = {self._reading, self._writing}

    @classmethod
    async def open(cls, path: str, busy_timeout: float, prepare: Work[None]) -> Database:
        """Open a file, creating it if there is none.

        Args:
            path: The file, or ":memory:".
            busy_timeout: Seconds to wait for another process that is writing.
            prepare: Run on the first connection, outside of a transaction, before anything else.

        Raises:
            StorageFullError: There is no space for it.
            StoreError: The path cannot be used, or the file is something else.
        """

        def start() -> sqlite3.Connection:
            check_path(path)
            with explained(path, busy_timeout):
                connection = connect(path, busy_timeout)
                try:
                    prepare(connection)
                except BaseException:
                    connection.close()
                    raise
                return connection

        return cls(path, busy_timeout, await anyio.to_thread.run_sync(start))

    async def write(self, work: Work[T], *, durable: bool = True) -> T:
        """Run work in a transaction of its own: all of it is kept, or after an exception none of it.

        Args:
            durable: Whether it has to survive a power cut from now on, which waits for the disk. Otherwise it does so
                from the next durable write on. The death of the process loses neither.
        """

        def run(connection: sqlite3.Connection) -> T:
            if durable:
                with transaction(connection, "IMMEDIATE"):
                    return work(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with transaction(connection, "IMMEDIATE"):
                    return work(connection)
            finally:
                connection.execute("PRAGMA synchronous = FULL")

        return await self.alone(run)

    async def alone(self, work: Work[T]) -> T:
        """Run work that writes, outside of a transaction, while nothing else in this process writes."""

        def run() -> T:
            with self._in_use():
                return work(self._writer)

        return await anyio.to_thread.run_sync(run, limiter=self._writing)

    async def read(self, work: Work[T]) -> T:
        """Run work that only reads; all of it sees one state."""

        def run() -> T:
            with self._in_use():
                connection = self._idle.pop() if self._idle else connect(self._path, self._busy_timeout)
                try:
                    with transaction(connection, "DEFERRED"):
                        return work(connection)
                finally:
                    self._idle.append(connection)

        return await anyio.to_thread.run_sync(run, limiter=self._reading)

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

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        if self._closed:
            raise StoreError(f"the store {self._path!r} is closed; open it again")
        with explained(self._path, self._busy_timeout):
            yield
