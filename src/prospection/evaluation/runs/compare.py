"""Whether two systems differ: their rows on the same queries in, a difference with interval and p-value out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Literal

from prospection.errors import InputError, UnknownNameError
from prospection.evaluation.runs.rows import Row
from prospection.evaluation.runs.summary import EVERYTHING, Interval, Score, exact_score, mean_by_query, recall_score
from prospection.evaluation.significance import bootstrap_interval, holm, paired_permutation

__all__ = [
    "LEVEL",
    "Comparison",
    "Measure",
    "Unit",
    "Verdict",
    "compare",
    "compare_all",
    "corrected",
    "rows_of",
    "score_of",
    "smallest_p",
]

Measure = Literal["recall", "exact"]

Unit = Literal["people", "queries"]
"""What is taken for independent. Queries of one person share a memory and are not; over them p comes out too small."""

Verdict = Literal["real", "open", "too few people"]
"""Whether a difference is more than chance: p below `LEVEL` after correction, and an interval over people without 0.
With too few people no p over people can fall below it, whatever the figures, and p over queries cannot be trusted."""

LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """B against A on one data set.

    Attributes:
        at: Fact budget; None: everything returned.
        a, b: Means over the queries that both were asked.
        difference: b - a.
        interval: 95 % of the difference, bootstrapped over people.
        p: Of a paired permutation test of the difference, over `unit`: the sign of everything that a person brings is
            flipped at once, or that of each query.
        p_corrected: The same after Holm's correction for all comparisons made together.
        better, worse: Queries on which B is above and below A.
        only_a, only_b: Queries that the other was not asked; they are left out.
        failed_a, failed_b: Cases of the queries compared that failed; each counts as found nothing.
    """

    dataset: str
    system_a: str
    system_b: str
    measure: Measure
    at: int | None
    unit: Unit
    queries: int
    people: int
    a: float
    b: float
    difference: float
    interval: Interval
    p: float
    p_corrected: float
    verdict: Verdict
    better: int
    worse: int
    only_a: int
    only_b: int
    failed_a: int
    failed_b: int


def score_of(measure: Measure, at: int | None) -> Score:
    """Return a measure at a fact budget as a score of rows."""
    k = EVERYTHING if at is None else at
    return recall_score(k) if measure == "recall" else exact_score(k)


def compare(
    a: Sequence[Row], b: Sequence[Row], *, measure: Measure = "recall", at: int | None = None, unit: Unit = "people"
) -> Comparison:
    """Compare two systems on the queries that both were asked.

    Args:
        a, b: Rows of one system on one data set each, possibly of two runs.
        at: Fact budget; None: everything returned.

    Raises:
        InputError: They have no query in common.
    """
    score = score_of(measure, at)
    of_a, of_b = mean_by_query(a, score), mean_by_query(b, score)
    person = {row.query: row.person for row in a}
    common = [query for query in of_a if query in of_b]
    if not common:
        names = [row.system for row in (*a[:1], *b[:1])]
        raise InputError(
            f"{' and '.join(map(repr, names))} were asked no query in common; compare runs of one data set"
        )
    groups: defaultdict[str, list[float]] = defaultdict(list)
    for query in common:
        groups[person[query]].append(of_b[query] - of_a[query])
    differences = [value for own in groups.values() for value in own]
    # A person's sum, not the mean: so the statistic is the difference as it is reported, the mean over queries.
    p = paired_permutation(differences if unit == "queries" else [sum(own) for own in groups.values()])
    interval = bootstrap_interval(list(groups.values()))
    return Comparison(
        dataset=a[0].dataset,
        system_a=a[0].system,
        system_b=b[0].system,
        measure=measure,
        at=at,
        unit=unit,
        queries=len(common),
        people=len(groups),
        a=fmean(of_a[query] for query in common),
        b=fmean(of_b[query] for query in common),
        difference=fmean(differences),
        interval=interval,
        p=p,
        p_corrected=p,
        verdict=_verdict(p, interval, len(groups)),
        better=sum(value > 0 for value in differences),
        worse=sum(value < 0 for value in differences),
        only_a=len(of_a) - len(common),
        only_b=len(of_b) - len(common),
        failed_a=_failed(a, of_b),
        failed_b=_failed(b, of_a),
    )


def compare_all(
    rows: Iterable[Row],
    *,
    baseline: str | None = None,
    measure: Measure = "recall",
    at: int | None = None,
    unit: Unit = "people",
) -> list[Comparison]:
    """Compare every two systems of each data set, corrected for all comparisons of that data set.

    Args:
        baseline: Compare every other system with this one alone: fewer comparisons, so that the correction takes less
            away. Data sets that it was not asked are left out.

    Raises:
        UnknownNameError: There is no system called `baseline`.
    """
    grouped = _grouped(rows)
    names = {name for systems in grouped.values() for name in systems}
    if baseline is not None and baseline not in names:
        raise UnknownNameError("system", baseline, names)
    found = []
    for systems in grouped.values():
        if baseline is None:
            pairs = list(combinations(systems, 2))
        else:
            pairs = [(baseline, name) for name in systems if name != baseline and baseline in systems]
        some = [compare(systems[a], systems[b], measure=measure, at=at, unit=unit) for a, b in pairs]
        found += corrected(some)
    return found


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons with p-values corrected for all of them."""
    values = holm([one.p for one in comparisons])
    return [
        replace(one, p_corrected=p, verdict=_verdict(p, one.interval, one.people))
        for one, p in zip(comparisons, values, strict=True)
    ]


def smallest_p(people: int) -> float:
    """Return the smallest p of a test over so many people, two of whose 2^n assignments of signs are the farthest."""
    return 2.0 ** (1 - people)


def _verdict(p: float, interval: Interval, people: int) -> Verdict:
    if smallest_p(people) >= LEVEL:
        return "too few people"
    away = interval is not None and (interval[0] > 0 or interval[1] < 0)
    return "real" if p < LEVEL and away else "open"


def rows_of(rows: Iterable[Row], system: str, dataset: str | None) -> dict[str, list[Row]]:
    """Return a system's rows by data set.

    Raises:
        UnknownNameError: There is no such system or data set in these rows.
    """
    grouped = _grouped(rows)
    if dataset is not None and dataset not in grouped:
        raise UnknownNameError("data set", dataset, grouped)
    names = {name for systems in grouped.values() for name in systems}
    if system not in names:
        raise UnknownNameError("system", system, names)
    return {name: systems[system] for name, systems in grouped.items() if system in systems and dataset in (None, name)}


def _failed(rows: Iterable[Row], asked: Mapping[str, float]) -> int:
    return sum(row.error is not None and row.query in asked for row in rows)


def _grouped(rows: Iterable[Row]) -> Mapping[str, dict[str, list[Row]]]:
    grouped: defaultdict[str, dict[str, list[Row]]] = defaultdict(dict)
    for row in rows:
        grouped[row.dataset].setdefault(row.system, []).append(row)
    return grouped
