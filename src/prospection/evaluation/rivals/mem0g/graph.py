"""Mem0's graph: entities and labelled relations in, triples out (paper, section 2.2).

An entity that is near enough to a known one is that one. A relation that a later fact contradicts is marked, kept, and
no longer found. Each relation keeps the facts it came from, for scoring. Vectors in; no model is called here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from prospection.types import Vectors

__all__ = ["Graph", "Relation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A directed, labelled edge.

    Attributes:
        source, target: Places of entities.
        fids: The facts it came from, latest first.
        valid: False once a later fact contradicted it.
    """

    source: int
    label: str
    target: int
    fids: tuple[str, ...]
    valid: bool = True


class Graph:
    """Entities by name and vector, and relations between them."""

    def __init__(self, *, similarity: float) -> None:
        """Start empty.

        Args:
            similarity: Cosine from which two names mean the same entity.
        """
        self.names: list[str] = []
        self.relations: list[Relation] = []
        self._similarity = similarity
        self._vectors: list[Vectors] = []

    def nearest(self, vector: Vectors) -> int | None:
        """Return the place of the entity that a name's vector means, the nearest above the bound; None for none."""
        near = self.near(vector)
        return near[0] if near else None

    def near(self, vector: Vectors) -> list[int]:
        """Return the places of all entities at or above the bound, nearest first."""
        if not self._vectors:
            return []
        cosines = np.stack(self._vectors) @ vector
        order = np.argsort(-cosines, kind="stable")
        return [int(place) for place in order if cosines[place] >= self._similarity]

    def entity(self, name: str, vector: Vectors) -> int:
        """Return the place of an entity, added now if none is near enough."""
        place = self.nearest(vector)
        if place is None:
            place = len(self.names)
            self.names.append(name)
            self._vectors.append(vector)
        return place

    def relate(self, source: int, label: str, target: int, fids: Sequence[str]) -> None:
        """Add a relation; one that is there already gains the facts."""
        for place, held in enumerate(self.relations):
            if (held.source, held.label, held.target, held.valid) == (source, label, target, True):
                merged = tuple(dict.fromkeys((*fids, *held.fids)))
                self.relations[place] = replace(held, fids=merged)
                return
        self.relations.append(Relation(source=source, label=label, target=target, fids=tuple(fids)))

    def incident(self, entities: Collection[int]) -> list[int]:
        """Return the places of valid relations that begin or end at one of the entities, in order."""
        return [
            place
            for place, relation in enumerate(self.relations)
            if relation.valid and (relation.source in entities or relation.target in entities)
        ]

    def contradict(self, place: int) -> None:
        """Mark a relation as no longer true."""
        self.relations[place] = replace(self.relations[place], valid=False)

    def triple(self, place: int) -> str:
        """Return a relation in words: source, label, target."""
        relation = self.relations[place]
        return f"{self.names[relation.source]} {relation.label.replace('_', ' ')} {self.names[relation.target]}"
