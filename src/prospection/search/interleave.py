"""Interleaving by best rank: several ranked lists in, one out, in which every list's best comes before any second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

__all__ = ["interleave"]

IdT = TypeVar("IdT", str, int)


def interleave(
    rankings: Sequence[Sequence[IdT]], *, scores: Sequence[Sequence[float]] | None = None
) -> list[tuple[IdT, float]]:
    """Merge ranked lists round by round: all first places, then all second places, and so on, without repeats.

    Args:
        rankings: Lists of ids, best first. A second mention in one list does not count.
        scores: For each list the similarities of its ids; they order what shares a best rank. None: all alike.

    Returns:
        (id, 1 / best rank), by best rank, then best similarity in any list, then id; [] for no lists.

    Raises:
        ValueError: The scores do not match the lists.
    """
    best: dict[IdT, tuple[int, float]] = {}
    for ranking, values in zip(
        rankings, scores if scores is not None else [[0.0] * len(r) for r in rankings], strict=True
    ):
        seen: dict[IdT, float] = {}
        for item, value in zip(ranking, values, strict=True):
            seen.setdefault(item, value)
        for rank, (item, value) in enumerate(seen.items(), start=1):
            held = best.get(item, (rank, value))
            best[item] = (min(rank, held[0]), max(value, held[1]))
    order = sorted(best.items(), key=lambda pair: (pair[1][0], -pair[1][1], pair[0]))
    return [(item, 1.0 / rank) for item, (rank, _) in order]
