"""What those who watch a recall are told while it happens.

In goes what was imagined, found and chosen; out come events, each step and each fact once. When nobody watches,
nothing is told. Decides nothing and keeps nothing but what it told already.
"""

from __future__ import annotations

from collections.abc import Sequence

from prospection.recall.events import Emit, FactChosen, FactFound, ProbeSearched, RecallEvent, StepImagined
from prospection.types import Hit, Probe, ScoredFact, Step

__all__ = ["Telling"]

ANNOUNCED_HITS = 5
"""Hits of one probe that are news: a wide pool takes in most of a memory, which nobody wants to watch."""


class Telling:
    """Tells one recall.

    Attributes:
        watched: Whether anybody listens.
    """

    def __init__(self, emit: Emit | None, *, tau: float | None) -> None:
        """Listen for one recall.

        Args:
            emit: Who is told; None for nobody.
            tau: The similarity from which a hit is news; None where nobody knows what the memory's scores mean.
        """
        self.watched = emit is not None
        self._emit = emit
        self._tau = tau
        self._told: set[tuple[type[RecallEvent], str]] = set()

    def imagined(self, steps: Sequence[Step]) -> None:
        """Tell about steps, each once."""
        for step in steps:
            self._once(step.sid, StepImagined(step=step))

    def chosen(self, facts: Sequence[ScoredFact]) -> None:
        """Tell about chosen facts, each once."""
        for fact in facts:
            self._once(fact.fid, FactChosen(fact=fact))

    def searched(self, probe: Probe, hits: Sequence[Hit]) -> None:
        """Tell about a search, and of its first hits about those that are news."""
        if self._emit is None:
            return
        self._emit(ProbeSearched(probe=probe, found=len(hits)))
        for hit in hits[:ANNOUNCED_HITS]:
            # Over text there is no cosine that the threshold could hold for.
            if probe.over == "text" or self._tau is None or hit.similarity >= self._tau:
                found = FactFound(fact=ScoredFact(fact=hit.fact, score=hit.similarity), probe=probe)
                self._once(hit.fact.fid, found)

    def _once(self, key: str, event: RecallEvent) -> None:
        if self._emit is not None and (type(event), key) not in self._told:
            self._told.add((type(event), key))
            self._emit(event)
