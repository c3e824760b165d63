"""The goals themselves: package data in, values out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Goal", "goals_hash", "load_goals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """An everyday request, imagined ahead.

    Attributes:
        goal: The request, as somebody would put it.
        steps: What it leads to.
        needs: Facts about the person that an answer would have to respect, as imagined: "User ...".
    """

    domain: str
    goal: str
    steps: tuple[str, ...]
    needs: tuple[str, ...]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    domain: str
    goal: str
    steps: tuple[str, ...] = Field(min_length=1)
    needs: tuple[str, ...] = Field(min_length=1)


@lru_cache(maxsize=1)
def load_goals() -> tuple[Goal, ...]:
    """Return all goals of the package, in the order of the file."""
    lines = _text().splitlines()
    return tuple(Goal(**_Line.model_validate_json(line).model_dump()) for line in lines if line.strip())


@lru_cache(maxsize=1)
def goals_hash() -> str:
    """Return the first 12 hex digits of the SHA-256 of the file: an index belongs to one edition of it."""
    return hashlib.sha256(_text().encode()).hexdigest()[:12]


def _text() -> str:
    return resources.files(__package__).joinpath("goals.jsonl").read_text(encoding="utf-8")
