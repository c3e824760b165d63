"""A data set with smaller memories, for a short or cheap run. What is left out is said in its notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prospection.evaluation.cases import Dataset, EvalFact

__all__ = ["smaller_memories"]


def smaller_memories(dataset: Dataset, facts: int | None) -> Dataset:
    """Return a data set whose memories hold so many facts: those that queries need, and others evenly spread over time.

    A small memory is easier to search. Figures compare systems with one another, not with those of the whole memory.

    Args:
        facts: Of each user; None: all. A user whose queries need more keeps all of these.
    """
    if facts is None or all(len(user.facts) <= facts for user in dataset.users):
        return dataset
    needed: dict[str, set[str]] = {}
    for query in dataset.queries:
        needed.setdefault(query.user, set()).update(*query.references)
    users = tuple(replace(user, facts=_kept(user.facts, needed.get(user.id, set()), facts)) for user in dataset.users)
    note = f"Memories are cut to {facts} facts: those that are needed, and others evenly spread."
    return replace(dataset, users=users, notes=(*dataset.notes, note))


def _kept(facts: Sequence[EvalFact], needed: set[str], size: int) -> tuple[EvalFact, ...]:
    others = [fact.id for fact in facts if fact.id not in needed]
    room = min(len(others), max(0, size - len(needed)))
    kept = needed | {others[place * len(others) // room] for place in range(room)}
    return tuple(fact for fact in facts if fact.id in kept)
