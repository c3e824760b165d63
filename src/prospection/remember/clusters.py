"""Which facts are near enough to be merged: vectors, times and kinds in, groups of places out. Pure.

Two orders. "published" is what the paper describes (section 3.2): cluster by cosine, then cut each cluster into windows
of time. With a threshold alone, a cluster is a connected part of the graph of near facts, so that a chain can join
facts that have nothing to do with each other. "improved" lets a group only grow while all its facts are near each
other (complete linkage), of one kind, within one window, and few enough to be said in one statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations

import numpy as np

from prospection.types import Vectors

__all__ = ["Item", "Pair", "improved_groups", "near_pairs", "published_groups"]

_BLOCK = 1024
"""Rows compared with all others at once."""

Pair = tuple[float, int, int]
"""Cosine and the places of two facts, the lower one first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What grouping looks at beside nearness: when a fact was last said, and what kind of fact it is.

    Attributes:
        apart: Facts with different values of it are never one group in the improved order.
    """

    at: datetime
    apart: object = None


def near_pairs(vectors: Vectors, *, threshold: float, first_new: int = 0) -> list[Pair]:
    """Return the pairs of rows with a cosine of at least `threshold`, the nearest first, ties in the order of places.

    Args:
        vectors: (n, d) float32 unit rows.
        first_new: Rows from here on are new. Of the others only those near a new one are looked at.
    """
    rows = np.arange(len(vectors))
    if first_new:
        near = np.zeros(len(vectors), dtype=bool)
        near[first_new:] = True
        for block in _blocks(vectors[first_new:]):
            near |= (block @ vectors.T >= threshold).any(axis=0)
        rows = np.flatnonzero(near)
    chosen = vectors[rows]
    found: list[Pair] = []
    for start, block in zip(range(0, len(rows), _BLOCK), _blocks(chosen), strict=True):
        cosines = block @ chosen.T
        for row, column in np.argwhere(cosines >= threshold).tolist():
            if column < start + row:
                found.append((float(cosines[row, column]), int(rows[column]), int(rows[start + row])))
    return sorted(found, key=lambda pair: (-pair[0], pair[1], pair[2]))


def published_groups(pairs: Sequence[Pair], items: Sequence[Item], *, window: timedelta) -> list[list[int]]:
    """Cluster, then cut each cluster into windows of time (paper, section 3.2).

    Within a cluster, in the order of time, a group holds all facts that were last said within `window` of its first.

    Returns:
        Groups of at least two, each in the order of places, in the order of their first.
    """
    parent = list(range(len(items)))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for _, left, right in pairs:
        parent[root(right)] = root(left)
    clusters: dict[int, list[int]] = {}
    for place in range(len(items)):
        clusters.setdefault(root(place), []).append(place)
    groups: list[list[int]] = []
    for cluster in clusters.values():
        cut: list[int] = []
        for place in sorted(cluster, key=lambda place: (items[place].at, place)):
            if cut and items[place].at - items[cut[0]].at > window:
                groups.append(cut)
                cut = []
            cut.append(place)
        groups.append(cut)
    return sorted(sorted(group) for group in groups if len(group) > 1)


def improved_groups(pairs: Sequence[Pair], items: Sequence[Item], *, window: timedelta, most: int) -> list[list[int]]:
    """Join groups, the nearest pair first, as long as every two of their facts fit.

    Two facts fit when they are a near pair, of one kind, and last said within `window` of each other.

    Returns:
        Groups of two to `most`, each in the order of places, in the order of their first.
    """
    fitting = [
        (left, right)
        for _, left, right in pairs
        if items[left].apart == items[right].apart and abs(items[left].at - items[right].at) <= window
    ]
    fits = set(fitting)
    group_of: dict[int, list[int]] = {}
    for left, right in fitting:
        first, second = group_of.get(left, [left]), group_of.get(right, [right])
        if first is second or len(first) + len(second) > most:
            continue
        joined = sorted([*first, *second])
        if all(pair in fits for pair in combinations(joined, 2)):
            group_of.update(dict.fromkeys(joined, joined))
    return sorted({id(group): group for group in group_of.values()}.values())


def _blocks(vectors: Vectors) -> list[Vectors]:
    return [vectors[start : start + _BLOCK] for start in range(0, len(vectors), _BLOCK)]
