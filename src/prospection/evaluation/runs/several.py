"""Several runs side by side: folders in, rows out in which every system has a name of its own.

A system that several runs have measured on one data set is not one system asked more often: model, prompts or code may
have changed between them. So it is named after its run. Runs over different data are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from prospection.errors import InputError
from prospection.evaluation.runs.folder import RunFolder
from prospection.evaluation.runs.rows import IndexRow, Row

__all__ = ["Several", "check_same_data", "in_run", "read_runs", "run_names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """What several runs wrote down.

    Attributes:
        rows, indexes: A system that several runs measured on one data set is called "system (run)".
        notes: What a reader of the figures should know, in sentences.
        about: The same of each data set: how it was read, what was left out.
    """

    rows: tuple[Row, ...]
    indexes: tuple[IndexRow, ...]
    notes: tuple[str, ...]
    about: Mapping[str, tuple[str, ...]]


def read_runs(folders: Sequence[RunFolder]) -> Several:
    """Read runs; a folder that is named twice is read once.

    Raises:
        InputError: One is no run, or two have different data under one name.
    """
    folders = list({folder.path.resolve(): folder for folder in folders}.values())
    names = run_names(folders)
    check_same_data(folders)
    read = [(name, list(folder.rows().values()), folder.indexes()) for name, folder in zip(names, folders, strict=True)]
    measured = Counter(pair for _, rows, _ in read for pair in {(row.dataset, row.system) for row in rows})
    twice = {pair for pair, runs in measured.items() if runs > 1}

    def named(run: str, row: Row | IndexRow) -> str:
        return in_run(row.system, run) if (row.dataset, row.system) in twice else row.system

    return Several(
        rows=tuple(replace(row, system=named(run, row)) for run, rows, _ in read for row in rows),
        indexes=tuple(replace(row, system=named(run, row)) for run, _, indexes in read for row in indexes),
        notes=tuple(_other_encoders(names, folders)),
        about=_about(folders),
    )


def in_run(system: str, run: str) -> str:
    """Return what tables call a system of that run."""
    return f"{system} ({run})"


def run_names(folders: Sequence[RunFolder]) -> list[str]:
    """Return the names of folders; the whole path where two folders have one name."""
    count = Counter(path.name for path in {folder.path.resolve() for folder in folders})
    return [folder.name if count[folder.name] == 1 else str(folder.path) for folder in folders]


def check_same_data(folders: Sequence[RunFolder], datasets: Iterable[str] | None = None) -> None:
    """Make sure that runs mean the same by the name of a data set.

    Args:
        datasets: Only these; None: all.

    Raises:
        InputError: They do not.
    """
    wanted = None if datasets is None else set(datasets)
    seen: dict[str, tuple[str, str]] = {}
    for name, folder in zip(run_names(folders), folders, strict=True):
        known: Mapping[str, Mapping[str, str]] = folder.manifest()["datasets"]
        for dataset, said in known.items():
            if wanted is not None and dataset not in wanted:
                continue
            first, before = seen.setdefault(dataset, (name, said["sha256"]))
            if before != said["sha256"]:
                raise InputError(
                    f"data set {dataset!r} is not the same in runs {first!r} and {name!r} (sha256 {before[:12]} and "
                    f"{said['sha256'][:12]}); compare runs over the same data, cut alike, or report each alone"
                )


def _about(folders: Sequence[RunFolder]) -> dict[str, tuple[str, ...]]:
    notes: dict[str, dict[str, None]] = {}
    for folder in folders:
        for dataset, said in folder.manifest()["datasets"].items():
            notes.setdefault(dataset, {}).update(dict.fromkeys(said.get("notes", ())))
    return {dataset: tuple(own) for dataset, own in notes.items()}


def _other_encoders(names: Sequence[str], folders: Sequence[RunFolder]) -> list[str]:
    encoders = [folder.manifest()["encoder"]["id"] for folder in folders]
    if len(set(encoders)) < 2:
        return []
    listed = ", ".join(f"{encoder} ({name})" for name, encoder in zip(names, encoders, strict=True))
    return [f"Runs have different encoders: {listed}; groups by similarity are those of the first."]
