"""Communities of a graph by hierarchical Leiden, in the very implementation that GraphRAG uses.

A graph in, communities with their levels out. Unlike the package's default, entities outside the largest component are
kept: graphs of one person fall into pieces. Entities without any relationship are in no community.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prospection.errors import MissingExtraError
from prospection.evaluation.rivals.graphrag.extraction import Relationship

__all__ = ["LEVELS", "Community", "find_communities"]

LARGEST = 10
"""Larger communities are divided again (GraphRAG: max_cluster_size)."""

LEVELS = 2
"""Deepest level that local search looks at (GraphRAG: community_level)."""

SEED = 0xDEADBEEF


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """A group of entities, by name in alphabetical order.

    Attributes:
        level: 0 for the largest groups.
    """

    id: int
    level: int
    members: tuple[str, ...]


def find_communities(relationships: Sequence[Relationship]) -> list[Community]:
    """Divide a graph into communities, down to level `LEVELS`; [] for no relationships. Seeded.

    Raises:
        MissingExtraError: graspologic-native is not installed.
    """
    try:
        from graspologic_native import hierarchical_leiden
    except ImportError as error:
        raise MissingExtraError("GraphRAG", "rivals") from error
    if not relationships:
        return []
    edges = sorted((one.source, one.target, max(one.weight, 1e-6)) for one in relationships)
    members: dict[tuple[int, int], list[str]] = {}
    for found in hierarchical_leiden(edges=edges, max_cluster_size=LARGEST, seed=SEED):
        if found.level <= LEVELS:
            members.setdefault((found.level, found.cluster), []).append(found.node)
    return [
        Community(id=number, level=level, members=tuple(sorted(names)))
        for (level, number), names in sorted(members.items())
    ]
