"""The thread that was followed in a tree of messages.

People edit their messages and ask for other answers; exports keep all of it as a tree. In go the parents of its nodes;
out comes the way from the root to one leaf. Loops and missing parents end the way.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["last_leaf", "thread_to"]


def thread_to(leaf: str, parents: Mapping[str, str | None]) -> list[str]:
    """Return the ids from the root to the leaf, both included; `[]` when the leaf is not in the tree."""
    way: list[str] = []
    seen: set[str] = set()
    node: str | None = leaf
    while node is not None and node in parents and node not in seen:
        seen.add(node)
        way.append(node)
        node = parents[node]
    return way[::-1]


def last_leaf(parents: Mapping[str, str | None], times: Mapping[str, float]) -> str | None:
    """Return the leaf that was written last, ties and unknown times by the order of the mapping; None for no nodes."""
    inner = {parent for parent in parents.values() if parent is not None}
    leaves = [node for node in parents if node not in inner]
    places = {node: place for place, node in enumerate(parents)}
    return max(leaves, key=lambda node: (times.get(node, 0.0), places[node]), default=None)
