"""Figures of extraction for people: a result in, something that rich can print out. Prints nothing itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from prospection.evaluation.extraction.figures import Compared, Figures, dates_of
from prospection.evaluation.extraction.measure import ExtractionResult

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["details", "extraction_report"]

_HEADINGS = (
    "facts", "a session", "coverage", "precision", "twice", "small talk", "type", "dated", "wrong dates", "needed",
)  # fmt: skip


def extraction_report(result: ExtractionResult) -> RenderableType:
    """Return the table, what the model cost, and the notes."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("extractor")
    for heading in _HEADINGS:
        table.add_column(heading, justify="right")
    for name, figures in result.figures.items():
        table.add_row(Text(name), *_cells(figures))
    head = (
        f"{result.data}: {result.facts} gold facts in {result.sessions} sessions of {result.people} "
        f"{'person' if result.people == 1 else 'people'}, encoder {result.encoder}"
    )
    costs = [
        f"{name.capitalize()}: {usage.calls} calls, {usage.tokens_in:,} tokens in, {usage.tokens_out:,} out"
        for name, usage in result.usage.items()
    ]
    return Group(
        Text(head, style="bold"), "", table, "", *(Text(note, style="dim") for note in (*costs, *result.notes))
    )


def details(compared: Compared) -> Iterator[str]:
    """Yield lines to read: what was missed, what says no gold fact, what is small talk, repeated or wrongly dated."""
    gold, statements = compared.person.gold, compared.extracted.statements
    wrong = {column for column, agreed in dates_of(compared) if not agreed}
    yield f"--- {compared.person.id}: gold facts that no statement says"
    yield from (f"{gold[row].session}  {gold[row].text}" for row in compared.rows() if not compared.matches[row].any())
    yield f"--- {compared.person.id}: statements that say no gold fact"
    for column in compared.columns():
        session, statement = statements[column]
        if compared.matches[:, column].any():
            continue
        marks = "  (small talk)" if compared.small_talk[column] else ""
        yield f"{session}  {statement.info}{marks}"
    yield f"--- {compared.person.id}: statements that repeat an earlier one"
    yield from (f"{statements[column][0]}  {statements[column][1].info}" for column in np.flatnonzero(compared.repeats))
    yield f"--- {compared.person.id}: wrong dates"
    for column in sorted(wrong):
        session, statement = statements[column]
        time = statement.event_time
        yield f"{session}  {time and time.start.isoformat()}  {statement.info}"


def _cells(figures: Figures) -> tuple[str, ...]:
    mean, least, most = figures.per_session
    return (
        str(figures.statements),
        f"{mean:.2f} ({least}-{most})",
        *map(
            _share,
            (
                figures.coverage,
                figures.precision,
                figures.duplicates,
                figures.small_talk,
                figures.types,
                figures.dated,
            ),
        ),
        f"{figures.wrong_dates} of {figures.dates}",
        f"{figures.needed[0]} of {figures.needed[1]}",
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
