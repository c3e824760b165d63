"""From what was matched to figures. Nothing here extracts, embeds or asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from prospection.evaluation.extraction.dates import agrees, names_date
from prospection.evaluation.extraction.sessions import Person
from prospection.evaluation.extraction.statements import Extracted
from prospection.types import Candidate

__all__ = ["Compared", "Figures", "dates_of", "figures_of"]

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One person's statements of one extractor beside the gold facts.

    Attributes:
        matches: (gold, found), which statement says what which gold fact says.
        repeats: (found,), which says again what an earlier one of its session says.
        small_talk: (found,).
        unjudged: Ids of sessions whose statements the model did not judge; they count for no share.
    """

    person: Person
    extracted: Extracted
    matches: Mask
    repeats: Mask
    small_talk: Mask
    unjudged: frozenset[str] = frozenset()

    def rows(self) -> list[int]:
        """The gold facts that count."""
        return [row for row, fact in enumerate(self.person.gold) if fact.session not in self.unjudged]

    def columns(self) -> list[int]:
        """The statements that count."""
        found = self.extracted.statements
        return [column for column, (session, _) in enumerate(found) if session not in self.unjudged]

    def pairs(self) -> Iterator[tuple[int, Candidate]]:
        """Every match: the place of the gold fact, and the statement."""
        for row, column in np.argwhere(self.matches).tolist():
            yield row, self.extracted.statements[column][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one extractor did over everybody; a share is None where there is nothing to divide by.

    Attributes:
        statements: How many were extracted.
        per_session: Mean, least and most statements of a session.
        coverage: Share of gold facts that a statement of the same session says.
        precision: Share of statements that say a gold fact of their session.
        duplicates: Share of statements that repeat an earlier one of their session.
        small_talk: Share of statements that are small talk.
        types: Share of matches whose types agree, where the gold fact has one.
        dated: Share of matched gold facts naming a date of which a statement has an event time.
        wrong_dates: Statements whose event time overlaps none of the dates of the gold facts that they say.
        dates: Statements whose event time can be compared.
        needed: Facts needed by a query that a statement says, and all of them.
    """

    statements: int
    per_session: tuple[float, int, int]
    coverage: float | None
    precision: float | None
    duplicates: float | None
    small_talk: float | None
    types: float | None
    dated: float | None
    wrong_dates: int
    dates: int
    needed: tuple[int, int]


def figures_of(compared: Sequence[Compared]) -> Figures:
    """Count over everybody."""
    counts = [
        sum(name == session.id for name, _ in one.extracted.statements)
        for one in compared
        for session in one.person.sessions
    ]
    right = [agreed for one in compared for _, agreed in dates_of(one)]
    needed = [
        one.matches[row].any() for one in compared for row in one.rows() if one.person.gold[row].id in one.person.needed
    ]
    return Figures(
        statements=sum(counts),
        per_session=(fmean(counts), min(counts), max(counts)),
        coverage=_share(one.matches[row].any() for one in compared for row in one.rows()),
        precision=_share(one.matches[:, column].any() for one in compared for column in one.columns()),
        duplicates=_share(one.repeats[column] for one in compared for column in one.columns()),
        small_talk=_share(one.small_talk[column] for one in compared for column in one.columns()),
        types=_share(
            one.person.gold[row].type == statement.type
            for one in compared
            for row, statement in one.pairs()
            if one.person.gold[row].type is not None
        ),
        dated=_share(found for one in compared for found in _dated(one)),
        wrong_dates=right.count(False),
        dates=len(right),
        needed=(sum(map(bool, needed)), len(needed)),
    )


def dates_of(compared: Compared) -> Iterator[tuple[int, bool]]:
    """Yield each statement whose event time can be compared, and whether it agrees with a date of the gold."""
    for column, (_, statement) in enumerate(compared.extracted.statements):
        if statement.event_time is None:
            continue
        said = [compared.person.gold[row].text for row in np.flatnonzero(compared.matches[:, column])]
        agreed = agrees(statement.event_time, said)
        if agreed is not None:
            yield column, agreed


def _dated(compared: Compared) -> Iterator[bool]:
    timed = np.array([statement.event_time is not None for _, statement in compared.extracted.statements], dtype=bool)
    for row, fact in enumerate(compared.person.gold):
        if names_date(fact.text) and compared.matches[row].any():
            yield bool((compared.matches[row] & timed).any())


def _share(hits: Iterable[bool | np.bool_]) -> float | None:
    counted = [bool(hit) for hit in hits]
    return sum(counted) / len(counted) if counted else None
