"""What came out of a run over a data set: one value a query and system, and their means.

Everything is derived from the ranks at which references were found, so that other budgets, users or statistics can be
had later without running again. Means are over queries: each query weighs the same, whoever asked it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from prospection.evaluation.metrics import BUDGETS, Ranks, exact_at, recall_at
from prospection.types import Usage

__all__ = ["Metric", "QueryResult", "RecallResult", "by_person", "by_user", "curve"]

Metric = Callable[[Ranks, int], float]
"""A figure in [0, 1] from the ranks of a query's references and a fact budget k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """One query, searched by one system.

    Attributes:
        user: Whose memory was searched.
        person: Who asked: several memories may be cuts of one person's history, and are not independent.
        ranks: For each reference, the rank at which it was found; None when it was not.
        llm_calls: Calls to a language model, failed ones too.
        seconds: From the request to the ranking.
        usage: What the calls cost.
        phases: How many facts the first phase found and how many were new after it; None where there are no phases.
    """

    query: str
    user: str
    person: str
    ranks: Ranks
    llm_calls: int
    seconds: float
    usage: Usage = field(default_factory=Usage)
    phases: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """All systems over one data set.

    Attributes:
        data: Name of the data set.
        encoder: Id of the encoder that embedded memory.
        facts: How many facts memory holds, all users together.
        systems: Results by name of the system, in the order asked for; each has the same queries in the same order.
        notes: What a reader of the figures should know, in sentences.
    """

    data: str
    encoder: str
    facts: int
    systems: Mapping[str, tuple[QueryResult, ...]]
    notes: tuple[str, ...] = ()

    @property
    def queries(self) -> int:
        """How many queries every system was asked."""
        return len(next(iter(self.systems.values()), ()))

    def to_json(self) -> dict[str, Any]:
        """Return the means as JSON data. Other tools read this shape; keys are only ever added."""
        return {
            "data": self.data,
            "queries": self.queries,
            "facts": self.facts,
            "encoder": self.encoder,
            "systems": {name: _system(rows) for name, rows in self.systems.items()},
            "notes": list(self.notes),
        }


def by_user(rows: Sequence[QueryResult]) -> dict[str, list[QueryResult]]:
    """Return the results of each memory, in the order of first appearance."""
    return _grouped(rows, lambda row: row.user)


def by_person(rows: Sequence[QueryResult]) -> dict[str, list[QueryResult]]:
    """Return the results of each person, in the order of first appearance."""
    return _grouped(rows, lambda row: row.person)


def _grouped(rows: Sequence[QueryResult], whose: Callable[[QueryResult], str]) -> dict[str, list[QueryResult]]:
    groups: defaultdict[str, list[QueryResult]] = defaultdict(list)
    for row in rows:
        groups[whose(row)].append(row)
    return dict(groups)


def curve(rows: Sequence[QueryResult], metric: Metric) -> dict[int, float]:
    """Return the mean of a metric over queries at every budget; there is at least one query."""
    return {k: fmean(metric(row.ranks, k) for row in rows) for k in BUDGETS}


def _system(rows: Sequence[QueryResult]) -> dict[str, Any]:
    return {
        **_scores(rows),
        "llm_calls": fmean(row.llm_calls for row in rows),
        "seconds": fmean(row.seconds for row in rows),
        **_costs(rows),
        "per_user": {user: {**_scores(own), "queries": len(own)} for user, own in by_user(rows).items()},
    }


def _costs(rows: Sequence[QueryResult]) -> dict[str, Any]:
    phases = [row.phases for row in rows if row.phases is not None]
    if not phases:
        return {}
    prices = [row.usage.cost for row in rows if row.usage.cost is not None]
    return {
        "costs": {
            "facts_first_phase": fmean(first for first, _ in phases),
            "facts_later": fmean(later for _, later in phases),
            "tokens_in": fmean(row.usage.tokens_in for row in rows),
            "tokens_out": fmean(row.usage.tokens_out for row in rows),
            "cost": fmean(prices) if len(prices) == len(rows) else None,
        }
    }


def _scores(rows: Sequence[QueryResult]) -> dict[str, dict[str, float]]:
    curves = {"recall": curve(rows, recall_at), "exact": curve(rows, exact_at)}
    return {name: {str(k): value for k, value in values.items()} for name, values in curves.items()}
