"""The memory M that all systems share: a user's facts and their vectors, read from the store.

Rivals are given the facts that our policies search, so that figures compare retrieval and not extraction. Nothing here
writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from prospection.protocols import FactStore
from prospection.types import Fact, Vectors

__all__ = ["SharedMemory", "read_memory"]

PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMemory:
    """What is known about a user.

    Attributes:
        facts: All current facts in the order of ids, which is the order in which they were said.
        vectors: (n, d) float32 unit rows, one for each fact.
    """

    user: str
    facts: tuple[Fact, ...]
    vectors: Vectors

    def batches(self, size: int) -> list[list[int]]:
        """Return the places of facts in the order they were said, session by session, at most `size` at a time."""
        places = range(len(self.facts))
        sessions = (list(group) for _, group in groupby(places, key=self._session))
        return [session[start : start + size] for session in sessions for start in range(0, len(session), size)]

    def _session(self, place: int) -> str | None:
        provenance = self.facts[place].provenance
        return provenance[0].session if provenance else None


async def read_memory(store: FactStore, user: str) -> SharedMemory:
    """Read all current facts of a user; of a user without any, an empty memory."""
    facts: list[Fact] = []
    while page := await store.facts(user, after=facts[-1].fid if facts else None, limit=PAGE):
        facts += page
    vectors = await store.vectors(user, [fact.fid for fact in facts])
    return SharedMemory(user=user, facts=tuple(facts), vectors=vectors)
