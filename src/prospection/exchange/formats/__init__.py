"""Importers: one module a layout, one registry for all, and the detection of a file's layout by its content.

Built-in and foreign importers come through the same door: an entry point of the group `prospection.importers` names an
`Importer`. Foreign ones are asked first whether a file is theirs, ours from the most particular to the most general.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from itertools import islice
from typing import BinaryIO

from prospection.errors import ConfigError, ConversationError, UnknownNameError
from prospection.exchange.conversations import Importer, Opening
from prospection.exchange.json_stream import json_values

__all__ = ["GROUP", "detect", "importer_named", "importer_names"]

GROUP = "prospection.importers"

_BUILT_IN = {
    name: f"prospection.exchange.formats.{name}:IMPORTER"
    for name in ("chatgpt", "claude", "locomo", "longmemeval", "conversations", "messages", "markdown")
}
_VALUES = 5
"""So many values at the beginning are looked at: exports hold empty and odd entries."""
_CHARACTERS = 1 << 16


def importer_names() -> tuple[str, ...]:
    """Names of all importers, in the order in which they are asked."""
    return tuple(_registry())


def importer_named(name: str) -> Importer:
    """Return the importer of that name.

    Raises:
        UnknownNameError: There is none; the message offers the nearest name.
        ConfigError: A package's entry point cannot be loaded.
    """
    registry = _registry()
    if name not in registry:
        raise UnknownNameError("format", name, registry)
    return _load(registry[name])


def detect(file: BinaryIO) -> Importer | None:
    """Return the importer for what the file holds, or None when it is of no known layout.

    The file is left at its beginning.

    Raises:
        ConversationError: It is not text in UTF-8.
    """
    opening = _opening(file)
    file.seek(0)
    return next((found for name in _registry().values() if (found := _load(name)).claims(opening)), None)


def _opening(file: BinaryIO) -> Opening:
    text = file.read(_CHARACTERS).decode("utf-8-sig", "replace")
    file.seek(0)
    if not text.lstrip().startswith(("[", "{")):
        return Opening(values=(), text=text)
    values: list[object] = []
    try:
        for value in islice(json_values(file), _VALUES):
            values.append(value.data)  # noqa: PERF401 - what was read before an error counts
    except ConversationError:
        # Markdown may begin with a bracket, too; a broken or cut JSON file is told when it is read.
        if not values and not _looks_like_json(text):
            return Opening(values=(), text=text)
        if not values:
            raise
    return Opening(values=values, text=text)


def _looks_like_json(text: str) -> bool:
    return text.lstrip()[1:].lstrip()[:1] in ('"', "{", "[", "]", "}")


def _registry() -> Mapping[str, EntryPoint]:
    ours = {name: EntryPoint(name, target, GROUP) for name, target in _BUILT_IN.items()}
    foreign = {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in ours}
    return foreign | ours


def _load(entry: EntryPoint) -> Importer:
    try:
        loaded: Importer = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"importer {entry.name!r} cannot be loaded from {entry.value!r}: {error}; "
            "reinstall the package that it comes from"
        ) from error
    return loaded
