"""A user's memory as a `Retriever`: probes in, hits out.

All probes of a call are embedded in one batch and put to the store in one call. Never searches another user's memory:
the user is fixed when the retriever is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from prospection.protocols import Embedder, FactLedger
from prospection.types import Fact, Hit, Probe, SearchFilter, SearchProbe, Vectors

__all__ = ["UNLIMITED", "MemoryRetriever"]

UNLIMITED = 1_000_000
"""A k that no user's memory reaches: all that the probe is compared with."""


class MemoryRetriever:
    """One user's memory in a store, as of one instant."""

    def __init__(self, store: FactLedger, embedder: Embedder, *, user: str, where: SearchFilter) -> None:
        self._store = store
        self._embedder = embedder
        self._user = user
        self._where = where

    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float = -1.0) -> list[list[Hit]]:
        """See `Retriever.retrieve`. No probes bring no lists, and touch neither encoder nor store."""
        if not probes:
            return []
        dense = list(dict.fromkeys(probe.text for probe in probes if probe.over != "text"))
        rows = dict(zip(dense, await self._embedder.embed(dense, role="query"), strict=True)) if dense else {}
        return await self._store.search(
            self._user,
            [SearchProbe(over=probe.over, text=probe.text, vector=rows.get(probe.text)) for probe in probes],
            k=k,
            min_similarity=min_similarity,
            where=self._where,
        )

    async def vectors(self, facts: Sequence[Fact]) -> Vectors:
        """See `VectorSource.vectors`."""
        return await self._store.vectors(self._user, [fact.fid for fact in facts])
