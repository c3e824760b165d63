"""`Memory`: `AsyncMemory` for code that does not await. One line a method, over an event loop in a thread of its own.

Ctrl-C cancels the call that is under way, so that a model stops being paid for what nobody waits for any more.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from datetime import date, datetime
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeVar

import anyio
from anyio.from_thread import BlockingPortal

from prospection.config import Settings
from prospection.errors import ConfigError
from prospection.memory import AsyncMemory, MessageLike
from prospection.protocols import ChatModel, Embedder, FactStore, Progress
from prospection.types import (
    Answer,
    Budget,
    Consolidation,
    CueBackfill,
    Erased,
    Fact,
    FactType,
    Outcome,
    Recall,
    Record,
    Review,
    SessionRecord,
    SessionState,
    SessionStatus,
    Trace,
    Usage,
    Work,
)

if TYPE_CHECKING:
    from prospection.recall.events import RecallEvent
    from prospection.recall.replay import Replayed
    from prospection.recall.why import Why

__all__ = ["BackgroundLoop", "Memory"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

PARTING_SECONDS = 10.0
"""How long an interrupted call may take to end."""


class Stream(Protocol[T_co]):
    """An asynchronous iterator that is opened and closed with `async with`."""

    async def __aenter__(self) -> AsyncIterator[T_co]: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


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
        self._loop = BackgroundLoop()

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

    def operation(self, session: str, *, user: str) -> SessionStatus | None:
        """See `AsyncMemory.operation`."""
        return self._loop.run(partial(self._memory.operation, session, user=user))

    def work(
        self,
        *,
        once: bool = False,
        concurrency: int | None = None,
        told: Callable[[str, Outcome], None] | None = None,
    ) -> Work:
        """See `AsyncMemory.work`. `told` is called in the background thread."""
        return self._loop.run(partial(self._memory.work, once=once, concurrency=concurrency, told=told))

    def usage(self, *, user: str | None = None, since: date | None = None) -> Usage:
        """See `AsyncMemory.usage`."""
        return self._loop.run(partial(self._memory.usage, user=user, since=since))

    def recall(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        shadow: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Recall:
        """See `AsyncMemory.recall`."""
        return self._loop.run(
            partial(
                self._memory.recall,
                query,
                user=user,
                at=at,
                policy=policy,
                shadow=shadow,
                limit=limit,
                budget=budget,
            )
        )

    def recall_stream(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Iterator[RecallEvent]:
        """See `AsyncMemory.recall_stream`. Closing the iterator, or leaving it to be collected, ends the recall."""
        return self._loop.iterate(
            partial(self._memory.recall_stream, query, user=user, at=at, policy=policy, limit=limit, budget=budget)
        )

    def explain(self, fid: str, *, user: str, trace_id: str | None = None) -> Why:
        """See `AsyncMemory.explain`."""
        return self._loop.run(partial(self._memory.explain, fid, user=user, trace_id=trace_id))

    def replay(self, trace_id: str | None = None, *, user: str) -> Replayed:
        """See `AsyncMemory.replay`."""
        return self._loop.run(partial(self._memory.replay, trace_id, user=user))

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

    def session(self, session_id: str, *, user: str) -> SessionRecord | None:
        """See `AsyncMemory.session`."""
        return self._loop.run(partial(self._memory.session, session_id, user=user))

    def traces(self, *, user: str, before: str | None = None, limit: int = 20) -> list[Trace]:
        """See `AsyncMemory.traces`."""
        return self._loop.run(partial(self._memory.traces, user=user, before=before, limit=limit))

    def trace(self, trace_id: str | None = None, *, user: str) -> Trace | None:
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

    def dump(self, *, user: str, after: Record | None = None, limit: int = 100) -> list[Record]:
        """See `AsyncMemory.dump`."""
        return self._loop.run(partial(self._memory.dump, user=user, after=after, limit=limit))

    def restore(self, records: Sequence[Record], *, user: str) -> None:
        """See `AsyncMemory.restore`."""
        self._loop.run(partial(self._memory.restore, records, user=user))

    def review(self, session_id: str, *, user: str) -> Review:
        """See `AsyncMemory.review`."""
        return self._loop.run(partial(self._memory.review, session_id, user=user))

    def add_fact(
        self,
        info: str,
        *,
        user: str,
        kind: FactType | None = None,
        cues: Sequence[str] = (),
        pinned: bool = False,
        at: datetime | None = None,
    ) -> Fact:
        """See `AsyncMemory.add_fact`."""
        return self._loop.run(
            partial(self._memory.add_fact, info, user=user, kind=kind, cues=cues, pinned=pinned, at=at)
        )

    def edit_fact(
        self,
        fid: str,
        info: str,
        *,
        user: str,
        kind: FactType | None = None,
        cues: Sequence[str] | None = None,
        at: datetime | None = None,
    ) -> Fact:
        """See `AsyncMemory.edit_fact`."""
        return self._loop.run(partial(self._memory.edit_fact, fid, info, user=user, kind=kind, cues=cues, at=at))

    def pin_fact(self, fid: str, *, user: str, pinned: bool = True) -> Fact:
        """See `AsyncMemory.pin_fact`."""
        return self._loop.run(partial(self._memory.pin_fact, fid, user=user, pinned=pinned))

    def remove_fact(self, fid: str, *, user: str, at: datetime | None = None) -> Fact:
        """See `AsyncMemory.remove_fact`."""
        return self._loop.run(partial(self._memory.remove_fact, fid, user=user, at=at))

    def consolidate(
        self,
        *,
        user: str,
        dry_run: bool = False,
        order: Literal["published", "improved"] | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> Consolidation:
        """See `AsyncMemory.consolidate`."""
        return self._loop.run(
            partial(self._memory.consolidate, user=user, dry_run=dry_run, order=order, budget=budget, progress=progress)
        )

    def unmerge(self, fid: str, *, user: str) -> tuple[Fact, ...]:
        """See `AsyncMemory.unmerge`."""
        return self._loop.run(partial(self._memory.unmerge, fid, user=user))

    def backfill_cues(
        self,
        *,
        user: str,
        fids: Sequence[str] | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> CueBackfill:
        """See `AsyncMemory.backfill_cues`."""
        return self._loop.run(
            partial(self._memory.backfill_cues, user=user, fids=fids, budget=budget, progress=progress)
        )

    def reembed(self, encoder: str | Embedder, *, progress: Progress | None = None) -> int:
        """See `AsyncMemory.reembed`."""
        return self._loop.run(partial(self._memory.reembed, encoder, progress=progress))


class BackgroundLoop:
    """An event loop in a daemon thread, started by the first call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None
        self._process = 0

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine function there and wait for its result."""
        ended = threading.Event()

        async def watched() -> T:
            try:
                return await call()
            finally:
                ended.set()

        future: Future[T] = self._started().start_task_soon(watched)
        try:
            return future.result()
        except BaseException:
            # Only where waiting was interrupted is there something to cancel; then the call gets the time to put its
            # affairs in order before anybody closes what it works on.
            if future.cancel():
                ended.wait(PARTING_SECONDS)
            raise

    def iterate(self, opened: Callable[[], Stream[T]]) -> Iterator[T]:
        """Run an asynchronous iterator there and yield what it brings; it is closed with this one."""
        items: SimpleQueue[T | None] = SimpleQueue()
        ended = threading.Event()

        async def pump() -> None:
            try:
                async with opened() as stream:
                    async for item in stream:
                        items.put(item)
            finally:
                items.put(None)
                ended.set()

        future = self._started().start_task_soon(pump)
        try:
            while (item := items.get()) is not None:
                yield item
            future.result()
        finally:
            if future.cancel():
                ended.wait(PARTING_SECONDS)

    def stop(self, last: Callable[[], Awaitable[None]]) -> None:
        """Run `last`, then end the thread. Does nothing when no call was ever made."""
        if self._process != os.getpid():
            return  # never started, or by another process that forked: the thread and the open file are that one's
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
        if self._process not in (0, os.getpid()):
            raise ConfigError(
                f"this memory was opened in process {self._process}, which forked: its thread did not come along; "
                "make a Memory of its own in each process"
            )
        with self._lock:
            if self._portal is None:
                self._process = os.getpid()
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
