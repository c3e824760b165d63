"""What a recall costs and what each phase of it brings, as in the paper's table of query-time overhead (appendix A.2).

A trace in, figures out; and a result in, a table for people out. The calls counted are those of the recall: an answer
costs one more, which the paper counts too.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from prospection.evaluation.results import QueryResult, RecallResult
from prospection.types import Trace

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["costs_report", "phase_counts"]


def phase_counts(trace: Trace) -> tuple[int, int]:
    """Return how many of the returned facts the first phase found, and how many were new after it.

    Where a model selects, a fact belongs to the round in which it was selected; else to the first round in which a
    probe reached it. What was found by other means counts as found at first. Of a probe that was searched with again,
    which is how a fact budget is filled up, the first search counts.
    """
    returned = [fid for fid, _ in trace.returned]
    selected: dict[str, int] = {}
    for record in trace.stages:
        if record.stage == "select" and isinstance(record.output, dict):
            for item in record.output.get("selected", ()):
                selected.setdefault(str(item["id"]).strip("[]"), record.round)
    reached: dict[str, int] = {}
    first = {search.probe.pid: search for search in reversed(trace.searches)}
    for search in first.values():
        for fid, _, _ in search.hits:
            reached[fid] = min(search.probe.round, reached.get(fid, search.probe.round))
    later = sum(selected.get(fid, reached.get(fid, 0)) > 0 for fid in returned)
    return len(returned) - later, later


def costs_report(result: RecallResult) -> RenderableType:
    """Return the table of costs, policies as they serve, and the notes below."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text("Cost of a recall, means per query; policies return as many facts as they do in service"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("system", no_wrap=True)
    headings = ("calls", "facts, phase 1", "new after", "tokens in", "tokens out", "dollars", "ms", "recall")
    for heading in headings:
        table.add_column(heading, justify="right")
    for name, rows in result.systems.items():
        table.add_row(Text(name), *_cells(rows))
    head = f"{result.data}: {result.queries} queries over {result.facts} facts, encoder {result.encoder}"
    legend = "Recall: share of the needed facts among all that were returned. An answer costs one call more."
    return Group(
        Text(head, style="bold"), "", table, "", *(Text(note, style="dim") for note in (legend, *result.notes))
    )


def _cells(rows: Sequence[QueryResult]) -> tuple[str, ...]:
    phases = [row.phases for row in rows if row.phases is not None]
    prices = [row.usage.cost for row in rows if row.usage.cost is not None]
    return (
        f"{fmean(row.llm_calls for row in rows):.2f}",
        f"{fmean(first for first, _ in phases):.2f}" if phases else "-",
        f"{fmean(later for _, later in phases):.2f}" if phases else "-",
        f"{fmean(row.usage.tokens_in for row in rows):.0f}",
        f"{fmean(row.usage.tokens_out for row in rows):.0f}",
        f"{fmean(prices):.4f}" if len(prices) == len(rows) else "unknown",
        f"{1000 * fmean(row.seconds for row in rows):.0f}",
        f"{fmean(sum(rank is not None for rank in row.ranks) / len(row.ranks) for row in rows):.3f}",
    )
