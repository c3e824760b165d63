"""How much of what was needed was found: a ranking and references in, numbers out.

A ranking is a list of fact ids, best first. It is taken as it stands: ties are for the system to break, and a system
that returns fewer than k facts is scored on those. All figures at k grow with k and lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

__all__ = ["BUDGETS", "Ranks", "exact_at", "first_ranks", "recall_at"]

BUDGETS = (5, 10, 20, 35, 60, 100)
"""Fact budgets at which systems are compared."""

Ranks = tuple[int | None, ...]
"""For each reference the rank, from 1, at which it was found first; None when it was not."""


def first_ranks(ranking: Sequence[str], references: Sequence[AbstractSet[str]]) -> Ranks:
    """Find out where each reference was found first.

    Args:
        ranking: Distinct fact ids, best first; may be empty.
        references: One set of alternatives for each thing needed. One fact may stand in several.

    Raises:
        ValueError: The ranking holds a fact twice, which would let a system pass over its budget.
    """
    rank = {fid: place for place, fid in enumerate(ranking, 1)}
    if len(rank) < len(ranking):
        twice = next(fid for place, fid in enumerate(ranking, 1) if rank[fid] != place)
        raise ValueError(f"the ranking holds {twice!r} twice; a recall returns a fact once")
    return tuple(min((rank[fid] for fid in reference if fid in rank), default=None) for reference in references)


def recall_at(ranks: Ranks, k: int) -> float:
    """Recall@k: the share of references found among the first k facts (paper, note to the main results table).

    recall@k = |{r : rank(r) <= k}| / |references|

    Raises:
        ValueError: There are no references; nothing needed is neither found nor missed.
    """
    if not ranks:
        raise ValueError("recall of no references is undefined; leave such queries out")
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def exact_at(ranks: Ranks, k: int) -> float:
    """Exact recall@k: 1 when every reference is among the first k facts, else 0.

    Raises:
        ValueError: There are no references.
    """
    return float(recall_at(ranks, k) == 1.0)
