"""The simplest memory: a function from texts to what it finds for each of them.

`FunctionRetriever` makes a `Retriever` of it, and every adapter of this package is such a function. It knows facts
only: it has no future cues and no index of words, so probes over these are answered by [].
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

import anyio
import anyio.to_thread

from prospection.errors import InputError
from prospection.integrations.found import Found, FoundLike, as_found, hits_of
from prospection.types import Hit, Probe

__all__ = ["AT_ONCE", "FunctionRetriever", "Search", "call", "search_each"]

Search: TypeAlias = (
    "Callable[[list[str], int], Sequence[Sequence[FoundLike]] | Awaitable[Sequence[Sequence[FoundLike]]]]"
)
"""From n texts and k to n lists of at most k things found; plain or async."""

AT_ONCE = 8
"""Searches that run at the same time where a framework takes one text at a time."""


class FunctionRetriever:
    """A `Retriever` over a search function.

    Example:
        ```python
        def search(texts, k):
            return [[("n1", "User's mother has dialysis on Mondays", 0.8)] for text in texts]

        prospector = Prospector(FunctionRetriever(search))
        ```
    """

    def __init__(self, search: Search, *, most: int = 100) -> None:
        """Describe the memory; nothing is searched yet.

        Args:
            search: From texts and k to one list for each text, in order. A plain function runs in a thread of its
                own, so it may block.
            most: Hits of one probe at most, however many a policy asks for.
        """
        self._search = search
        self._most = most

    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float = -1.0) -> list[list[Hit]]:
        """See `Retriever.retrieve`. `min_similarity` is on the scale of the function's own scores.

        Errors of the function pass through unchanged.

        Raises:
            InputError: What the function returned cannot be read.
        """
        texts = list(dict.fromkeys(probe.text for probe in probes if probe.over == "facts"))
        if not texts:
            return [[] for _ in probes]
        k = min(k, self._most)
        lists = await call(self._search, texts, k)
        if not isinstance(lists, Sequence) or isinstance(lists, str) or len(lists) != len(texts):
            came = f"{len(lists)} lists" if isinstance(lists, Sequence) else repr(lists)
            raise InputError(f"a search for {len(texts)} texts brought {came}; return one list for each text, in order")
        hits = {
            text: hits_of(map(as_found, found), k=k, min_similarity=min_similarity)
            for text, found in zip(texts, lists, strict=True)
        }
        return [list(hits[probe.text]) if probe.over == "facts" else [] for probe in probes]


async def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - foreign code
    """Call a plain function in a thread, or an async one here, and return its result."""
    bound = partial(function, *arguments, **named)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await bound()
    result = await anyio.to_thread.run_sync(bound)
    return await result if inspect.isawaitable(result) else result


async def search_each(
    search: Callable[[str], Awaitable[list[Found]]], texts: Sequence[str], *, at_once: int = AT_ONCE
) -> list[list[Found]]:
    """Search for every text by itself, `at_once` at the same time; the first error ends the rest and passes through."""
    found: dict[int, list[Found]] = {}
    limiter = anyio.CapacityLimiter(at_once)

    async def one(place: int, text: str) -> None:
        async with limiter:
            found[place] = await search(text)

    try:
        async with anyio.create_task_group() as group:
            for place, text in enumerate(texts):
                group.start_soon(one, place, text)
    except BaseExceptionGroup as failed:
        raise cast("BaseException", failed.exceptions[0]) from None
    return [found[place] for place in range(len(texts))]
