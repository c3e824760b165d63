"""Fields of files whose names were not known when their loader was written.

Each field is looked for under the names that such files use. What was read from where, what was missed and which keys
were there besides is kept for the notes of the data set, so that nobody has to guess from the figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Guessed", "is_given"]

LISTED = 30
"""Keys that a note lists."""


def is_given(value: object) -> bool:
    """Return whether a value says anything; 0 does."""
    return value is not None and value not in ("", [], {})


class Guessed:
    """Looks fields up and remembers under which names they were found.

    Args:
        names: For each field the names it is looked for under, the likeliest first.
        passed_over: Keys that are left unread on purpose.
    """

    def __init__(self, names: Mapping[str, Sequence[str]], passed_over: Sequence[str] = ()) -> None:
        self._names = names
        self._passed_over = frozenset(passed_over)
        self._found: dict[str, Counter[str]] = {}
        self._missed: Counter[str] = Counter()
        self._read: set[str] = set()
        self._there: dict[tuple[str, ...], None] = {}

    def key_of(self, data: Mapping[str, Any], field: str) -> str | None:
        """Return the first of a field's names under which something is given; None when there is none."""
        return next((name for name in self._names[field] if is_given(data.get(name))), None)

    def get(self, data: Mapping[str, Any], field: str) -> Any:  # noqa: ANN401 - JSON data
        """Return a field's value, None where it is not given."""
        name = self.key_of(data, field)
        if name is None:
            self._missed[field] += 1
            return None
        self._found.setdefault(field, Counter())[name] += 1
        self._read.add(name)
        return data[name]

    def read(self, *keys: str) -> None:
        """Remember keys that were read without being a field, such as sessions' dates."""
        self._read.update(keys)

    def there(self, data: object) -> None:
        """Remember which keys a file has, for `notes` to say which of them were not read."""
        self._there.update(dict.fromkeys(_paths(data, self._passed_over)))

    def notes(self) -> list[str]:
        """Say what was found, what was missed and what was there besides."""
        found = ", ".join(f"{field} in {'/'.join(map(repr, names))}" for field, names in self._found.items())
        notes = [f"Read from fields whose names are guessed: {found}."]
        if never := [field for field in self._missed if field not in self._found]:
            notes.append(f"Not found under any known name: {', '.join(never)}.")
        unread = [path for path in self._there if not self._read.issuperset(path)]
        if unread:
            listed = ", ".join(repr(".".join(path)) for path in unread[:LISTED])
            more = f" and {len(unread) - LISTED} more" if len(unread) > LISTED else ""
            notes.append(f"Keys that were there and are not read: {listed}{more}.")
        return notes


def _paths(data: object, passed_over: frozenset[str], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Go through the keys that lead to every value; lists are left out of them."""
    if isinstance(data, list) and data:
        for item in data:
            yield from _paths(item, passed_over, above)
    elif isinstance(data, dict) and data:
        for key, value in data.items():
            if key not in passed_over:
                yield from _paths(value, passed_over, (*above, str(key)))
    elif above:
        yield above
