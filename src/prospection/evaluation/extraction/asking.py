"""Many questions to a model side by side: items and a question in, an answer or an error for each out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import anyio

from prospection.errors import BudgetExceededError, ConfigError, CredentialError, ModelError
from prospection.protocols import Progress

__all__ = ["ask_all"]

T = TypeVar("T")
R = TypeVar("R")


async def ask_all(
    items: Sequence[T], ask: Callable[[T], Awaitable[R]], *, at_once: int = 8, progress: Progress | None = None
) -> list[R | ModelError]:
    """Ask about every item.

    Returns:
        For each item, in order, the answer, or the error that kept it from coming.

    Raises:
        CredentialError, BudgetExceededError, ConfigError: No further call can succeed.
    """
    answers: dict[int, R | ModelError] = {}
    fatal: list[ModelError | ConfigError] = []
    limiter = anyio.CapacityLimiter(at_once)

    async def one(place: int) -> None:
        async with limiter:
            try:
                answers[place] = await ask(items[place])
            except (CredentialError, BudgetExceededError, ConfigError) as error:
                # Raised below, so that callers meet the error itself and not a group around it.
                fatal.append(error)
                group.cancel_scope.cancel()
                return
            except ModelError as error:
                answers[place] = error
            if progress is not None:
                progress(len(answers), len(items))

    async with anyio.create_task_group() as group:
        for place in range(len(items)):
            group.start_soon(partial(one, place))
    if fatal:
        raise fatal[0]
    return [answers[place] for place in range(len(items))]
