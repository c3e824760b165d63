"""Published files: finding the one that a layout is known by, and reading it.

A layout is recognised by what stands in the first part of a file, not by the file's name, so that renamed downloads
load as well. In go paths; out come paths, or JSON as plain data. Nothing here knows a layout.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from prospection.errors import InputError

__all__ = ["files_of", "first_holding", "parse", "read_any_json", "read_csv", "starts_with"]

HEAD = 65_536
"""Bytes of a file that are looked at to recognise it."""


def files_of(path: Path, suffix: str, *, depth: int = 3) -> list[Path]:
    """Return the path itself when it is a file of that kind, else such files in the folder, shallow ones first."""
    if path.is_file():
        return [path] if path.suffix == suffix else []
    return [found for level in range(depth) for found in sorted(path.glob("*/" * level + f"*{suffix}"))]


def starts_with(file: Path, *patterns: str) -> bool:
    """Return whether the first part of a file holds all of these regular expressions."""
    try:
        with file.open("rb") as opened:
            head = opened.read(HEAD).decode("utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{str(file)!r} cannot be read: {error.strerror}; check its permissions") from error
    return all(re.search(pattern, head) for pattern in patterns)


def first_holding(path: Path, suffix: str, *patterns: str) -> Path | None:
    """Return the one file at or under a path that starts like this; None when there is none.

    Raises:
        InputError: There are several.
    """
    found = [file for file in files_of(path, suffix) if starts_with(file, *patterns)]
    if len(found) > 1:
        names = ", ".join(repr(str(file.relative_to(path))) for file in found)
        raise InputError(f"{str(path)!r} holds several files of one layout: {names}; name one of them")
    return found[0] if found else None


def read_any_json(file: Path) -> Any:  # noqa: ANN401 - JSON data
    """Read a file of JSON, or of JSON lines, which give a list.

    Raises:
        InputError: It cannot be read, or is neither.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(file)!r} cannot be read: {error}; check the file") from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as whole:
        try:
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        except json.JSONDecodeError:
            raise InputError(f"{str(file)!r} is not JSON: {whole}; download it again") from whole


def read_csv(file: Path) -> Iterator[dict[str, str]]:
    """Read the rows of a CSV file with a header.

    Raises:
        InputError: It cannot be read.
    """
    csv.field_size_limit(sys.maxsize)  # published rows hold whole conversations
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            yield from csv.DictReader(opened)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{str(file)!r} cannot be read: {error}; download it again") from error


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
