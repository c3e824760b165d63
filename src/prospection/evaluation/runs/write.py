"""A report as files: tables in, report.md, report.csv and report.json out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from prospection.errors import InputError
from prospection.evaluation.runs.compare import Comparison
from prospection.evaluation.runs.summary import Summary
from prospection.evaluation.runs.tables import as_csv, as_json, as_markdown

__all__ = ["write_report"]


def write_report(
    folder: Path,
    summaries: Sequence[Summary],
    comparisons: Sequence[Comparison],
    notes: Sequence[str] = (),
    about: Mapping[str, Sequence[str]] | None = None,
) -> list[Path]:
    """Write the tables; the folder is made when it is missing. Arguments are those of `as_markdown`.

    Returns:
        The files.

    Raises:
        InputError: They cannot be written.
    """
    texts = {
        "report.md": as_markdown(summaries, comparisons, notes, about),
        "report.csv": as_csv(summaries),
        "report.json": json.dumps(as_json(summaries, comparisons, notes, about), ensure_ascii=False, indent=2) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be written: {error}; name another folder") from error
    return [folder / name for name in texts]
