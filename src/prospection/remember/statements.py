"""Whether two statements may mean the same, and what one of them lacks of another. Pure; no model is asked.

What counts as weighty is told by signs that can be checked: names, numbers, months and days, negation. The judgement
is meant to err on one side only: two statements that stay apart cost a line, two that are wrongly joined cost a fact.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from prospection.remember.rules.kinds import entities
from prospection.remember.rules.wordlists import read_words
from prospection.search.lexical import normalise, query_terms

__all__ = ["Statement", "is_repeat", "lost"]

_DIGITS = re.compile(r"\d+(?:[.,:/]\d+)*")
_UNSPACED = "not unspaced"
_EMPTY = "empty"
_GERMAN = "german"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement and the entities that came with it."""

    info: str
    entities: tuple[str, ...] = ()


def is_repeat(new: Statement, old: Statement, *, overlap: float) -> bool:
    """Tell whether `new` says nothing that `old` does not say.

    Besides being near in meaning, which the caller has to see to, the two share most of their words, in one order;
    names, numbers, days and negation agree; and `new` has no word of its own but articles and the like.

    Args:
        overlap: Least share of the words of both that both have, in [0, 1].
    """
    if normalise(new.info) == normalise(old.info):
        return True
    ours, theirs = (list(dict.fromkeys(query_terms(each.info))) for each in (new, old))
    shared, union = set(ours) & set(theirs), set(ours) | set(theirs)
    if not shared or len(shared) < overlap * len(union):
        return False
    if any(term not in shared and not _is_empty(term) for term in ours):
        return False
    if [term for term in ours if term in shared] != [term for term in theirs if term in shared]:
        return False  # "Ada lent Bob a book" is not "Bob lent Ada a book"
    return _weighty(new.info) == _weighty(old.info) and set(_names(new)) == set(_names(old))


def lost(sources: Sequence[Statement], merged: str) -> tuple[str, ...]:
    """Return the names, numbers, days and negations of the sources that the merged statement lacks, each once.

    A name counts as kept when it stands in the text, letter case apart; an entity that its own statement does not spell
    out is not looked for. "two" and "2" are the same number.
    """
    have, text = _weighty(merged), _folded(merged)
    missing: list[str] = []
    for source in sources:
        missing += sorted(_weighty(source.info) - have)
        missing += [name for name in _names(source) if _folded(name) not in text]
    return tuple(dict.fromkeys(missing))


def _names(statement: Statement) -> list[str]:
    text = _folded(statement.info)
    named = [name for name in statement.entities if name.strip() and _folded(name) in text]
    found = entities(statement.info, capitals=not _is_german(statement.info))
    signs = [words for _, words in _signs()]
    return [name for name in dict.fromkeys([*named, *found]) if not any(sign.fullmatch(name) for sign in signs)]


def _weighty(text: str) -> frozenset[str]:
    """Return numbers as digits, months and weekdays by their English names, and "not" where something is denied."""
    plain = unicodedata.normalize("NFKC", text)
    found = set(_DIGITS.findall(plain))
    found |= {name for name, words in _signs() if words.search(plain)}
    if _denials().search(plain):
        found.add("not")
    return frozenset(found)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _is_empty(term: str) -> bool:
    return bool(_empty_words().fullmatch(term))


def _is_german(text: str) -> bool:
    """Tell whether a statement is in German, where every noun has a capital. Two of its little words say so."""
    return len({word.lower() for word in _german_words().findall(text)}) > 1


@lru_cache(maxsize=1)
def _signs() -> tuple[tuple[str, re.Pattern[str]], ...]:
    others = {_UNSPACED, _EMPTY, _GERMAN}
    return tuple(
        (name, re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE))
        for name, words in read_words("guards").items()
        if name not in others
    )


@lru_cache(maxsize=1)
def _denials() -> re.Pattern[str]:
    return re.compile(read_words("guards")[_UNSPACED])


@lru_cache(maxsize=1)
def _empty_words() -> re.Pattern[str]:
    return re.compile(read_words("guards")[_EMPTY], re.IGNORECASE)


@lru_cache(maxsize=1)
def _german_words() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{read_words('guards')[_GERMAN]})\b", re.IGNORECASE)
