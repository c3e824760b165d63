"""Rows of a measurement, and whole runs, made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from prospection.evaluation.runs.folder import RunFolder
from prospection.evaluation.runs.rows import IndexRow, Row
from prospection.serial import to_json
from prospection.types import Usage

__all__ = ["row", "run_of"]


def row(
    system: str,
    query: str,
    ranks: tuple[int | None, ...],
    *,
    person: str = "ada",
    seed: int = 0,
    calls: int = 0,
    cost: float | None = 0.0,
    category: str | None = None,
    error: str | None = None,
    similarities: tuple[float, ...] | None = None,
) -> Row:
    """Return a row whose facts take ten tokens each; similarities fall with the place of the reference."""
    found = sorted(rank for rank in ranks if rank is not None)
    return Row(
        dataset="quest",
        system=system,
        seed=seed,
        query=query,
        user=person,
        person=person,
        category=category,
        fids=tuple(f"f{n}" for n in range(max(found, default=0))),
        ranks=ranks,
        tokens=tuple(None if rank is None else 10 * rank for rank in ranks),
        similarities=similarities or tuple(0.5 - place / 10 for place in range(len(ranks))),
        relevant=tuple(found),
        context_tokens=10 * max(found, default=0),
        usage=Usage(calls=calls, tokens_in=100 * calls, tokens_out=10 * calls, cost=cost),
        seconds=0.5,
        error=error,
    )


def run_of(
    path: Path,
    rows: Iterable[Row],
    indexes: Iterable[IndexRow] = (),
    *,
    sha256: str = "0" * 64,
    encoder: str = "words-v1",
) -> RunFolder:
    """Write a run's folder with these rows; the hash is that of its data set "quest"."""
    folder = RunFolder(path)
    folder.begin({"datasets": {"quest": {"sha256": sha256}}, "encoder": {"id": encoder}}, "")
    for name, lines in (("rows.jsonl", rows), ("indexes.jsonl", indexes)):
        text = "".join(json.dumps(to_json(line)) + "\n" for line in lines)
        (path / name).write_text(text, encoding="utf-8")
    return folder
