"""What a file of a data set looks like: the keys of its first item, or the columns of its table.

Layouts are recognised by them, whatever the order of the keys and the name of the file. Only the first item is looked
at, so that files of gigabytes cost no more than small ones. In go paths, out come names; nothing here knows a layout.
"""

from __future__ import annotations

import csv
import re
from functools import lru_cache
from pathlib import Path

from prospection.errors import InputError

__all__ = ["columns_of", "keys_of"]

HEADS = (1 << 16, 1 << 20, 1 << 24)
"""Bytes of a file that are looked at: more where the first item is longer, and never more than the last."""

DEPTH = 4
"""Keys below one another that are told."""

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]|,', re.DOTALL)


def keys_of(file: Path) -> frozenset[str]:
    """Return the paths of the keys of the first object of a JSON or JSONL file, such as `qa[].evidence`.

    A list of objects, or of lists of them, counts as its items. What is no JSON has no keys.

    Raises:
        InputError: The file cannot be read.
    """
    stat = file.stat()
    return _keys_of(file, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=256)  # every layout asks
def _keys_of(file: Path, size: int, _changed: int) -> frozenset[str]:
    keys: frozenset[str] = frozenset()
    for head in HEADS:
        keys, whole = _keys(_head(file, head))
        if whole or head >= size:
            break
    return keys


def columns_of(file: Path) -> frozenset[str]:
    """Return the names in the first row of a CSV file.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        return frozenset(next(csv.reader(_head(file, HEADS[0]).splitlines()), ()))
    except csv.Error:
        return frozenset()


def _head(file: Path, size: int) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(size).decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise InputError(f"{str(file)!r} cannot be read: {error.strerror}; check its permissions") from error


def _keys(text: str) -> tuple[frozenset[str], bool]:
    """Return the paths of the keys of the first object, and whether all of it stands in the text."""
    keys: set[str] = set()
    # What is open around a place: (whether it is an object, its path); None for what stands around the first object.
    around: list[tuple[bool, tuple[str, ...] | None]] = []
    key: str | None = None
    for token in _TOKEN.finditer(text):
        sign = token[0]
        is_object, path = around[-1] if around else (False, None)
        if sign == '"':  # a text that is cut off
            break
        if sign in "{[":
            if path is not None:
                path = (
                    (*path, key) if is_object and key is not None else (*path[:-1], f"{path[-1]}[]") if path else path
                )
            around.append((sign == "{", () if path is None and sign == "{" else path))
            key = None
        elif sign in "}]":
            if not around or (around.pop() == (True, ()) and (not around or around[-1][1] is None)):
                return frozenset(keys), True
            key = None
        elif sign == ",":
            key = None
        elif is_object and key is None and path is not None:
            key = sign[1:-1]
            if len(path) < DEPTH:
                keys.add(".".join((*path, key)))
    return frozenset(keys), False
