"""Tables of verdicts: judgements or agreement in; JSON data and rows of text out. Prints nothing.

One row a pair of systems, judge and data set, as in the paper's table of win rates, and a last one over all sets
together.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from prospection.evaluation.judge.agreement import SIDES, Agreement
from prospection.evaluation.judge.verdicts import Judgement
from prospection.evaluation.judge.winrate import Judged, WinRate, combine, win_rate
from prospection.evaluation.spreadsheets import guarded
from prospection.serial import to_json
from prospection.types import Usage

__all__ = [
    "ALL",
    "HEAD",
    "NO_SPREAD",
    "Row",
    "agreement_rows",
    "as_csv",
    "as_markdown",
    "judge_json",
    "judge_rows",
    "win_rates",
]

ALL = "all"
"""What the row over all data sets is called."""

NO_SPREAD = "no spread"
"""Stands for the length-controlled rate where one side is longer by nearly the same in every pair."""

HEAD = (
    "system", "against", "judge", "data", "pairs", "win rate", "95 %", "length-controlled", "95 % of it",
    "wins", "ties", "losses", "orders agree", "first preferred",
)  # fmt: skip


class Row(NamedTuple):
    """What a win rate is of: two systems, who judged (a model, and the hash of its prompt), and a data set or `ALL`."""

    system: str
    against: str
    model: str
    prompt: str
    data: str


def win_rates(judgements: Iterable[Judgement], people: Iterable[Judged] = ()) -> dict[Row, WinRate]:
    """Return win rates; with several data sets also over all of them.

    Pairs that were not judged in both orders do not count; a set without any pair has no row.

    Args:
        people: What people said, from `judged_by_people`; rows of their own.
    """
    matches: defaultdict[tuple[str, str, str, str], list[Judged]] = defaultdict(list)
    for one in (*combine(list(judgements)), *people):
        matches[*one.names, one.model, one.prompt].append(one)
    rates = {}
    for match, judged in matches.items():
        sets = list(dict.fromkeys(one.dataset for one in judged))
        for dataset in sets:
            rates[Row(*match, dataset or ALL)] = win_rate([one for one in judged if one.dataset == dataset])
        if len(sets) > 1:
            rates[Row(*match, ALL)] = win_rate(judged)
    return rates


def judge_json(judgements: Sequence[Judgement], people: Iterable[Judged] = ()) -> dict[str, Any]:
    """Return everything as JSON data; keys are only ever added."""
    return {
        "rows": [{**row._asdict(), **to_json(rate)} for row, rate in win_rates(judgements, people).items()],
        "models": sorted({one.model for one in judgements}),
        "prompts": sorted({one.prompt for one in judgements}),
        "failed": sum(one.verdict is None for one in judgements),
        "usage": to_json(sum((one.usage for one in judgements), Usage())),
    }


def judge_rows(judgements: Iterable[Judgement], people: Iterable[Judged] = ()) -> list[tuple[str, ...]]:
    """Return the rows under `HEAD`; shares in per cent. Prompts are named where a model judged with several."""
    rates = win_rates(judgements, people)
    prompts: defaultdict[str, set[str]] = defaultdict(set)
    for row in rates:
        prompts[row.model].add(row.prompt)
    return [
        (
            row.system,
            row.against,
            row.model if len(prompts[row.model]) == 1 else f"{row.model}, prompt {row.prompt}",
            row.data,
            str(rate.pairs),
            _percent(rate.rate),
            _interval(rate.interval),
            NO_SPREAD if rate.controlled is None else _percent(rate.controlled),
            _interval(rate.controlled_interval),
            str(rate.wins),
            str(rate.ties),
            str(rate.losses),
            _percent(rate.agreed),
            _percent(rate.first),
        )
        for row, rate in rates.items()
    ]


def agreement_rows(found: Agreement) -> list[tuple[str, ...]]:
    """Return the confusion matrix as shares of all pairs, in per cent, with labels; rows are the first judge."""
    rows = [("", *SIDES)]
    for label, counts in zip(SIDES, found.matrix, strict=True):
        rows.append((label, *(_percent(count / found.pairs) for count in counts)))
    return rows


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows, the first of them the head, as a table in Markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV. A cell that a spreadsheet would take for a formula gets a quote before it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([guarded(cell) for cell in row] for row in rows)
    return text.getvalue()


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"
