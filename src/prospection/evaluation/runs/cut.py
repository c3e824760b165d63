"""Cuts of a data set for a short or cheap run: people, queries, facts. What is left out is said in its notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery

__all__ = ["first_part", "smaller_memories"]


def first_part(dataset: Dataset, *, users: int | None, queries: int | None, queries_each: int | None = None) -> Dataset:
    """Return the first so many users and queries of a data set, and only the users that are asked about.

    Args:
        users: Persons, where several memories are cuts of one person's history.
        queries: Of all of them together.
        queries_each: Of each person.
    """
    people: dict[str, list[EvalQuery]] = {}
    for query in dataset.queries:
        people.setdefault(query.person or query.user, []).append(query)
    chosen = {query.id for own in list(people.values())[:users] for query in own[:queries_each]}
    kept = [query for query in dataset.queries if query.id in chosen][:queries]
    asked = {query.user for query in kept}
    notes = dataset.notes
    if len(kept) < len(dataset.queries):
        each = "" if queries_each is None else f", at most {queries_each} of each person"
        notes = (*notes, f"Cut to the first {len(kept)} of {len(dataset.queries)} queries{each}.")
    return replace(
        dataset, users=tuple(user for user in dataset.users if user.id in asked), queries=tuple(kept), notes=notes
    )


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
