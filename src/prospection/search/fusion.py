"""Fusion: several judgements of the same items in, one out; by ranks, or by scores brought to one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fuse_scores", "reciprocal_rank_fusion", "standardise"]

IdT = TypeVar("IdT", str, int)


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[IdT]], *, weights: Sequence[float] | None = None, k: float = 60.0
) -> list[tuple[IdT, float]]:
    """Fuse ranked lists (Cormack, Clarke & Büttcher, SIGIR 2009).

    score(i) = sum over the lists that hold i of  weight / (k + rank of i), ranks from 1.

    Args:
        rankings: Lists of ids, best first. A second mention in one list does not count.
        weights: One a list; None for 1 each.
        k: How flat the top is; 60 is the published value.

    Returns:
        (id, score), best first, ties in the order of ids; [] for no lists.

    Raises:
        ValueError: Not as many weights as lists.
    """
    scores: dict[IdT, float] = {}
    for ranking, weight in zip(rankings, weights if weights is not None else [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(dict.fromkeys(ranking), start=1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


def standardise(scores: NDArray[Any]) -> NDArray[Any]:
    """Return scores in standard deviations from their mean: (n,) float32; zeros where all are alike.

    Makes scores of different kinds addable (z-score normalisation before CombSUM; Fox & Shaw, TREC-2, 1994).
    """
    centred = scores - scores.mean() if len(scores) else scores
    spread = float(centred.std()) if len(scores) else 0.0
    return (centred / spread if spread > 1e-9 else np.zeros_like(centred)).astype(np.float32)


def fuse_scores(dense: NDArray[Any], lexical: NDArray[Any], *, lexical_weight: float) -> NDArray[Any]:
    """Add a dense and a lexical score of the same n items: z(dense) + lexical_weight * lexical / max(lexical).

    Unlike a fusion of ranks it keeps how much better the best is: one telling word that only one fact holds counts
    fully, and a lexical list without a telling word counts for nothing.

    Args:
        dense: (n,) cosines.
        lexical: (n,) relevance, 0 where an item shares no word.
        lexical_weight: Standard deviations of cosine that the best lexical match is worth.

    Returns:
        (n,) float32; higher is better.
    """
    best = float(lexical.max()) if len(lexical) else 0.0
    words = lexical.astype(np.float32) * np.float32(lexical_weight / best if best > 0 else 0.0)
    fused: NDArray[Any] = standardise(dense) + words
    return fused
