"""Data sets: a path in, a checked `Dataset` out. One module a layout; none of them writes anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from prospection.errors import InputError, UnknownNameError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.common import find_common, load_common
from prospection.evaluation.datasets.implexconv import find_implexconv, load_implexconv
from prospection.evaluation.datasets.locomo import find_locomo, load_locomo
from prospection.evaluation.datasets.locomo_plus import find_locomo_plus, load_locomo_plus
from prospection.evaluation.datasets.longmemeval import find_longmemeval, load_longmemeval
from prospection.evaluation.datasets.memoryquest import find_memoryquest, load_memoryquest, named_memoryquest
from prospection.evaluation.datasets.personalens import find_personalens, load_personalens
from prospection.evaluation.datasets.personamem import find_personamem, load_personamem
from prospection.evaluation.datasets.personamem2 import find_personamem2, load_personamem2
from prospection.evaluation.datasets.published import once
from prospection.evaluation.datasets.quest import find_quest, load_quest
from prospection.evaluation.files import read_text

__all__ = ["LAYOUTS", "Layout", "load_dataset"]


@dataclass(frozen=True, slots=True)
class Layout:
    """How one kind of data set is recognised and loaded.

    Attributes:
        find: Returns the file or folder at or under a path that `load` takes; None when it is not of this layout.
        parts: How the files are called of which a folder of this layout is made; (): `load` takes one file.
        named: As `find`, when the caller has said that it is this layout; None: as `find`. One file is then always
            taken as it is.
    """

    find: Callable[[Path], Path | None]
    load: Callable[[Path], Dataset]
    parts: tuple[str, ...] = ()
    named: Callable[[Path], Path | None] | None = None

    def take(self, path: Path) -> Path | None:
        """Return what `load` takes at or under a path that is said to be of this layout."""
        return path if path.is_file() and not self.parts else (self.named or self.find)(path)


LAYOUTS = {
    "common": Layout(find_common, load_common, ("users.jsonl", "queries.jsonl", "facts.jsonl")),
    "memoryquest": Layout(find_memoryquest, load_memoryquest, ("user*.json",), named_memoryquest),
    "quest": Layout(find_quest, load_quest, ("user*.json",)),
    "personalens": Layout(find_personalens, load_personalens, ("profile.json", "tasks.json", "tasks_md.json")),
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
        name: Of the layout; None: the first that the content is recognised by. A file of a named layout is not looked
            into before it is loaded.

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
    layouts = LAYOUTS if name is None else {name: LAYOUTS[name]}
    for layout in layouts.values():
        if (found := layout.find(place) if name is None else layout.take(place)) is not None:
            dataset = layout.load(found)
            _check(dataset, found)
            return dataset
    if place.is_file():
        _check_part(place, layouts)
        read_text(place)
    raise InputError(
        f"{str(path)!r} is not a data set of a known layout ({', '.join(layouts)}); see `prospection eval datasets`"
    )


def _check_part(place: Path, layouts: dict[str, Layout]) -> None:
    for name, layout in layouts.items():
        if any(fnmatch(place.name, part) for part in layout.parts):
            for folder in (place.parent, place.parent.parent):
                if layout.find(folder) is not None:
                    raise InputError(
                        f"{str(place)!r} is one file of a {name} data set; pass the folder, {str(folder)!r}"
                    )


def _check(dataset: Dataset, place: Path) -> None:
    once([user.id for user in dataset.users], "user", place)
    once([query.id for query in dataset.queries], "query", place)
    for user in dataset.users:
        once([fact.id for fact in user.facts], f"fact of user {user.id!r}", place)
    if not dataset.queries:
        reasons = " ".join(dataset.notes) or "There are no queries."
        raise InputError(f"{str(place)!r} has no query that could be scored. {reasons}")
