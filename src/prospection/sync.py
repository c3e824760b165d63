"""`Memory`: `AsyncMemory` for code that does not await. One line a method, over an event loop in a thread of its own.

Ctrl-C cancels the call that is under way, so that a model stops being paid for what nobody waits for any more.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from prospection.config import Settings
from prospection.memory import AsyncMemory, MessageLike
from prospection.protocols import ChatModel, Embedder, FactStore, Progress
from prospection.types import Answer, Budget, Erased, Fact, Outcome, Recall, SessionRecord, SessionState, Trace

__all__ = ["Memory"]

T = TypeVar("T")


class Memory:
    """Long-term memory; see `AsyncMemory` for what each method does, takes, returns and raises."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        model: str | ChatModel | None = None,
        base_url: str | None = None,
        encoder: str | Embedder | None = None,
        policy: str | None = None,
        store: FactStore | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._memory = AsyncMemory(
            path, model=model, base_url=base_url, encoder=encoder, policy=policy, store=store, settings=settings
        )
        self._loop = _Loop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the store and end the background thread. Idempotent."""
        self._loop.stop(self._memory.close)

    def add(
        self,
        messages: Sequence[MessageLike],
        *,
        user: str,
        session: str | None = None,
        at: datetime | None = None,
        zone: str | None = None,
        wait: bool = True,
    ) -> Outcome:
        """See `AsyncMemory.add`."""
        return self._loop.run(
            partial(self._memory.add, messages, user=user, session=session, at=at, zone=zone, wait=wait)
        )

    def retry(self, *, user: str, progress: Progress | None = None) -> list[Outcome]:
        """See `AsyncMemory.retry`."""
        return self._loop.run(partial(self._memory.retry, user=user, progress=progress))

    def recall(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Recall:
        """See `AsyncMemory.recall`."""
        return self._loop.run(
            partial(self._memory.recall, query, user=user, at=at, policy=policy, limit=limit, budget=budget)
        )

    def answer(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """See `AsyncMemory.answer`."""
        return self._loop.run(
            partial(self._memory.answer, query, user=user, at=at, policy=policy, limit=limit, budget=budget)
        )

    def facts(self, *, user: str, history: bool = False, after: str | None = None, limit: int = 100) -> list[Fact]:
        """See `AsyncMemory.facts`."""
        return self._loop.run(partial(self._memory.facts, user=user, history=history, after=after, limit=limit))

    def fact(self, fid: str, *, user: str) -> Fact | None:
        """See `AsyncMemory.fact`."""
        return self._loop.run(partial(self._memory.fact, fid, user=user))

    def sessions(
        self,
        *,
        user: str,
        states: frozenset[SessionState] | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionRecord]:
        """See `AsyncMemory.sessions`."""
        return self._loop.run(partial(self._memory.sessions, user=user, states=states, after=after, limit=limit))

    def traces(self, *, user: str, before: str | None = None, limit: int = 20) -> list[Trace]:
        """See `AsyncMemory.traces`."""
        return self._loop.run(partial(self._memory.traces, user=user, before=before, limit=limit))

    def trace(self, trace_id: str, *, user: str) -> Trace | None:
        """See `AsyncMemory.trace`."""
        return self._loop.run(partial(self._memory.trace, trace_id, user=user))

    def users(self, *, after: str | None = None, limit: int = 100) -> list[str]:
        """See `AsyncMemory.users`."""
        return self._loop.run(partial(self._memory.users, after=after, limit=limit))

    def statistics(self, *, user: str | None = None) -> dict[str, int]:
        """See `AsyncMemory.statistics`."""
        return self._loop.run(partial(self._memory.statistics, user=user))

    def forget(self, *, user: str, session: str | None = None, fid: str | None = None) -> Erased:
        """See `AsyncMemory.forget`."""
        return self._loop.run(partial(self._memory.forget, user=user, session=session, fid=fid))


class _Loop:
    """An event loop in a daemon thread, started by the first call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine function there and wait for its result."""
        future: Future[Any] = self._started().start_task_soon(call)
        try:
            return future.result()  # type: ignore[no-any-return]
        except BaseException:
            future.cancel()  # of no effect when the call itself raised
            raise

    def stop(self, last: Callable[[], Awaitable[None]]) -> None:
        """Run `last`, then end the thread. Does nothing when no call was ever made."""
        with self._lock:
            portal, thread = self._portal, self._thread
            self._portal = self._thread = None
        if portal is None or thread is None:
            return
        try:
            portal.call(last)
        finally:
            portal.call(portal.stop)
            thread.join()

    def _started(self) -> BlockingPortal:
        with self._lock:
            if self._portal is None:
                ready: Future[BlockingPortal] = Future()
                # A daemon: a program that never calls close() can still end. Nothing is lost by it: what `add`
                # acknowledged is on disk.
                self._thread = threading.Thread(target=anyio.run, args=(_serve, ready), daemon=True)
                self._thread.start()
                self._portal = ready.result()
            return self._portal


async def _serve(ready: Future[BlockingPortal]) -> None:
    async with BlockingPortal() as portal:
        ready.set_result(portal)
        await portal.sleep_until_stopped()
