"""Data sets: a path in, a checked `Dataset` out. One module a layout; none of them writes anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prospection.errors import InputError, UnknownNameError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.common import find_common, load_common
from prospection.evaluation.datasets.implexconv import find_implexconv, load_implexconv
from prospection.evaluation.datasets.locomo import find_locomo, load_locomo
from prospection.evaluation.datasets.locomo_plus import find_locomo_plus, load_locomo_plus
from prospection.evaluation.datasets.longmemeval import find_longmemeval, load_longmemeval
from prospection.evaluation.datasets.memoryquest import find_memoryquest, load_memoryquest
from prospection.evaluation.datasets.personalens import find_personalens, load_personalens
from prospection.evaluation.datasets.personamem import find_personamem, load_personamem
from prospection.evaluation.datasets.personamem2 import find_personamem2, load_personamem2
from prospection.evaluation.datasets.quest import find_quest, load_quest

__all__ = ["LAYOUTS", "Layout", "load_dataset"]


@dataclass(frozen=True, slots=True)
class Layout:
    """How one kind of data set is recognised and loaded.

    Attributes:
        find: Returns the file or folder at or under a path that `load` takes; None when it is not of this layout.
    """

    find: Callable[[Path], Path | None]
    load: Callable[[Path], Dataset]


LAYOUTS = {
    "common": Layout(find_common, load_common),
    "memoryquest": Layout(find_memoryquest, load_memoryquest),
    "quest": Layout(find_quest, load_quest),
    "personalens": Layout(find_personalens, load_personalens),
    "personamem": Layout(find_personamem, load_personamem),
    "personamem2": Layout(find_personamem2, load_personamem2),
    # Before LoCoMo, whose conversations it keeps beside it.
    "locomo-plus": Layout(find_locomo_plus, load_locomo_plus),
    "locomo": Layout(find_locomo, load_locomo),
    "longmemeval": Layout(find_longmemeval, load_longmemeval),
    "implexconv": Layout(find_implexconv, load_implexconv),
}
"""By name, in the order in which they are tried: those known by names of files before those that are read into."""


def load_dataset(path: str | Path, name: str | None = None) -> Dataset:
    """Load a data set in any of the known layouts.

    Args:
        path: A folder, or the file of a layout that has one.
        name: Of the layout; None: the first that the content is recognised by.

    Raises:
        UnknownNameError: There is no such layout.
        InputError: There is nothing at the path or no known layout, a file cannot be read, an id occurs twice, or no
            query is left that could be scored.
    """
    place = Path(path)
    if name is not None and name not in LAYOUTS:
        raise UnknownNameError("layout", name, LAYOUTS)
    if not place.exists():
        raise InputError(f"{str(path)!r} does not exist; DATA is the file or folder of a data set")
    for layout in LAYOUTS.values() if name is None else [LAYOUTS[name]]:
        if (found := layout.find(place)) is not None:
            dataset = layout.load(found)
            _check(dataset, place)
            return dataset
    tried = ", ".join(LAYOUTS) if name is None else name
    raise InputError(f"{str(path)!r} is not a data set of a known layout ({tried}); see `prospection eval datasets`")


def _check(dataset: Dataset, place: Path) -> None:
    _unique([user.id for user in dataset.users], "user", place)
    _unique([query.id for query in dataset.queries], "query", place)
    for user in dataset.users:
        _unique([fact.id for fact in user.facts], f"fact of user {user.id!r}", place)
    if not dataset.queries:
        reasons = " ".join(dataset.notes) or "There are no queries."
        raise InputError(f"{str(place)!r} has no query that could be scored. {reasons}")


def _unique(ids: list[str], what: str, place: Path) -> None:
    twice = [name for name, count in Counter(ids).items() if count > 1]
    if twice:
        raise InputError(f"{str(place)!r}: {what} {twice[0]!r} occurs twice; ids have to be unique")
