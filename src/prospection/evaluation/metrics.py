"""How much of what was needed was found: a ranking and references in, numbers out.

A ranking is a list of fact ids, best first. It is taken as it stands: ties are for the system to break, and a system
that returns fewer than k facts is scored on those. Recall and exact recall grow with the budget; all figures lie in
[0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate

__all__ = [
    "BUDGETS",
    "TOKEN_BUDGETS",
    "Ranks",
    "deciles",
    "exact_at",
    "first_ranks",
    "precision_at",
    "recall_at",
    "relevant_ranks",
    "token_ranks",
]

BUDGETS = (5, 10, 20, 35, 60, 100)
"""Fact budgets at which systems are compared."""

TOKEN_BUDGETS = (125, 250, 500, 1000, 2000)
"""Token budgets at which systems are compared: what all facts up to and with the last one take in a context."""

Ranks = tuple[int | None, ...]
"""For each reference the rank, from 1, at which it was found first; None when it was not.

The same with tokens in the place of ranks, as `token_ranks` gives it, makes recall at a token budget.
"""


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


def relevant_ranks(ranking: Sequence[str], references: Sequence[AbstractSet[str]]) -> tuple[int, ...]:
    """Return the ranks, from 1, of all facts that count for any reference, in order."""
    relevant = set().union(*references)
    return tuple(place for place, fid in enumerate(ranking, 1) if fid in relevant)


def precision_at(relevant: Sequence[int], returned: int, k: int) -> float:
    """Precision@k: the share of the first k facts that count for any reference.

    precision@k = |{r in relevant : r <= k}| / min(k, returned)

    A system that returns fewer than k facts is measured on those it stands for: it is not punished for stopping.

    Args:
        relevant: As `relevant_ranks` returns them.
        returned: Facts in the ranking.

    Returns:
        0 for an empty ranking.
    """
    shown = min(k, returned)
    return sum(rank <= k for rank in relevant) / shown if shown else 0.0


def token_ranks(ranks: Ranks, sizes: Sequence[int]) -> Ranks:
    """Return for each reference the tokens of all facts up to and with the one that it was found by.

    Args:
        sizes: Tokens of each fact in the ranking, in its order.
    """
    sums = list(accumulate(sizes))
    return tuple(None if rank is None else sums[rank - 1] for rank in ranks)


def deciles(similarities: Sequence[float]) -> list[int]:
    """Sort values into ten groups of equal size, from 0 (the lowest) to 9.

    Equal values keep the order in which they stand, so that sizes differ by one at most.
    """
    order = sorted(range(len(similarities)), key=lambda place: (similarities[place], place))
    groups = [0] * len(order)
    for rank, place in enumerate(order):
        groups[place] = rank * 10 // len(order)
    return groups
