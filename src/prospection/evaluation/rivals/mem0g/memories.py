"""Mem0's flat memory: facts in, and what a model decided about each of them; memories out (paper, section 2.1).

A memory may stand for several facts of M: one that was updated by a fact stands for it too. That is how retrieved
memories are scored; the original keeps no such record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from prospection.types import Fact, Vectors

__all__ = ["Decision", "Decisions", "Memories", "Remembered"]


class Decision(BaseModel):
    """What is to be done with a new fact, or with a memory because of it."""

    fact: int = Field(description="Number of the new fact")
    event: Literal["ADD", "UPDATE", "DELETE", "NONE"]
    memory: int | None = Field(default=None, description="Number of the memory to update or delete, or that says it")
    text: str | None = Field(default=None, description="For UPDATE: the memory as it now reads")


class Decisions(BaseModel):
    """A reply of the update phase."""

    decisions: list[Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One memory.

    Attributes:
        fids: The facts it stands for, latest first.
        vector: (d,) float32 unit row of the text.
    """

    text: str
    fids: tuple[str, ...]
    vector: Vectors


class Memories:
    """The memories of a user while they are built; places are stable, deleted ones stay empty."""

    def __init__(self) -> None:
        self._all: list[Remembered | None] = []

    def current(self) -> list[Remembered]:
        """Return what has not been deleted, in the order in which it was added."""
        return [memory for memory in self._all if memory is not None]

    def similar(self, vectors: Vectors, *, k: int) -> list[int]:
        """Return the places of the k memories nearest to each of (n, d) unit rows: their union, in order."""
        places = [place for place, memory in enumerate(self._all) if memory is not None]
        if not places:
            return []
        matrix = np.stack([memory.vector for memory in self._all if memory is not None])
        nearest = np.argsort(-(vectors @ matrix.T), axis=1, kind="stable")[:, :k]
        return sorted({places[int(row)] for row in nearest.ravel()})

    def text(self, place: int) -> str:
        """Return the text of a memory; of a deleted one, ""."""
        memory = self._all[place]
        return "" if memory is None else memory.text

    def add(self, fact: Fact, vector: Vectors) -> None:
        """Remember a fact as it stands."""
        self._all.append(Remembered(text=fact.info, fids=(fact.fid,), vector=vector))

    def update(self, place: int, fact: Fact, text: str, vector: Vectors) -> None:
        """Give a memory a new text that covers the fact as well."""
        memory = self._all[place]
        if memory is None:
            self._all.append(Remembered(text=text, fids=(fact.fid,), vector=vector))
        else:
            self._all[place] = Remembered(text=text, fids=_with(memory.fids, fact.fid), vector=vector)

    def repeat(self, place: int, fact: Fact) -> None:
        """Note that a memory says the fact already."""
        memory = self._all[place]
        if memory is not None:
            self._all[place] = replace(memory, fids=_with(memory.fids, fact.fid))

    def delete(self, place: int) -> None:
        """Remove a memory, once or again."""
        self._all[place] = None


def usable(decisions: Sequence[Decision], *, facts: int, memories: int) -> list[Decision]:
    """Return the decisions with numbers that exist; the model's numbers begin at 1, those returned at 0.

    A fact without any usable decision is added: forgetting a fact by an oversight would be ours, not the model's.
    """
    kept = []
    for decision in decisions:
        memory = None if decision.memory is None else decision.memory - 1
        needs = decision.event in {"UPDATE", "DELETE"}
        if not 1 <= decision.fact <= facts or (needs and (memory is None or not 0 <= memory < memories)):
            continue
        if memory is not None and not 0 <= memory < memories:
            memory = None
        kept.append(decision.model_copy(update={"fact": decision.fact - 1, "memory": memory}))
    decided = {decision.fact for decision in kept}
    return kept + [Decision(fact=fact, event="ADD") for fact in range(facts) if fact not in decided]


def _with(fids: tuple[str, ...], fid: str) -> tuple[str, ...]:
    return (fid, *(other for other in fids if other != fid))
