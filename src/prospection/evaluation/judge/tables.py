"""Tables of verdicts: judgements or agreement in; JSON data and rows of text out. Prints nothing.

One row a pair of systems and data set, as in the paper's table of win rates, and a last one over all sets together.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from prospection.evaluation.judge.agreement import SIDES, Agreement
from prospection.evaluation.judge.verdicts import Judgement
from prospection.evaluation.judge.winrate import WinRate, combine, win_rate
from prospection.serial import to_json
from prospection.types import Usage

__all__ = ["ALL", "HEAD", "agreement_rows", "as_csv", "as_markdown", "judge_json", "judge_rows", "win_rates"]

ALL = "all"
"""What the row over all data sets is called."""

HEAD = (
    "system", "against", "data", "pairs", "win rate", "95 %", "length-controlled", "95 % of it",
    "wins", "ties", "losses", "orders agree", "first preferred",
)  # fmt: skip


def win_rates(judgements: Iterable[Judgement]) -> dict[tuple[str, str, str], WinRate]:
    """Return win rates by (system, against, data set); with several sets also over all of them.

    Pairs that were not judged in both orders do not count; a set without any pair has no row.
    """
    matches: defaultdict[tuple[str, str], list[Judgement]] = defaultdict(list)
    for one in judgements:
        matches[one.names].append(one)
    rates = {}
    for (system, against), own in matches.items():
        judged = combine(own)
        sets = list(dict.fromkeys(one.dataset for one in judged))
        for dataset in sets:
            rates[system, against, dataset or ALL] = win_rate([one for one in judged if one.dataset == dataset])
        if len(sets) > 1:
            rates[system, against, ALL] = win_rate(judged)
    return rates


def judge_json(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """Return everything as JSON data; keys are only ever added."""
    return {
        "rows": [
            {"system": system, "against": against, "data": dataset, **to_json(rate)}
            for (system, against, dataset), rate in win_rates(judgements).items()
        ],
        "models": sorted({one.model for one in judgements}),
        "prompts": sorted({one.prompt for one in judgements}),
        "failed": sum(one.verdict is None for one in judgements),
        "usage": to_json(sum((one.usage for one in judgements), Usage())),
    }


def judge_rows(judgements: Iterable[Judgement]) -> list[tuple[str, ...]]:
    """Return the rows under `HEAD`; shares in per cent."""
    return [
        (
            system,
            against,
            dataset,
            str(rate.pairs),
            _percent(rate.rate),
            _interval(rate.interval),
            _percent(rate.controlled),
            _interval(rate.controlled_interval),
            str(rate.wins),
            str(rate.ties),
            str(rate.losses),
            _percent(rate.agreed),
            _percent(rate.first),
        )
        for (system, against, dataset), rate in win_rates(judgements).items()
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
    csv.writer(text, lineterminator="\n").writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _interval(interval: tuple[float, float] | None) -> str:
    return "-" if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"
