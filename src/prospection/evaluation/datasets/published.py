"""Published files: finding the one that a layout is known by, and reading it.

A layout is recognised by the keys of a file's first item, not by the file's name, so that renamed downloads load as
well. In go paths; out come paths, or JSON as plain data. Nothing here knows a layout.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from prospection.errors import InputError
from prospection.evaluation.datasets.shapes import columns_of, keys_of
from prospection.evaluation.files import read_text

__all__ = ["files_of", "first_holding", "once", "parse", "read_any_json", "read_csv", "read_items"]


def files_of(path: Path, suffix: str, *, depth: int = 3) -> list[Path]:
    """Return the path itself when it is a file of that kind, else such files in the folder, shallow ones first."""
    if path.is_file():
        return [path] if path.suffix == suffix else []
    return [found for level in range(depth) for found in sorted(path.glob("*/" * level + f"*{suffix}"))]


def first_holding(path: Path, suffix: str, is_known: Callable[[frozenset[str]], bool]) -> Path | None:
    """Return the one file at or under a path whose keys, or columns for `.csv`, are known; None when there is none.

    Raises:
        InputError: There are several.
    """
    look = columns_of if suffix == ".csv" else keys_of
    found = [file for file in files_of(path, suffix) if is_known(look(file))]
    if len(found) > 1:
        names = ", ".join(repr(str(file.relative_to(path))) for file in found)
        raise InputError(f"{str(path)!r} holds several files of one layout: {names}; name one of them")
    return found[0] if found else None


def read_any_json(file: Path) -> Any:  # noqa: ANN401 - JSON data
    """Read a file of JSON, or of JSON lines, which give a list.

    Raises:
        InputError: It cannot be read, or is neither.
    """
    text = read_text(file)
    try:
        return from_json(text)
    except ValueError as whole:
        try:
            return [from_json(line) for line in text.split("\n") if line.strip()]
        except ValueError:
            raise InputError(f"{str(file)!r} is not JSON: {whole}; download it again") from whole


def read_items(file: Path) -> list[Any]:
    """Read a file that lists items, or has one a line.

    Raises:
        InputError: It cannot be read, or lists nothing.
    """
    data = read_any_json(file)
    if isinstance(data, dict):  # one line
        return [data]
    if not isinstance(data, list):
        raise InputError(f"{file} holds no list of items; download it again")
    return data


def read_csv(file: Path) -> Iterator[dict[str, str]]:
    """Read the rows of a CSV file with a header.

    Raises:
        InputError: It cannot be read.
    """
    csv.field_size_limit(sys.maxsize)  # published rows hold whole conversations
    try:
        yield from csv.DictReader(io.StringIO(read_text(file), newline=""))
    except csv.Error as error:
        raise InputError(f"{str(file)!r} cannot be read: {error}; download it again") from error


def once(names: Iterable[str], what: str, file: Path) -> None:
    """Check that ids are unique.

    Args:
        what: They are the ids of.
        file: Where they stand.

    Raises:
        InputError: One occurs twice.
    """
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{file}: {what} {twice[0]!r} occurs twice; ids have to be unique")


def parse(kind: Any, data: object, *, where: Path, place: Sequence[str | int] = ()) -> Any:  # noqa: ANN401 - any type
    """Validate plain data as a pydantic type.

    Raises:
        InputError: It is not of this kind; the message names the file and the place in it.
    """
    try:
        return TypeAdapter(kind).validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        spot = ".".join(str(part) for part in (*place, *first["loc"]))
        raise InputError(f"{where}: {spot}: {first['msg']}; correct the file or download it again") from error
