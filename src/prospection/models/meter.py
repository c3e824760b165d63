"""A language model under a budget.

In goes a model and the ceilings of one piece of work; every call through the meter is added up, failed ones too, and
the call that would pass a ceiling is not made. What it never does: end the work. Its caller returns the best so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import anyio

from prospection.errors import BudgetExceededError, ModelError
from prospection.models.attempts import gate
from prospection.protocols import ChatModel, ChatReply, ChatRequest
from prospection.types import Budget, Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["MeteredChat"]

ReplyT = TypeVar("ReplyT", bound="BaseModel | str")


class MeteredChat:
    """Wraps a model for one recall or answer.

    Ceilings hold for retries inside a call as well. A prompt is taken for a quarter of its characters in tokens
    before it is sent; what the reply takes is only known afterwards, so the last call may pass `max_tokens` or
    `max_cost` by its own reply.

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
        began = self._clock()
        prompt = (len(request.system) + len(request.user)) // 4
        self._check(Usage(), prompt)
        outer = gate.get()
        spent, started = Usage(), 0

        def check(so_far: Usage) -> None:
            nonlocal spent, started
            self._check(so_far, prompt)
            if outer is not None:
                outer(so_far)
            spent, started = so_far, started + 1

        token = gate.set(check)
        call = Usage()
        try:
            with anyio.move_on_after(self._remaining()):
                reply = await self._model.complete(request)
                call = reply.usage
                return reply
            call = _interrupted(spent, started, self._clock() - began)
        except ModelError as error:
            call = error.usage or Usage()
            raise
        except anyio.get_cancelled_exc_class():
            call = _interrupted(spent, started, self._clock() - began)
            raise
        finally:
            gate.reset(token)
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

    def _check(self, so_far: Usage, prompt: int) -> None:
        """Refuse the next attempt of a call that has cost `so_far` when it would pass a ceiling."""
        budget, total = self._budget, self.usage + so_far
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


def _interrupted(spent: Usage, started: int, seconds: float) -> Usage:
    """What a call cost that never came back: its attempts are known, the price of the last one is not."""
    calls = max(started, 1) - spent.calls
    return spent + Usage(calls=calls, failed_calls=calls, cost=None, seconds=max(0.0, seconds - spent.seconds))
