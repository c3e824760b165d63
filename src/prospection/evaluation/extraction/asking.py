"""Many questions to a model side by side: items and a question in, an answer or an error for each out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from prospection.errors import BudgetExceededError, CredentialError, ModelError
from prospection.evaluation.side_by_side import side_by_side
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
    done = 0

    async def one(item: T) -> R | ModelError:
        nonlocal done
        answer: R | ModelError
        try:
            answer = await ask(item)
        except (CredentialError, BudgetExceededError):
            raise
        except ModelError as error:
            answer = error
        done += 1
        if progress is not None:
            progress(done, len(items))
        return answer

    return await side_by_side([partial(one, item) for item in items], at_once=at_once)
