"""What a sentence is worth to memory in a language that has no list of words of its own.

In goes a sentence; out come points, or None for what is never kept. Without knowing the language there is little to go
by: whether it asks, whether it begins with thanks or a request in one of the great languages, whether the person speaks
of themselves, and how much is said. In doubt a statement is kept: forgetting an allergy is worse than remembering a
triviality.
"""

from __future__ import annotations

import re
from functools import lru_cache

from prospection.remember.rules.wordlists import read_words

__all__ = ["says_enough"]

_PERSONAL, _ANYTHING = 3.0, 4.0
"""How much has to be said, in words: by a sentence in which the person speaks of themselves, and by any other."""

# Letters of scripts without spaces, by how many make a word: Han, kana and Hangul two, Thai, Lao, Burmese, Khmer three.
_TWO = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_THREE = re.compile(
    r"[\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ec0-\u0ec4\u1000-\u102a\u1780-\u17b3]"
)
_POINTS = re.compile(r"[\u064b-\u0652\u0640]")  # of Arabic, which writers mostly leave out
_WORD = re.compile(r"\w+")


def says_enough(text: str) -> bool:
    """Tell whether a sentence that asks nothing is worth keeping."""
    text, words = _POINTS.sub("", text), _patterns()
    if words["request"].search(text) or words["request in front"].match(text):
        return False
    nod = words["nod"].match(text)
    if nod and _amount(text[nod.end() :]) < _PERSONAL:
        return False
    return _amount(text) >= (_PERSONAL if words["speaker"].search(text) else _ANYTHING)


def _amount(text: str) -> float:
    """Return about how many words a text has."""
    rest = _THREE.sub("", text)
    third = len(text) - len(rest)
    spaced = _TWO.sub(" ", rest)
    # What is left of words in Thai are the marks of its vowels, which are no words.
    words = sum(any(letter.isalnum() for letter in word) for word in _WORD.findall(spaced))
    return third / 3 + len(_TWO.findall(rest)) / 2 + words


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(words, re.IGNORECASE) for name, words in read_words("general").items()}
