"""What is scored: every reference of a query once, and queries whose every reference stands in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from prospection.evaluation.cases import EvalQuery

__all__ = ["each_once", "empty_facts", "keep_findable"]

ReferenceT = TypeVar("ReferenceT")


def each_once(
    references: Sequence[Sequence[ReferenceT]],
) -> tuple[list[list[ReferenceT]], tuple[str, ...]]:
    """Keep each reference of a query once, so that none weighs double, and say how many were repeats.

    Args:
        references: Of each query, as the data has them.

    Returns:
        The same in the same order, and a sentence where something was left out.
    """
    kept = [[one for place, one in enumerate(own) if one not in own[:place]] for own in references]
    repeats = sum(map(len, references)) - sum(map(len, kept))
    note = f"{repeats} references repeat another one of their query and count once."
    return kept, (note,) if repeats else ()


def keep_findable(queries: Sequence[EvalQuery]) -> tuple[tuple[EvalQuery, ...], tuple[str, ...]]:
    """Leave out queries that no retrieval could answer in full, and say how many.

    A query without text asks nothing, one without references has no score, and one of whose references no fact is left
    (an extraction missed it) would measure the data rather than the search. Dropping single references instead would
    make "all were found" mean something else for each query.

    Args:
        queries: As the data has them: references may be missing, and a reference that matches no fact is empty.

    Returns:
        The queries kept, in order, and a sentence for each kind left out.
    """
    said = [query for query in queries if query.text.strip()]
    asked = [query for query in said if query.references]
    kept = tuple(query for query in asked if all(query.references))
    notes = []
    if unsaid := len(queries) - len(said):
        notes.append(f"{unsaid} of {len(queries)} queries have no text and are left out.")
    if unasked := len(said) - len(asked):
        notes.append(f"{unasked} of {len(queries)} queries have no references and are left out.")
    if lost := len(asked) - len(kept):
        notes.append(
            f"{lost} of {len(queries)} queries refer to something that no fact in memory covers and are left out."
        )
    return kept, tuple(notes)


def empty_facts(texts: Sequence[str]) -> tuple[str, ...]:
    """Say how many facts say nothing, which memory does not hold."""
    empty = sum(not text.strip() for text in texts)
    return (f"{empty} of {len(texts)} facts are empty and are left out.",) if empty else ()
