"""The read side of a memory: a request in; facts, an answer, or the reason why out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from prospection.errors import InputError
from prospection.memory.opening import Opening, checked, page
from prospection.types import Answer, Budget, Recall, Trace

if TYPE_CHECKING:
    from prospection.recall.recalling import Recalling
    from prospection.recall.replay import Replayed
    from prospection.recall.stream import RecallStream
    from prospection.recall.why import Why

__all__ = ["Recalls"]

T = TypeVar("T")


class Recalls(Opening):
    """Recall, answer, explain."""

    async def recall(
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
        """Find the memories that an answer to the request has to respect.

        Args:
            query: The request, in the person's words.
            user: Whose memory.
            at: When the request is made, aware: memory is searched as it stood then. By default now.
            policy: "pgr", "library", "hybrid", "direct", ...; by default as the memory was made.
            shadow: A second policy that runs at the same time and is only recorded: `Recall.trace.shadow`. Both are
                held to the budget, each for itself, and the slower one is waited for.
            limit: Facts to return, for policies without a stopping rule of their own.
            budget: Ceilings; at a ceiling the best so far comes back with `partial` set.

        Raises:
            InputError: The query is empty or the time naive.
            UnknownUserError: The user has no memory here.
            UnknownNameError: There is no such policy.
            ModelError: The language model failed before anything was found.
        """
        return await self._recalled(
            lambda it: it.recall(
                query, user=checked(user), at=at, policy=policy, shadow=shadow, limit=limit, budget=budget
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
    ) -> RecallStream:
        """Recall, and tell what happens while it happens; arguments and errors as in `recall`.

        Where the language model streams, memory is searched with what it has written while it is still writing.

        Returns:
            An iterator of `prospection.recall.events`, the last of which is `Done` with the recall. Read it to the
            end, or open it with `async with`, which ends the recall when the block is left.

        Example:
            ```python
            async with memory.recall_stream("Plan two weeks in Italy", user="ada") as events:
                async for event in events:
                    ...
            ```
        """
        from prospection.recall.stream import RecallStream

        return RecallStream(
            lambda emit: self._recalled(
                lambda it: it.recall(
                    query, user=checked(user), at=at, policy=policy, limit=limit, budget=budget, emit=emit
                )
            )
        )

    async def answer(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Answer the request from memory, citing facts; arguments as in `recall`.

        One call of the budget is kept back for the answer itself, and a third of its tokens, money and seconds.

        Raises:
            ConfigError: There is no language model.
            BudgetExceededError: The budget allows no call at all.
            AnswerError: Memory was searched, but no answer came; it carries the recall.
            ModelError: The language model failed before anything was found.
        """
        return await self._recalled(
            lambda it: it.answer(query, user=checked(user), at=at, policy=policy, limit=limit, budget=budget)
        )

    async def explain(self, fid: str, *, user: str, trace_id: str | None = None) -> Why:
        """Say why a recall returned a fact, or why it did not; of the latest recall where none is named.

        Raises:
            InputError: There is no such trace.
        """
        trace = await self._trace(trace_id, user)
        return await self._recalled(lambda it: it.why(fid, trace))

    async def replay(self, trace_id: str | None = None, *, user: str) -> Replayed:
        """Run a recall again over memory as it is now, with what the model said then; no model is asked.

        Nothing of it is stored. By default the latest recall.

        Raises:
            InputError: There is no such trace.
            ConfigError: Its policy does not take the recorded parameters any more.
            ModelError: It would ask what was not recorded.
        """
        trace = await self._trace(trace_id, user)
        return await self._recalled(lambda it: it.replay(trace))

    async def traces(self, *, user: str, before: str | None = None, limit: int = 20) -> list[Trace]:
        """Page through a user's traces, newest first; `before` is the last id seen."""
        return await (await self._open()).store.traces(checked(user), before=before, limit=page(limit))

    async def trace(self, trace_id: str | None = None, *, user: str) -> Trace | None:
        """Return one trace, by default the latest; None when there is no such trace."""
        if trace_id is None:
            latest = await self.traces(user=user, limit=1)
            return latest[0] if latest else None
        return await (await self._open()).store.trace(checked(user), trace_id)

    async def _recalled(self, call: Callable[[Recalling], Awaitable[T]]) -> T:
        return await self._across(lambda opened: call(opened.recalling))

    async def _trace(self, trace_id: str | None, user: str) -> Trace:
        found = await self.trace(trace_id, user=user)
        if found is None:
            what = f"no trace {trace_id!r}" if trace_id else "no traces"
            raise InputError(f"user {user!r} has {what}; list them with traces(), or recall something first")
        return found
