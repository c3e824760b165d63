"""A run's folder: what stands in it, and how it survives a kill.

```
RUN/manifest.json      what it was made with
RUN/plan.toml          the plan as it was given
RUN/rows.jsonl         one line a case, appended when it is done; of a case asked again the last line counts
RUN/indexes.jsonl      one line for each index that a system built
RUN/recording.jsonl    every call to a model, for replay
RUN/embeddings.db      vectors of an encoder that is not local, for replay
RUN/packages/          indexes and logs of rivals' own packages, one folder a system
RUN/lock               held by the process that is measuring
```

Nothing here measures.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from prospection.errors import InputError
from prospection.evaluation.lines import append_line, held, mend, write_whole
from prospection.evaluation.runs.rows import CaseKey, IndexRow, Row
from prospection.serial import from_json, to_json

__all__ = ["RunFolder"]

RowT = TypeVar("RowT", Row, IndexRow)


class RunFolder:
    """A folder with one run in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording = path / "recording.jsonl"
        self.embeddings = path / "embeddings.db"
        self.packages = path / "packages"
        self._lock = anyio.Lock()

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.resolve().name

    def exists(self) -> bool:
        """Return whether a run was begun here."""
        return (self.path / "manifest.json").is_file()

    def begin(self, manifest: dict[str, Any], plan: str) -> None:
        """Make the folder, or go on in it; lines that were cut short by a kill are taken off.

        Raises:
            InputError: The folder cannot be written.
        """
        write_whole(self.path / "plan.toml", plan)
        write_whole(self.path / "manifest.json", json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")
        for name in ("rows.jsonl", "indexes.jsonl", "recording.jsonl"):
            mend(self.path / name)

    def held(self) -> AbstractContextManager[None]:
        """Hold the run while it is measured: two processes would pay for every call twice.

        Raises:
            InputError: Another process holds it, or it cannot be written.
        """
        return held(self.path)

    def manifest(self) -> dict[str, Any]:
        """Return the manifest.

        Raises:
            InputError: There is no run here, or it cannot be read.
        """
        try:
            data: dict[str, Any] = json.loads(self._text("manifest.json"))
        except ValueError as error:
            path = str(self.path / "manifest.json")
            raise InputError(f"{path!r} is no manifest: {error}; put it back, or start a new run") from error
        return data

    def plan(self) -> str:
        """Return the plan as it was given.

        Raises:
            InputError: There is no run here.
        """
        return self._text("plan.toml")

    def rows(self) -> dict[CaseKey, Row]:
        """Return the last row of every case, in the order of first appearance.

        Raises:
            InputError: A line is not a row.
        """
        return {row.key: row for row in self._lines("rows.jsonl", Row)}

    def indexes(self) -> list[IndexRow]:
        """Return what was built.

        Raises:
            InputError: A line is not a row.
        """
        found = self._lines("indexes.jsonl", IndexRow)
        return list({(row.dataset, row.system, row.user): row for row in found}.values())

    async def append(self, row: Row | IndexRow) -> None:
        """Write a row down; when this returns it survives the process.

        Raises:
            InputError: The file cannot be written.
        """
        name = "rows.jsonl" if isinstance(row, Row) else "indexes.jsonl"
        async with self._lock:
            await anyio.to_thread.run_sync(append_line, self.path / name, json.dumps(to_json(row), ensure_ascii=False))

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{str(self.path)!r} is not a run: {error}; name a folder that `eval run` made") from error

    def _lines(self, name: str, kind: type[RowT]) -> list[RowT]:
        path = self.path / name
        if not path.is_file():
            return []
        found = []
        lines = self._text(name).split("\n")
        for number, line in enumerate(lines[:-1], start=1):  # what follows the last line end was cut short by a kill
            try:
                found.append(from_json(kind, json.loads(line)))
            except ValueError as error:
                raise InputError(f"{path}, line {number} is not a row: {error}; start a new run") from error
        return found
