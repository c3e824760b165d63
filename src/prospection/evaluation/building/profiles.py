"""Whom a benchmark is about: PersonaLens profiles, or a simple JSON or JSONL file, to a persona in words.

```
FOLDER/.../userN/profile.json   PersonaLens: demographics and affinities
FILE.json, FILE.jsonl           {user_id, ...}: any other keys describe the person; one object, a list, or one a line
```
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prospection.errors import InputError
from prospection.evaluation.datasets.personalens import find_personalens

__all__ = ["Profile", "read_profiles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A person and what is known about them, one thing a line."""

    user_id: str
    persona: str


def read_profiles(path: Path) -> list[Profile]:
    """Read profiles, in the order of the file or of the folders' names.

    Raises:
        InputError: They cannot be read, one has no name or says nothing, two share a name, or there are none.
    """
    if find_personalens(path) is not None:
        found = [
            (file.parent.name, {key: data.get(key) for key in ("demographics", "affinities")})
            for file in sorted(path.rglob("profile.json"))
            for data in _objects(file)
        ]
    else:
        found = [(str(data.pop("user_id", "")), data) for data in _objects(path)]
    profiles = [Profile(user_id=user, persona="\n".join(_lines(data))) for user, data in found]
    names = [profile.user_id for profile in profiles]
    if not profiles or not all(profile.user_id and profile.persona for profile in profiles):
        raise InputError(f'{str(path)!r} lacks profiles; each is an object like {{"user_id": "ada", "persona": "..."}}')
    if len(set(names)) < len(names):
        raise InputError(f"{str(path)!r} has a user twice: {names!r}; give each a name of their own")
    return profiles


def _objects(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        data = [json.loads(line) for line in text.split("\n") if line.strip()] if path.suffix == ".jsonl" else None
        data = data if data is not None else json.loads(text)
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be read as profiles: {error}; check the path and its JSON") from error
    objects = data if isinstance(data, list) else [data]
    if not all(isinstance(each, dict) for each in objects):
        raise InputError(f"{str(path)!r} holds something that is no profile; each is a JSON object")
    return objects


def _lines(data: object, name: str = "") -> Iterator[str]:
    """Say a value in lines like "Books - Genre: fantasy, thriller"; what is empty says nothing."""
    if isinstance(data, dict):
        for key, value in data.items():
            if key not in {"user_id", "persona"}:
                yield from _lines(value, f"{name} - {key}" if name else str(key))
            else:
                yield from _lines(value) if key == "persona" else ()
    elif data not in (None, "", []):
        said = ", ".join(map(str, data)) if isinstance(data, list) else str(data)
        yield f"{name}: {said}" if name else said
