"""Data sets: a folder in, a checked `Dataset` out. One module a layout; none of them writes anything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.common import FILES, load_common
from prospection.evaluation.datasets.quest import load_quest, user_files

__all__ = ["load_dataset"]


def load_dataset(path: str | Path) -> Dataset:
    """Load a folder in any of the known layouts.

    Raises:
        InputError: The folder does not exist or has no known layout, a file in it cannot be read, an id occurs
            twice, or no query is left that could be scored.
    """
    folder = Path(path)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise InputError(f"{str(path)!r} {what}; DATA is the folder of a data set")
    if all((folder / name).is_file() for name in FILES):
        dataset = load_common(folder)
    elif user_files(folder):
        dataset = load_quest(folder)
    else:
        raise InputError(
            f"{str(path)!r} is not a data set: it has neither user*.json files (quest layout) "
            f"nor {' and '.join(FILES)} (common layout)"
        )
    _check(dataset, folder)
    return dataset


def _check(dataset: Dataset, folder: Path) -> None:
    _unique([user.id for user in dataset.users], "user", folder)
    _unique([query.id for query in dataset.queries], "query", folder)
    for user in dataset.users:
        _unique([fact.id for fact in user.facts], f"fact of user {user.id!r}", folder)
    if not dataset.queries:
        reasons = " ".join(dataset.notes) or "There are no queries."
        raise InputError(f"{str(folder)!r} has no query that could be scored. {reasons}")


def _unique(ids: list[str], what: str, folder: Path) -> None:
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"{str(folder)!r}: {what} {twice[0]!r} occurs twice; ids have to be unique")
