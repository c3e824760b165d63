"""Figures as tables: summaries and comparisons in, Markdown, CSV and JSON out. Nothing here computes or writes."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from prospection.evaluation.metrics import BUDGETS, TOKEN_BUDGETS
from prospection.evaluation.runs.compare import LEVEL, Comparison, smallest_p
from prospection.evaluation.runs.summary import Interval, Summary
from prospection.evaluation.spreadsheets import guarded
from prospection.serial import to_json

__all__ = ["as_csv", "as_json", "as_markdown", "comparison_table"]

INTERVAL_AT = 20
"""The budget whose interval tables show."""

DECILES_AT = 20

Column = tuple[str, Callable[[Summary], float | None], str]
"""Heading, value and format; the highest value of a column is set in bold where the format is a share's."""

SHARE = ".3f"


def as_markdown(
    summaries: Sequence[Summary],
    comparisons: Sequence[Comparison] = (),
    notes: Sequence[str] = (),
    about: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return everything as a Markdown document, data set by data set; the best share of each column is bold.

    Args:
        notes: What holds for all of it, in sentences; they stand first.
        about: What holds for a data set; it stands before its tables.
    """
    parts = list(notes)
    for dataset, own in _by_dataset(summaries).items():
        parts += [f"## {dataset}", _counts(own)]
        if known := (about or {}).get(dataset):
            parts.append("\n".join(f"- {note}" for note in known))
        parts += _sections(own)
        compared = [one for one in comparisons if one.dataset == dataset]
        if compared:
            parts += ["### Differences", comparison_table(compared), _how_compared(compared)]
        if said := _notes(own):
            parts += ["### Notes", said]
    return "\n\n".join(parts) + "\n"


def as_csv(summaries: Sequence[Summary]) -> str:
    """Return one line a data set and system, with every figure in a column of its own."""
    lines = [_flat(summary) for summary in summaries]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(lines[0]) if lines else ["dataset", "system"], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: guarded(cell) for name, cell in line.items()} for line in lines)
    return out.getvalue()


def as_json(
    summaries: Sequence[Summary],
    comparisons: Sequence[Comparison] = (),
    notes: Sequence[str] = (),
    about: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Return everything as JSON data. Other tools read this shape; keys are only ever added."""
    return {
        "summaries": to_json(list(summaries)),
        "comparisons": to_json(list(comparisons)),
        "notes": list(notes),
        "about": {name: list(own) for name, own in (about or {}).items()},
    }


def comparison_table(comparisons: Sequence[Comparison]) -> str:
    """Return comparisons as a Markdown table, the largest difference first."""
    head = ["A", "B", "A's", "B's", "B - A", "95 %", "p", "p (Holm)", "B better / worse"]
    rows = [
        [
            one.system_a,
            one.system_b,
            f"{one.a:.3f}",
            f"{one.b:.3f}",
            f"{one.difference:+.3f}",
            _range(one.interval, signed=True),
            _p(one.p),
            f"**{_p(one.p_corrected)}**" if one.verdict == "real" else _p(one.p_corrected),
            f"{one.better} / {one.worse}",
        ]
        for one in sorted(comparisons, key=lambda one: -abs(one.difference))
    ]
    return _table(head, rows, left=2)


def _sections(own: Sequence[Summary]) -> list[str]:
    everything: list[Column] = [("all", lambda one: one.recall_all, SHARE), ("facts", lambda one: one.facts, ".1f")]
    parts = [
        "### Recall",
        "Share of the needed facts among the first k; *all*: among everything returned.",
        _figures(own, [*_at(BUDGETS, lambda one: one.recall), *everything], interval=lambda one: one.intervals),
        "### Exact recall",
        "Share of queries all of whose needed facts are among the first k.",
        _figures(
            own,
            [*_at(BUDGETS, lambda one: one.exact), ("all", lambda one: one.exact_all, SHARE)],
            interval=lambda one: one.exact_intervals,
        ),
        "### Precision",
        "Share of the first k facts that are needed.",
        _figures(own, [*_at(BUDGETS, lambda one: one.precision), ("all", lambda one: one.precision_all, SHARE)]),
        "### Recall at token budgets",
        "The same, when facts are packed into a context of so many tokens (about four characters each).",
        _figures(own, _at(TOKEN_BUDGETS, lambda one: one.recall_at_tokens, mark="")),
        "### Cost of a query",
        "Of retrieval; *answered*: with the call of the answer, as the paper counts. An answer is shown as much of "
        "what was returned as fits its context. An index is built once a person.",
        _costs(own),
        f"### Recall@{DECILES_AT} by similarity",
        "Needed facts in ten groups of equal size, by the cosine of query and fact; the least similar first.",
        _deciles(own),
    ]
    if any(one.by_category for one in own):
        parts += [f"### Recall@{DECILES_AT} by category", _categories(own)]
    return parts


def _at(budgets: Iterable[int], values: Callable[[Summary], Mapping[int, float]], mark: str = "@") -> list[Column]:
    return [(f"{mark}{k}", lambda one, k=k: values(one)[k], SHARE) for k in budgets]  # type: ignore[misc]


def _figures(
    own: Sequence[Summary],
    columns: Sequence[Column],
    *,
    interval: Callable[[Summary], Mapping[int, Interval]] | None = None,
) -> str:
    best = {
        heading: max(value for one in own if (value := get(one)) is not None)
        for heading, get, form in columns
        if form == SHARE
    }
    rows = []
    for one in own:
        cells = [one.system]
        for heading, get, form in columns:
            value = get(one)
            text = "-" if value is None else f"{value:{form}}"
            cells.append(f"**{text}**" if value == best.get(heading) and value else text)
        if interval is not None:
            cells.append(_range(interval(one)[INTERVAL_AT]))
        rows.append(cells)
    head = ["system", *(heading for heading, _, _ in columns)]
    return _table([*head, f"95 % @{INTERVAL_AT}"] if interval is not None else head, rows)


def _costs(own: Sequence[Summary]) -> str:
    columns: list[Column] = [
        ("calls", lambda one: one.calls, ".2f"),
        ("answered", lambda one: one.calls + 1, ".2f"),
        ("tokens in", lambda one: one.tokens_in, ",.0f"),
        ("tokens out", lambda one: one.tokens_out, ",.0f"),
        ("dollars", lambda one: one.cost, ".4f"),
        ("seconds", lambda one: one.seconds, ".2f"),
        ("tokens returned", lambda one: one.context_tokens, ",.0f"),
        ("index calls", lambda one: one.index_calls, ".0f"),
        ("index tokens", lambda one: one.index_tokens, ",.0f"),
        ("index dollars", lambda one: one.index_cost, ".3f"),
        ("failed cases", lambda one: float(one.failed), ".0f"),
    ]
    if not any(one.index_calls for one in own):
        columns = [column for column in columns if not column[0].startswith("index")]
    return _figures(own, columns)


def _deciles(own: Sequence[Summary]) -> str:
    means = {group: mean for one in own for group, (mean, _) in one.by_decile.items()}
    groups = sorted(means)
    head = ["system", *(f"{means[group]:.2f}" for group in groups)]
    rows = [
        [
            one.system,
            *(f"{one.by_decile[group][1][DECILES_AT]:.3f}" if group in one.by_decile else "-" for group in groups),
        ]
        for one in own
    ]
    return _table(head, rows)


def _categories(own: Sequence[Summary]) -> str:
    sizes = {category: size for one in own for category, (size, _) in one.by_category.items()}
    head = ["system", *(f"{category} ({size})" for category, size in sizes.items())]
    rows = [
        [
            one.system,
            *(
                f"{one.by_category[category][1][DECILES_AT]:.3f}" if category in one.by_category else "-"
                for category in sizes
            ),
        ]
        for one in own
    ]
    return _table(head, rows)


def _counts(own: Sequence[Summary]) -> str:
    queries, seeds = max(one.queries for one in own), max(one.seeds for one in own)
    text = f"{queries} queries of {max(one.people for one in own)} people"
    if seeds > 1:
        text += f", {seeds} times each"
    if part := [one for one in own if one.cases < queries * seeds]:
        asked = ", ".join(f"{one.system} {one.cases}" for one in part)
        text += f". Not every system has been asked every query so often: of {queries * seeds} cases {asked}"
    return text + ". Intervals: 95 %, bootstrap over people."


def _how_compared(compared: Sequence[Comparison]) -> str:
    first = compared[0]
    at = "of everything returned" if first.at is None else f"@{first.at}"
    what = {"recall": "Recall", "exact": "Exact recall"}[first.measure]
    text = (
        f"{what} {at}. Interval: bootstrap over people. p: paired permutation test over {first.unit}, corrected for "
        f"{len(compared)} comparisons (Holm). Bold: below .05, and the interval excludes 0."
    )
    if first.unit == "queries":
        text += " Queries of one person are not independent: over queries p comes out too small."
    people = max(one.people for one in compared)
    smallest = smallest_p(people)
    if smallest >= LEVEL:
        text += f" {people} are too few people to tell: the smallest p over people is {_p(smallest)}."
    elif len(compared) * smallest >= LEVEL and first.unit == "people":
        text += f" The smallest p over {people} people is {_p(smallest)}: compare fewer systems, with a baseline."
    return text


def _notes(own: Sequence[Summary]) -> str:
    return "\n".join(
        f"- {one.system}: {note}" + ("" if count == one.cases else f" ({count} of {one.cases} cases)")
        for one in own
        for note, count in one.notes.items()
    )


def _flat(one: Summary) -> dict[str, Any]:
    line: dict[str, Any] = {
        name: getattr(one, name)
        for name in ("dataset", "system", "people", "queries", "seeds", "cases", "failed", "facts", "context_tokens")
    }
    for name in ("recall", "exact", "precision"):
        line |= {f"{name}@{k}": round(value, 6) for k, value in getattr(one, name).items()}
        line[f"{name}_all"] = round(getattr(one, f"{name}_all"), 6)
    line |= {f"recall@{size}tokens": round(value, 6) for size, value in one.recall_at_tokens.items()}
    for k, ends in one.intervals.items():
        line[f"recall@{k}_low"], line[f"recall@{k}_high"] = ends or ("", "")
    for name in ("calls", "failed_calls", "tokens_in", "tokens_out", "cost", "seconds"):
        line[name] = getattr(one, name)
    line["calls_answered"] = one.calls + 1
    return line | {name: getattr(one, name) for name in ("index_calls", "index_tokens", "index_cost")}


def _by_dataset(summaries: Sequence[Summary]) -> dict[str, list[Summary]]:
    groups: defaultdict[str, list[Summary]] = defaultdict(list)
    for summary in summaries:
        groups[summary.dataset].append(summary)
    return groups


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    cells = [[text.replace("|", "\\|") for text in row] for row in (head, *rows)]
    widths = [max(3, *(len(row[place]) for row in cells)) for place in range(len(head))]

    def line(row: Sequence[str]) -> str:
        padded = (
            text.ljust(width) if place < left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return f"| {' | '.join(padded)} |"

    rule = ("-" * width if place < left else "-" * (width - 1) + ":" for place, width in enumerate(widths))
    return "\n".join([line(cells[0]), f"| {' | '.join(rule)} |", *(line(row) for row in cells[1:])])


def _range(ends: Interval, *, signed: bool = False) -> str:
    if ends is None:
        return "-"
    low, high = ends
    return f"{low:+.3f} to {high:+.3f}" if signed else f"{low:.3f}-{high:.3f}"


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
