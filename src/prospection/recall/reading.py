"""Reading a reply while it is being written.

In goes a request and something to do with what has come so far; out comes the whole reply. What is done takes time of
its own: meanwhile the model goes on writing, and the next reading sees all of it at once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from prospection.errors import ProspectionError
from prospection.models.reply import parse_partial
from prospection.protocols import ChatReply, ChatRequest, ReplyT, StreamingChat

__all__ = ["read_along"]


async def read_along(
    model: StreamingChat, request: ChatRequest[ReplyT], partial: Callable[[Mapping[str, Any]], Awaitable[None]]
) -> ChatReply[ReplyT]:
    """Ask, and call `partial` with the readable part of the reply, as often as it keeps up.

    Raises:
        ModelError: As the model.
        ProspectionError: As `partial`; raised when the reply is there.
    """
    latest = ""
    more = anyio.Event()
    whole = False
    reply: ChatReply[ReplyT] | None = None
    failure: ProspectionError | None = None

    def heard(text: str) -> None:
        nonlocal latest
        latest = text
        more.set()

    async def read() -> None:
        nonlocal more, failure
        while True:
            await more.wait()
            more = anyio.Event()
            if whole:
                return  # the caller has the reply itself now
            try:
                await partial(parse_partial(latest))
            except ProspectionError as error:
                failure = error
                return

    # Errors are carried out by hand: a task group would wrap them into a group.
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        try:
            reply = await model.stream(request, heard)
        except ProspectionError as error:
            failure = error
        whole = True
        more.set()
    if failure is not None:
        raise failure
    if reply is None:
        raise AssertionError("unreachable: a model replies or raises")
    return reply
