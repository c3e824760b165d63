"""What a foreign memory found, in whatever form it came, as hits.

In go texts with or without ids, scores and dates; out come `Hit` values, best first. Pure: it searches nothing.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import pairwise
from numbers import Real
from typing import Any, TypeAlias
from urllib.parse import quote

from prospection.errors import InputError
from prospection.types import Fact, Hit

__all__ = ["Found", "FoundLike", "as_found", "falling_only", "hits_of", "instant"]

_UNCITABLE = re.compile(r"[\s\[\],;%]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that a memory found.

    Attributes:
        id: The memory's own id; None: one is derived from the text, the same for the same text.
        score: Similarity, higher is better; None where the memory does not say.
        said_at: When it was said, aware.
    """

    text: str
    id: str | None = None
    score: float | None = None
    said_at: datetime | None = None


FoundLike: TypeAlias = "Found | tuple[str, str, float] | tuple[str, float] | Mapping[str, Any] | str"
"""`Found`, (id, text, score), (text, score), a mapping with "text" and perhaps "id", "score", "said_at", or a text."""


def as_found(item: object) -> Found:
    """Read one thing found in any of the forms of `FoundLike`.

    Raises:
        InputError: It has none of these forms.
    """
    match item:
        case Found():
            return item
        case str():
            return Found(text=item)
        case (str() as text, Real() as score):
            return Found(text=text, score=float(score))
        case (id_, str() as text, Real() as score):
            return Found(id=str(id_), text=text, score=float(score))
        case {"text": str() as text, **rest}:
            name, given = rest.get("id"), rest.get("score")
            return Found(
                id=None if name is None else str(name),
                text=text,
                score=float(given) if isinstance(given, Real) else None,
                said_at=instant(rest.get("said_at")),
            )
    raise InputError(
        f"a search brought {item!r}; give (id, text, score), (text, score), or a dict with 'text' and, "
        "if there are any, 'id', 'score' and 'said_at'"
    )


def hits_of(found: Iterable[Found], *, k: int, min_similarity: float = -1.0) -> list[Hit]:
    """Turn what one search found into hits, best first.

    Args:
        found: With a score for each, in any order; or without any score, best first: then the score is 1 / rank.
        k: At most this many hits.
        min_similarity: Lower scores do not count; the bound itself does. Made-up scores are not bounded, and -1 bounds
            none: not every memory's scores are cosines.

    Returns:
        One hit for each id, with its best score; ties in the order of ids. Texts that are blank are left out.

    Raises:
        InputError: Some things found have a score and others none, or a score is no finite number.
    """
    items = [item for item in found if item.text.strip()]
    scored = [item for item in items if item.score is not None]
    if scored and len(scored) < len(items):
        raise InputError(
            f"of {len(items)} things found only {len(scored)} have a score; give a score for all of them, or for none"
        )
    bounded = bool(scored) and min_similarity > -1.0
    best: dict[str, Hit] = {}
    for rank, item in enumerate(items, start=1):
        score = 1.0 / rank if item.score is None else item.score
        if not math.isfinite(score):
            raise InputError(f"the score of {item.text!r} is {score!r}; give a finite number, higher for better")
        fact = Fact(fid=_fid(item), info=item.text, said_at=item.said_at)
        held = best.get(fact.fid)
        if (not bounded or score >= min_similarity) and (held is None or held.similarity < score):
            best[fact.fid] = Hit(fact=fact, similarity=score)
    return sorted(best.values(), key=lambda hit: (-hit.similarity, hit.fact.fid))[:k]


def falling_only(found: Sequence[Found]) -> list[Found]:
    """Return things found best first as they are where their scores fall along the list, else without scores.

    Frameworks over many stores hand distances on as they hand on similarities; the order is what can be trusted.
    """
    scores = [item.score for item in found if item.score is not None]
    falling = all(earlier >= later for earlier, later in pairwise(scores))
    if len(scores) == len(found) and falling:
        return list(found)
    return [Found(id=item.id, text=item.text, said_at=item.said_at) for item in found]


def instant(value: object) -> datetime | None:
    """Read a date as memories keep it: a date or datetime, ISO 8601, or seconds since 1970. Without a zone it is UTC.

    Raises:
        InputError: It is none of these.
    """
    try:
        match value:
            case None | "":
                return None
            case datetime():
                read = value
            case date():
                read = datetime.combine(value, time())
            case str():
                read = datetime.fromisoformat(value)
            case int() | float():
                read = datetime.fromtimestamp(value, UTC)
            case _:
                raise ValueError("neither a date nor a text nor a number")
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(f"the date {value!r} cannot be read: {error}; give it in ISO 8601, with a zone") from error
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def _fid(item: Found) -> str:
    if item.id is None:
        return "t" + hashlib.blake2b(item.text.encode(), digest_size=6).hexdigest()
    # Answers cite facts as [id]: what would end a citation is percent-encoded.
    return _UNCITABLE.sub(lambda mark: quote(mark[0], safe=""), item.id)
