"""Indexes that rivals build before they are asked: one a user, made when it is first wanted, and only once.

What building cost is kept apart from what retrieval costs. Nothing is written here: the same replies make the same
index, so that who keeps replies, as a run does, goes on after a kill without paying again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar, runtime_checkable

import anyio

from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import SharedMemory, read_memory
from prospection.protocols import ChatModel, FactStore
from prospection.types import Usage

__all__ = ["Indexes", "Prepared"]

IndexT = TypeVar("IndexT")


@runtime_checkable
class Prepared(Protocol):
    """A system that has to build something before it can be asked."""

    async def prepare(self, user: str) -> Usage:
        """Build what is missing for a user, so that `retrieve` is timed without it.

        Returns:
            What building cost, also when it was built before.

        Raises:
            ModelError: A call failed; the next attempt starts again.
        """
        ...


class Indexes(Generic[IndexT]):
    """Every user's index."""

    def __init__(
        self,
        name: str,
        build: Callable[[SharedMemory, Questions], Awaitable[IndexT]],
        store: FactStore,
        model: ChatModel,
    ) -> None:
        """Build nothing yet.

        Args:
            name: Of the system, for the subjects of its calls.
            build: Makes an index of a memory; the same replies give the same index.
        """
        self._name, self._build, self._store, self._model = name, build, store, model
        self._built: dict[str, tuple[IndexT, Usage]] = {}
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def of(self, user: str) -> IndexT:
        """Return a user's index, built now if it is not there yet."""
        return (await self._ready(user))[0]

    async def usage(self, user: str) -> Usage:
        """Return what building a user's index cost, building it now if it is not there yet."""
        return (await self._ready(user))[1]

    async def _ready(self, user: str) -> tuple[IndexT, Usage]:
        async with self._locks[user]:
            if user not in self._built:
                questions = Questions(self._model, about=f"{self._name}: {user}")
                index = await self._build(await read_memory(self._store, user), questions)
                self._built[user] = index, questions.usage
            return self._built[user]
