"""Rows to figures: what each system found on each data set, how sure that is, and what it cost.

Seeds of a query are averaged first, then queries, so that each query weighs the same. Intervals are bootstrapped over
people. A failed case found nothing, and counts as that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from prospection.evaluation.metrics import BUDGETS, TOKEN_BUDGETS, deciles, exact_at, precision_at, recall_at
from prospection.evaluation.runs.rows import IndexRow, Row
from prospection.evaluation.significance import bootstrap_interval

__all__ = ["EVERYTHING", "Interval", "Score", "Summary", "exact_score", "mean_by_query", "recall_score", "summarise"]

EVERYTHING = 10**9
"""A budget that nothing passes: what a system returned, as many facts as that may be."""

Interval = tuple[float, float] | None
Score = Callable[[Row], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One system on one data set. Shares are in [0, 1]; costs are means per query.

    Attributes:
        seeds: Repetitions; not every query need have had them all.
        cases, failed: Over all seeds.
        facts: Facts returned.
        recall, exact, precision: At fact budgets.
        recall_at_tokens: At token budgets.
        recall_all, exact_all, precision_all: Of everything returned: the paper's recall, for a system that decides
            itself how much to return.
        intervals, exact_intervals: 95 % of recall and exact recall at fact budgets; None with fewer than two people.
        by_decile: Decile of query-reference similarity, of all that any system of the data set was asked -> (its mean
            similarity, recall of those references at each fact budget, and of everything returned under 0). Deciles of
            which the system was asked nothing are missing.
        by_category: Category -> (queries, recall at each fact budget).
        cost: US dollars; None where a price is unknown.
        index_calls, index_cost: Per user, for building what the system searches.
    """

    dataset: str
    system: str
    people: int
    queries: int
    seeds: int
    cases: int
    failed: int
    facts: float
    context_tokens: float
    recall: Mapping[int, float]
    exact: Mapping[int, float]
    precision: Mapping[int, float]
    recall_at_tokens: Mapping[int, float]
    recall_all: float
    exact_all: float
    precision_all: float
    intervals: Mapping[int, Interval]
    exact_intervals: Mapping[int, Interval]
    interval_all: Interval
    by_decile: Mapping[int, tuple[float, Mapping[int, float]]]
    by_category: Mapping[str, tuple[int, Mapping[int, float]]]
    calls: float
    failed_calls: float
    tokens_in: float
    tokens_out: float
    cost: float | None
    seconds: float
    index_calls: float
    index_tokens: float
    index_cost: float | None
    notes: Mapping[str, int]


def summarise(rows: Iterable[Row], indexes: Iterable[IndexRow] = ()) -> list[Summary]:
    """Return a summary for each data set and system, in the order of first appearance."""
    groups: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    asked: defaultdict[str, dict[str, Row]] = defaultdict(dict)
    built: defaultdict[tuple[str, str], list[IndexRow]] = defaultdict(list)
    for row in rows:
        groups[row.dataset, row.system].append(row)
        asked[row.dataset].setdefault(row.query, row)
    for index in indexes:
        built[index.dataset, index.system].append(index)
    similar = {dataset: _Deciles(own) for dataset, own in asked.items()}
    return [
        _summary(dataset, system, own, built[dataset, system], similar[dataset])
        for (dataset, system), own in groups.items()
    ]


def mean_by_query(rows: Iterable[Row], score: Score) -> dict[str, float]:
    """Return the mean of a score over the seeds of each query."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        values[row.query].append(score(row))
    return {query: fmean(own) for query, own in values.items()}


def recall_score(k: int) -> Score:
    """Return recall at a fact budget as a score of rows."""
    return lambda row: recall_at(row.ranks, k)


def exact_score(k: int) -> Score:
    """Return exact recall at a fact budget as a score of rows."""
    return lambda row: exact_at(row.ranks, k)


def _summary(dataset: str, system: str, rows: Sequence[Row], built: Sequence[IndexRow], similar: _Deciles) -> Summary:
    person = {row.query: row.person for row in rows}

    def mean(score: Score) -> float:
        return fmean(mean_by_query(rows, score).values())

    def interval(score: Score) -> Interval:
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for query, value in mean_by_query(rows, score).items():
            groups[person[query]].append(value)
        return bootstrap_interval(list(groups.values()))

    def per_case(cost: Callable[[Row], float]) -> float:
        return fmean(cost(row) for row in rows)

    costs = [row.usage.cost for row in rows]
    index_costs = [row.usage.cost for row in built]
    notes: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        for note in row.notes:
            notes[note] += 1
    return Summary(
        dataset=dataset,
        system=system,
        people=len(set(person.values())),
        queries=len(person),
        seeds=len({row.seed for row in rows}),
        cases=len(rows),
        failed=sum(row.error is not None for row in rows),
        facts=per_case(lambda row: len(row.fids)),
        context_tokens=per_case(lambda row: row.context_tokens),
        recall={k: mean(recall_score(k)) for k in BUDGETS},
        exact={k: mean(exact_score(k)) for k in BUDGETS},
        precision={k: mean(_precision(k)) for k in BUDGETS},
        recall_at_tokens={size: mean(_recall_at_tokens(size)) for size in TOKEN_BUDGETS},
        recall_all=mean(recall_score(EVERYTHING)),
        exact_all=mean(exact_score(EVERYTHING)),
        precision_all=mean(_precision(EVERYTHING)),
        intervals={k: interval(recall_score(k)) for k in BUDGETS},
        exact_intervals={k: interval(exact_score(k)) for k in BUDGETS},
        interval_all=interval(recall_score(EVERYTHING)),
        by_decile=_by_decile(rows, similar),
        by_category=_by_category(rows),
        calls=per_case(lambda row: row.usage.calls),
        failed_calls=per_case(lambda row: row.usage.failed_calls),
        tokens_in=per_case(lambda row: row.usage.tokens_in),
        tokens_out=per_case(lambda row: row.usage.tokens_out),
        cost=_mean_cost(costs),
        seconds=per_case(lambda row: row.seconds),
        index_calls=fmean(row.usage.calls for row in built) if built else 0.0,
        index_tokens=fmean(row.usage.tokens_in + row.usage.tokens_out for row in built) if built else 0.0,
        index_cost=_mean_cost(index_costs),
        notes=dict(notes),
    )


def _precision(k: int) -> Score:
    return lambda row: precision_at(row.relevant, len(row.fids), k)


def _recall_at_tokens(size: int) -> Score:
    return lambda row: recall_at(row.tokens, size)


def _mean_cost(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return None
    return fmean(known) if known else 0.0


class _Deciles:
    """Groups of a data set's references by how similar they are to their query, the same for every system.

    Attributes:
        group: (query, place of the reference) -> decile.
        mean: Decile -> mean similarity.
    """

    def __init__(self, asked: Mapping[str, Row]) -> None:
        pairs = sorted((query, place) for query, row in asked.items() for place in range(len(row.similarities)))
        values = [asked[query].similarities[place] for query, place in pairs]
        self.group = dict(zip(pairs, deciles(values), strict=True))
        own: defaultdict[int, list[float]] = defaultdict(list)
        for pair, value in zip(pairs, values, strict=True):
            own[self.group[pair]].append(value)
        self.mean = {group: fmean(some) for group, some in own.items()}


def _by_decile(rows: Sequence[Row], similar: _Deciles) -> dict[int, tuple[float, dict[int, float]]]:
    """Recall of references by how similar they are to their query."""
    found: defaultdict[int, list[int | None]] = defaultdict(list)
    for row in rows:
        for place, rank in enumerate(row.ranks):
            found[similar.group[row.query, place]].append(rank)
    budgets = {0: EVERYTHING, **{k: k for k in BUDGETS}}
    return {
        group: (similar.mean[group], {name: recall_at(tuple(found[group]), k) for name, k in budgets.items()})
        for group in sorted(found)
    }


def _by_category(rows: Sequence[Row]) -> dict[str, tuple[int, dict[int, float]]]:
    groups: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.category is not None:
            groups[row.category].append(row)
    return {
        category: (
            len({row.query for row in own}),
            {k: fmean(mean_by_query(own, recall_score(k)).values()) for k in BUDGETS},
        )
        for category, own in sorted(groups.items())
    }
