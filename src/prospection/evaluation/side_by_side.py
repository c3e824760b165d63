"""Jobs side by side: calls to make in, their results out. The first error ends them and is raised itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

from prospection.errors import ProspectionError

__all__ = ["side_by_side"]

T = TypeVar("T")


async def side_by_side(jobs: Sequence[Callable[[], Awaitable[T]]], *, at_once: int, finish: bool = False) -> list[T]:
    """Run jobs, begun in their order.

    Args:
        at_once: Jobs under way at a time, at least 1.
        finish: After an error let the jobs that are under way end, because what they do is paid for; else they are
            cancelled. None begins any more either way.

    Returns:
        The results, in the order of the jobs; [] for none.

    Raises:
        ProspectionError: The first that a job raised, and not a group around it.
    """
    results: dict[int, T] = {}
    failures: list[ProspectionError] = []
    waiting = iter(enumerate(jobs))

    async def work() -> None:
        for place, job in waiting:
            if failures:
                return
            try:
                results[place] = await job()
            except ProspectionError as error:
                failures.append(error)
                if not finish:
                    group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for _ in range(min(at_once, len(jobs))):
            group.start_soon(work)
    if failures:
        raise failures[0]
    return [results[place] for place in range(len(jobs))]
