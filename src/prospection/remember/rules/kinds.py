"""What kind of fact a statement is, and whom and what it names.

In goes the text of a statement; out come one of the six types (paper, section 3.2) and the entities. Both are guesses
by words: they serve filters and display and never decide whether a fact is kept.
"""

from __future__ import annotations

import re
from functools import lru_cache

from prospection.remember.rules.wordlists import read_words
from prospection.types import FactType

__all__ = ["entities", "guess_type"]


_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,60})[\"“”»]")
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w-]*(?:['’](?:[A-ZÀ-ÖØ-Þ]\w+|s(?=\s+[A-ZÀ-ÖØ-Þ])))?"
_NAMES = re.compile(rf"\b{_CAPITAL}(?:\s+(?:(?:of|the|de|la|von|van|der|du|des)\s+){{0,2}}{_CAPITAL})*")
_TITLED = re.compile(
    r"\b(?:Dr\.|St\.|Herr|Frau|Mr\.?|Mrs\.?|Ms\.?|Mme|Monsieur|Madame|Señora?|Don|Doña)\s+[A-ZÀ-ÖØ-Þ][\w-]+"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:…]\s+|\n\s*|[\"“„«(\[])$")
_NOT_NAMES = "not names"
_MOST = 6


def guess_type(text: str) -> FactType:
    """Return the first type in `words/kinds.txt` of whose words one is in the text; without any, an `EVENT`."""
    return next((kind for kind, words in _types() if words.search(text)), FactType.EVENT)


def entities(text: str, *, capitals: bool = True) -> tuple[str, ...]:
    """Return quoted titles and names in the order of mention, at most six, each once.

    A capital at the beginning of a sentence does not make a name, unless the same word has one elsewhere too.

    Args:
        capitals: Whether capitals tell names in this language; in German only names with a title count.
    """
    spots = [(match.start(), match.group(1).strip(" .,!?")) for match in _QUOTED.finditer(text)]
    spots += [(match.start(), match.group()) for match in _TITLED.finditer(text)]
    if capitals:
        spots += [(match.start(), name) for match in _NAMES.finditer(text) if (name := _name(match, text))]
    found: list[str] = []
    for _, name in sorted(spots):
        if not any(name in other for other in found):
            found = [other for other in found if other not in name] + [name]
    return tuple(found[:_MOST])


def _name(match: re.Match[str], text: str) -> str | None:
    words, none = match.group().split(), _not_names()
    begins = bool(_SENTENCE_START.search(text[: match.start()]))
    while words and words[0].lower() in none:
        words, begins = words[1:], False
    while words and words[-1].lower() in none:
        words = words[:-1]
    if not words or (len(words) == 1 and (begins or len(words[0]) < 2)):
        return None
    return " ".join(words)


@lru_cache(maxsize=1)
def _types() -> tuple[tuple[FactType, re.Pattern[str]], ...]:
    lists, anywhere = read_words("kinds"), read_words("general")
    return tuple(
        (FactType(name), re.compile(rf"\b(?:{words})\b|{anywhere.get(name, '(?!)')}", re.IGNORECASE))
        for name, words in lists.items()
        if name != _NOT_NAMES
    )


@lru_cache(maxsize=1)
def _not_names() -> frozenset[str]:
    return frozenset(read_words("kinds")[_NOT_NAMES].split("|"))
