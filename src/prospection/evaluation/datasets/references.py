"""Which queries can be scored: those whose every reference stands in memory."""

from __future__ import annotations

from collections.abc import Sequence

from prospection.evaluation.cases import EvalQuery

__all__ = ["keep_findable"]


def keep_findable(queries: Sequence[EvalQuery]) -> tuple[tuple[EvalQuery, ...], tuple[str, ...]]:
    """Leave out queries that no retrieval could answer in full, and say how many.

    A query without references has no score, and one of whose references no fact is left (an extraction missed it)
    would measure the data rather than the search. Dropping single references instead would make "all were found"
    mean something else for each query.

    Args:
        queries: As the data has them: references may be missing, and a reference that matches no fact is empty.

    Returns:
        The queries kept, in order, and a sentence for each kind left out.
    """
    asked = [query for query in queries if query.references]
    kept = tuple(query for query in asked if all(query.references))
    notes = []
    if unasked := len(queries) - len(asked):
        notes.append(f"{unasked} of {len(queries)} queries have no references and are left out.")
    if lost := len(asked) - len(kept):
        notes.append(
            f"{lost} of {len(queries)} queries refer to something that no fact in memory covers and are left out."
        )
    return kept, tuple(notes)
