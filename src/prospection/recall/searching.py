"""Searching memory for one recall, ahead of time where it can be.

In go probes; out come hits. What a probe will ask for can be searched while the model is still writing: the probe is
handed out later, and its hits are ready. Over a foreign memory the cosines are this recall's own encoder's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prospection.protocols import Embedder, Retriever, VectorSource
from prospection.types import Fact, Hit, Over, Probe, ProbeKind, Vectors

__all__ = ["Searching", "Wanted"]

Wanted = tuple[str, ProbeKind, Over, str | None]
"""A probe to be: text, kind, what it is compared with, and the step it comes from."""


class Searching:
    """The searches of one recall; what its arguments mean stands at `Run`."""

    def __init__(
        self,
        retriever: Retriever,
        embedder: Embedder,
        *,
        foreign: bool,
        tell: Callable[[Probe, Sequence[Hit]], None],
    ) -> None:
        """Search with one memory and one encoder.

        Args:
            foreign: The memory is somebody else's.
            tell: Called with every search as it is made.
        """
        self._retriever = retriever
        self._embedder = embedder
        self._foreign = foreign
        self._tell = tell
        self._probes = 0
        self._early: dict[Wanted, Probe] = {}
        self._brought: dict[tuple[str, int, float], list[Hit]] = {}

    def probe(self, wanted: Wanted, *, round_: int, weight: float = 1.0) -> Probe:
        """Return a probe with an id of its own, or the one that was searched with early."""
        if (early := self._early.pop(wanted, None)) is not None:
            return early
        self._probes += 1
        text, kind, over, step = wanted
        return Probe(
            pid=f"p{self._probes - 1}", text=text, kind=kind, over=over, step=step, round=round_, weight=weight
        )

    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float) -> list[list[Hit]]:
        """Search with all probes at once; what was searched early is ready."""
        missing = [probe for probe in probes if (probe.pid, k, min_similarity) not in self._brought]
        found = dict(zip(missing, await self._search(missing, k, min_similarity), strict=True)) if missing else {}
        return [
            found[probe] if probe in found else self._brought.pop((probe.pid, k, min_similarity)) for probe in probes
        ]

    async def ahead(self, wanted: Iterable[Wanted], *, round_: int, k: int, min_similarity: float) -> None:
        """Search with probes that `probe` will hand out later; those searched early before are passed over."""
        new = [key for key in dict.fromkeys(wanted) if key not in self._early]
        probes = [self.probe(key, round_=round_) for key in new]
        if not probes:
            return
        for key, probe, hits in zip(new, probes, await self._search(probes, k, min_similarity), strict=True):
            self._early[key] = probe
            self._brought[probe.pid, k, min_similarity] = hits

    async def near(self, text: str, hits: Sequence[Hit], min_similarity: float) -> list[Hit]:
        """Return those of a text's hits whose cosine with it is at least so high, in order."""
        if self._foreign:
            return (await self._near([text], [hits], min_similarity))[0]
        return [hit for hit in hits if hit.similarity >= min_similarity]

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return (n, d) float32 unit rows of texts to search with."""
        return await self._embedder.embed(texts, role="query")

    async def vectors(self, facts: Sequence[Fact]) -> Vectors:
        """Return (n, d) float32 unit rows of facts: the memory's own where it shows them, else embedded anew."""
        if isinstance(self._retriever, VectorSource) and not self._foreign:
            return await self._retriever.vectors(facts)
        return await self._embedder.embed([fact.info for fact in facts])

    async def _search(self, probes: Sequence[Probe], k: int, min_similarity: float) -> list[list[Hit]]:
        if self._foreign and min_similarity > -1.0:
            lists = await self._retriever.retrieve(probes, k=k)
            lists = await self._near([probe.text for probe in probes], lists, min_similarity)
        else:
            lists = await self._retriever.retrieve(probes, k=k, min_similarity=min_similarity)
        for probe, hits in zip(probes, lists, strict=True):
            self._tell(probe, hits)
        return lists

    async def _near(
        self, texts: Sequence[str], lists: Sequence[Sequence[Hit]], min_similarity: float
    ) -> list[list[Hit]]:
        infos = list(dict.fromkeys(hit.fact.info for hits in lists for hit in hits))
        if not infos:
            return [[] for _ in lists]
        rows = dict(zip(infos, await self._embedder.embed(infos), strict=True))
        return [
            [hit for hit in hits if float(rows[hit.fact.info] @ row) >= min_similarity]
            for row, hits in zip(await self.embed(texts), lists, strict=True)
        ]
