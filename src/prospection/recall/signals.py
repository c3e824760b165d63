"""What several searches say about the same facts, as arrays that can be added.

Pure: lists of hits in, scores over one set of candidate facts out. A fact that a list does not hold is taken to be as
near as the last fact in it: it is at most that near.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prospection.search.fusion import standardise
from prospection.types import Fact, Hit, Vectors

__all__ = ["Candidates", "gate"]


class Candidates:
    """The facts that any of the lists holds, in the order of first mention, and how scores of lists map to them."""

    def __init__(self, lists: Sequence[Sequence[Hit]]) -> None:
        found: dict[str, Fact] = {}
        for hits in lists:
            for hit in hits:
                found.setdefault(hit.fact.fid, hit.fact)
        self.facts = list(found.values())
        self._place = {fid: place for place, fid in enumerate(found)}

    def __len__(self) -> int:
        return len(self.facts)

    def scores(self, hits: Sequence[Hit], *, absent: float | None = None) -> Vectors:
        """Return (n,) float32: the list's similarity of every candidate.

        Args:
            absent: What a candidate gets that the list does not hold; None for the similarity of the list's last.
        """
        floor = min((hit.similarity for hit in hits), default=0.0) if absent is None else absent
        scores = np.full(len(self.facts), floor, np.float32)
        for hit in hits:
            scores[self._place[hit.fact.fid]] = hit.similarity
        return scores

    def mean(self, lists: Sequence[Sequence[Hit]]) -> Vectors:
        """Return (n,) the mean similarity over the lists; zeros for no lists."""
        rows = [self.scores(hits) for hits in lists]
        mean: Vectors = np.mean(rows, axis=0) if rows else np.zeros(len(self.facts), np.float32)
        return mean

    def best(self, lists: Sequence[Sequence[Hit]]) -> Vectors:
        """Return (n,) the best standardised similarity over the lists; zeros for no lists."""
        rows = [standardise(self.scores(hits)) for hits in lists]
        best: Vectors = np.max(rows, axis=0) if rows else np.zeros(len(self.facts), np.float32)
        return best

    def order(self, score: Vectors) -> list[int]:
        """Return places, highest score first; ties in the order of the candidates."""
        return [int(place) for place in np.lexsort((np.arange(len(score)), -score))]


def gate(excess: float, unit: float) -> float:
    """Return how much a request is about the future, in (0, 1).

    A logistic of how much nearer the request is to an imagined goal than to any stored fact: a request that resembles a
    stored fact asks about the past and is answered by nearness.

    Args:
        excess: Cosine with the nearest goal less the cosine with the nearest fact.
        unit: The encoder's noise standard deviation.
    """
    return float(1.0 / (1.0 + np.exp(-(excess + unit) / (unit / 2.0))))
