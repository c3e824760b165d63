"""A language model under a budget.

In goes a model and the ceilings of one piece of work; every call through the meter is added up, failed ones and those
still under way too, and the call that would pass a ceiling is not made. What it never does: end the work. Its caller
returns the best so far.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import anyio

from prospection.errors import BudgetExceededError, ModelError
from prospection.models.attempts import gate
from prospection.protocols import ChatModel, ChatReply, ChatRequest, ReplyT, StreamingChat
from prospection.types import Budget, Usage

__all__ = ["MeteredChat", "remaining"]


@dataclass(slots=True)
class _UnderWay:
    """A call that has not come back: its prompt's tokens, what failed attempts have cost, how many were begun."""

    prompt: int
    spent: Usage = field(default_factory=Usage)
    begun: int = 1

    @property
    def committed(self) -> Usage:
        """What this call takes from the ceilings of others already."""
        pending = self.begun - self.spent.calls
        return self.spent + Usage(calls=pending, tokens_in=self.prompt * pending)


class MeteredChat:
    """Wraps a model for one recall or answer.

    Ceilings hold for retries inside a call and for calls side by side as well. A prompt is taken for a quarter of its
    characters in tokens before it is sent; what a reply takes is only known afterwards, so that calls under way may
    pass `max_tokens` or `max_cost` by their own replies.

    Attributes:
        usage: Of all calls so far.
    """

    def __init__(
        self, model: ChatModel, budget: Budget | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start the budget; the deadline runs from here.

        Args:
            model: What is asked.
            budget: The ceilings; none by default, then the meter only counts.
            clock: Seconds that only grow.
        """
        self.usage = Usage()
        self._under_way: list[_UnderWay] = []
        self._model = model
        self._budget = budget or Budget()
        self._clock = clock
        self._started = clock()

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self._model.name

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """Ask the model inside, within the budget.

        Raises:
            BudgetExceededError: A ceiling is reached, or the deadline passed during the call, which was cancelled.
            ModelError: As the model inside.
        """
        return await self._metered(request, partial(self._model.complete, request))

    async def stream(self, request: ChatRequest[ReplyT], heard: Callable[[str], None]) -> ChatReply[ReplyT]:
        """See `StreamingChat.stream`, within the budget; a model inside that cannot stream is asked without."""
        if not isinstance(self._model, StreamingChat):
            return await self.complete(request)
        return await self._metered(request, partial(self._model.stream, request, heard))

    async def _metered(
        self, request: ChatRequest[ReplyT], ask: Callable[[], Awaitable[ChatReply[ReplyT]]]
    ) -> ChatReply[ReplyT]:
        began = self._clock()
        own = _UnderWay(request.tokens)
        self._check(own)
        outer = gate.get()

        def check(so_far: Usage) -> None:
            own.spent, own.begun = so_far, so_far.calls
            self._check(own)
            if outer is not None:
                outer(so_far)
            own.begun = so_far.calls + 1

        token = gate.set(check)
        call = Usage()
        self._under_way.append(own)
        try:
            with anyio.move_on_after(self._remaining()):
                reply = await ask()
                call = reply.usage
                return reply
            call = _interrupted(own, self._clock() - began)
        except ModelError as error:
            call = error.usage or Usage()
            raise
        except anyio.get_cancelled_exc_class():
            call = _interrupted(own, self._clock() - began)
            raise
        finally:
            gate.reset(token)
            self._under_way.remove(own)
            self.usage += call
        raise BudgetExceededError(
            f"the call of stage {request.stage!r} was cancelled at the deadline of {self._budget.deadline:g} s; "
            "raise the deadline or use a faster model",
            usage=call,
        )

    def _remaining(self) -> float | None:
        if self._budget.deadline is None:
            return None
        return self._budget.deadline - (self._clock() - self._started)

    def _check(self, own: _UnderWay) -> None:
        """Refuse the next attempt of a call when it would pass a ceiling."""
        budget, total, so_far, prompt = self._budget, self.usage + own.spent, own.spent, own.prompt
        for other in self._under_way:
            if other is not own:
                total += other.committed
        tokens = total.tokens_in + total.tokens_out
        remaining = self._remaining()
        reason = None
        if budget.max_calls is not None and total.calls >= budget.max_calls:
            reason = f"{total.calls} calls are made and max_calls is {budget.max_calls}"
        elif budget.max_tokens is not None and tokens + prompt > budget.max_tokens:
            reason = (
                f"{tokens} tokens are used, the next prompt has about {prompt}, and max_tokens is {budget.max_tokens}"
            )
        elif budget.max_cost is not None and total.cost is None:
            reason = f"the price of {self.name!r} is not known, so max_cost {budget.max_cost:g} cannot be kept"
        elif budget.max_cost is not None and total.cost is not None and total.cost >= budget.max_cost:
            reason = f"{total.cost:.4f} dollars are spent and max_cost is {budget.max_cost:g}"
        elif remaining is not None and remaining <= 0:
            reason = f"the deadline of {budget.deadline:g} s has passed"
        if reason is not None:
            raise BudgetExceededError(f"no further call: {reason}; raise the ceiling to go on", usage=so_far)


def remaining(budget: Budget, spent: Usage, seconds: float) -> Budget:
    """Return what is left of a budget after some work; a ceiling that was passed, or work of unknown price, leaves 0.

    Args:
        seconds: How long the work took, waiting included.
    """

    def left(ceiling: float | None, used: float) -> float | None:
        return None if ceiling is None else max(ceiling - used, 0.0)

    return Budget(
        max_calls=None if budget.max_calls is None else max(budget.max_calls - spent.calls, 0),
        max_tokens=None
        if budget.max_tokens is None
        else max(budget.max_tokens - spent.tokens_in - spent.tokens_out, 0),
        max_cost=left(budget.max_cost, float("inf") if spent.cost is None else spent.cost),
        deadline=left(budget.deadline, seconds),
    )


def _interrupted(own: _UnderWay, seconds: float) -> Usage:
    """What a call cost that never came back: its attempts are known, the price of the last one is not."""
    spent = own.spent
    calls = own.begun - spent.calls
    return spent + Usage(calls=calls, failed_calls=calls, cost=None, seconds=max(0.0, seconds - spent.seconds))
