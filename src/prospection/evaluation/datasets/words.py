"""Which text says the same, judged by shared words: for sets whose references are texts without an address.

Everything lexical and exact, so that a set loads the same everywhere. Nothing here is used to search memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["content_words", "share_said", "where_said"]

_WORD = re.compile(r"[^\W_]+")
_COMMON_WORDS = """
a about after all also am an and any are as at be been but by can could did do does for from had has have he her his how
i if in into is it its just like me more my no not of on or our out she so some speaker1 than that the their them then
there they this to up user was we were what when which who will with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())

HALF = 0.5


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text in lower case, without the commonest English ones."""
    return frozenset(_WORD.findall(text.lower())) - _COMMON


def share_said(statement: frozenset[str], passage: frozenset[str]) -> float:
    """Return the share of a statement's words that a passage holds, in [0, 1]; 0 for a statement without words."""
    return len(statement & passage) / len(statement) if statement else 0.0


def where_said(statement: str, passages: Sequence[frozenset[str]], *, at_least: float = HALF) -> list[int]:
    """Return the places of the passages that hold the largest share of a statement's words.

    Args:
        passages: As `content_words` returns them.
        at_least: Below this share nothing is found.

    Returns:
        All places with the largest share, in order; [] when none holds enough.
    """
    words = content_words(statement)
    shares = [share_said(words, passage) for passage in passages]
    best = max(shares, default=0.0)
    return [place for place, share in enumerate(shares) if share == best >= at_least and best > 0]
