"""A recall as a stream of events.

In goes a recall that tells what happens; out come its events as they happen. The recall runs beside whoever reads, in a
task group of the reader's own task, so that it ends when the reader is cancelled.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from math import inf
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from prospection.recall.events import Done, Emit, RecallEvent
from prospection.types import Recall

__all__ = ["RecallStream"]


class RecallStream:
    """An asynchronous iterator of events, the last of which is `Done`; also a context manager.

    Read it to the end, or open it with `async with`, which ends the recall when the block is left. A recall that fails
    raises its error at the end of the events. It begins when it is opened or first read.
    """

    def __init__(self, recall: Callable[[Emit], Awaitable[Recall]]) -> None:
        self._recall = recall
        self._tasks: TaskGroup | None = None
        self._events: MemoryObjectReceiveStream[RecallEvent] | None = None
        self._over = False
        self._failure: Exception | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> RecallEvent:
        if self._over:
            raise StopAsyncIteration
        events = self._events or await self._open()
        try:
            return await events.receive()
        except anyio.EndOfStream:
            await self.aclose()
            if self._failure is not None:
                raise self._failure from None
            raise StopAsyncIteration from None
        except BaseException:  # the reader was cancelled
            await self.__aexit__(*sys.exc_info())
            raise

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks, events = self._tasks, self._events
        self._tasks, self._over = None, True
        if tasks is None or events is None:
            return
        tasks.cancel_scope.cancel()
        with events:
            await tasks.__aexit__(kind, error, trace)

    async def aclose(self) -> None:
        """End the recall if it is still under way. Idempotent."""
        await self.__aexit__(None, None, None)

    async def _open(self) -> MemoryObjectReceiveStream[RecallEvent]:
        told, events = anyio.create_memory_object_stream[RecallEvent](inf)
        self._events, self._tasks = events, anyio.create_task_group()
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._run, told)
        return events

    async def _run(self, told: MemoryObjectSendStream[RecallEvent]) -> None:
        with told:
            try:
                told.send_nowait(Done(recall=await self._recall(told.send_nowait)))
            except Exception as error:  # noqa: BLE001 - raised where the events are read, not in a task group
                self._failure = error
