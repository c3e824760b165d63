"""Labels that people gave: CSV in and out, for the annotation page and for crowd platforms.

Labels are `annotator,pair,verdict` with verdict a, b or tie. A sheet for a crowd platform shows two answers as 1 and 2;
which of them is a is drawn from the pair's id, so that no key has to be kept beside the sheet.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from prospection.errors import InputError
from prospection.evaluation.judge.pairs import Pair, Side, chance
from prospection.evaluation.spreadsheets import bare

__all__ = ["SHEET", "Label", "read_labels", "read_sheet", "sheet_rows"]

Label = tuple[str, str, Side]
"""(annotator, pair, verdict)"""

SHEET = ("pair", "query", "answer_1", "answer_2")
"""Columns of a sheet. The filled one needs `pair` and `verdict` (1, 2 or tie), and perhaps `annotator`."""

_SIDES: dict[str, Side] = {"a": "a", "b": "b", "tie": "tie"}
_CHOICES = {"1": 0, "2": 1, "answer_1": 0, "answer_2": 1, "first": 0, "second": 1}


def sheet_rows(pairs: Iterable[Pair], *, seed: int = 0) -> list[tuple[str, ...]]:
    """Return the rows of a sheet, its head first."""
    return [SHEET, *((pair.id, pair.query, *_shown(pair, seed)) for pair in pairs)]


def read_sheet(path: Path, pairs: Sequence[Pair], *, seed: int = 0) -> list[Label]:
    """Read a filled sheet back.

    Args:
        pairs: Those that the sheet was made of.
        seed: The same as when it was made.

    Raises:
        InputError: It cannot be read, lacks a column, or a row names no pair or no verdict that is known.
    """
    known = {pair.id: pair for pair in pairs}
    labels: list[Label] = []
    for where, row in _rows(path, ("pair", "verdict")):
        pair, verdict = row["pair"], row["verdict"].strip().lower()
        if pair not in known:
            raise InputError(f"{where}: there is no pair {pair!r}; read the sheet with the pairs it was made of")
        if verdict == "tie":
            side: Side = "tie"
        elif verdict in _CHOICES:
            sides: tuple[Side, Side] = ("b", "a") if _swapped(known[pair], seed) else ("a", "b")
            side = sides[_CHOICES[verdict]]
        else:
            raise InputError(f"{where}: the verdict is {row['verdict']!r}; it has to be 1, 2 or tie")
        labels.append((row.get("annotator") or "crowd", pair, side))
    return labels


def read_labels(path: Path) -> list[Label]:
    """Read labels as the annotation page exports them.

    Raises:
        InputError: It cannot be read, lacks a column, or a verdict is none.
    """
    labels: list[Label] = []
    for where, row in _rows(path, ("annotator", "pair", "verdict")):
        verdict = row["verdict"]
        if verdict not in _SIDES:
            raise InputError(f"{where}: the verdict is {verdict!r}; it has to be a, b or tie")
        labels.append((row["annotator"], row["pair"], _SIDES[verdict]))
    return labels


def _shown(pair: Pair, seed: int) -> tuple[str, str]:
    return (pair.b, pair.a) if _swapped(pair, seed) else (pair.a, pair.b)


def _swapped(pair: Pair, seed: int) -> bool:
    return chance("sheet", str(seed), pair.id) < 0.5


def _rows(path: Path, columns: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            found = [(f"{path}, line {reader.line_num}", row) for row in reader]
            head = reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error}; check the path, and save it as CSV in UTF-8"
        ) from error
    if lacking := [column for column in columns if column not in head]:
        raise InputError(
            f"{str(path)!r} lacks the column {lacking[0]!r}; it has {', '.join(map(repr, head)) or 'none'}"
        )
    rows = []
    for where, row in found:
        # Cells that a short row lacks are None; those of a row that is too long stand together under the key None.
        cells = {name: bare(cell) for name, cell in row.items() if isinstance(cell, str)}
        if lacking := [column for column in columns if column not in cells]:
            raise InputError(f"{where}: the row ends before the column {lacking[0]!r}; complete or remove it")
        rows.append((where, cells))
    return rows
