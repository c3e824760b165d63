"""Figures for people: a result in, something that rich can print out. Prints nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from prospection.evaluation.metrics import BUDGETS, exact_at, recall_at
from prospection.evaluation.results import Metric, QueryResult, RecallResult, by_person, curve
from prospection.evaluation.significance import bootstrap_interval

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

__all__ = ["recall_report"]

INTERVAL_AT = 10
"""The budget whose interval the tables show; one is enough to see how much the people differ."""


def recall_report(result: RecallResult) -> RenderableType:
    """Return the tables of recall and of exact recall, the best of each column in bold, and the notes below."""
    from rich.console import Group
    from rich.text import Text

    people = len(by_person(next(iter(result.systems.values()), ())))
    asked = f"{result.queries} queries of {people} people"
    head = f"{result.data}: {asked} over {result.facts} facts, encoder {result.encoder}"
    recall = _table("Recall: share of the needed facts among the first k", result, recall_at, costs=True)
    exact = _table("Exact recall: share of queries with all of them", result, exact_at, costs=False)
    legend = (
        f"Interval: 95 % at k = {INTERVAL_AT}, bootstrap over people. Calls to a language model and ms are per query."
    )
    # Text, not markup: names and notes come from files and may hold brackets.
    return Group(
        Text(head, style="bold"),
        "",
        recall,
        "",
        exact,
        "",
        *(Text(note, style="dim") for note in (legend, *result.notes)),
    )


def _table(title: str, result: RecallResult, metric: Metric, *, costs: bool) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("system")
    for heading in (*(f"@{k}" for k in BUDGETS), "interval", *(("calls", "ms") if costs else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    curves = {name: curve(rows, metric) for name, rows in result.systems.items()}
    best = {k: max(values[k] for values in curves.values()) for k in BUDGETS}
    for name, rows in result.systems.items():
        cells = [
            Text(f"{value:.3f}", style="bold" if value == best[k] > 0 else "") for k, value in curves[name].items()
        ]
        spent = (fmean(row.llm_calls for row in rows), 1000 * fmean(row.seconds for row in rows)) if costs else ()
        table.add_row(Text(name), *cells, _interval(rows, metric), *(f"{value:.1f}" for value in spent))
    return table


def _interval(rows: Sequence[QueryResult], metric: Metric) -> str:
    groups = [[metric(row.ranks, INTERVAL_AT) for row in own] for own in by_person(rows).values()]
    ends = bootstrap_interval(groups)
    return "-" if ends is None else f"{ends[0]:.3f}-{ends[1]:.3f}"
