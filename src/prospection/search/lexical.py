"""Words of any script, and how much they say.

Text goes in; out come index terms, query terms, a normal form for telling exact repeats, and BM25 scores over
postings. Never stems and has no list of stop words: a word that most of a person's facts contain weighs little by
itself, in every language.

Scripts that put spaces between words give words. Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese give
overlapping pairs of characters, which find a word wherever it stands; index terms hold the single characters too, so
that a query of one character finds something.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["bm25", "index_terms", "normalise", "query_terms"]

# Thai, Lao, Burmese, Khmer, kana, Han, Hangul; without their punctuation.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\U00020000-\U0003ffff"
)
# Accents of Latin, Greek and Cyrillic; points of Hebrew and Arabic, which writers mostly leave out; joiners.
_FOLDED = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u200b-\u200d\ufeff]")


def index_terms(text: str) -> list[str]:
    """Return the distinct terms under which a text can be found, in the order of first mention; [] for no words."""
    return list(dict.fromkeys(term for run in _runs(text) for term in _terms(run, alone=True)))


def query_terms(text: str) -> list[str]:
    """Return the terms to look for, in order, repeats kept; [] for no words.

    Every one of them is a single token of letters, digits and marks: no query syntax can hide in it.
    """
    return [term for run in _runs(text) for term in _terms(run, alone=False)]


def normalise(text: str) -> str:
    """Return the form in which two statements are the same statement.

    NFKC, case folded, runs of white space as one space, none at the ends, no punctuation at the end.
    """
    folded = " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())
    end = len(folded)
    while end and (folded[end - 1].isspace() or unicodedata.category(folded[end - 1]).startswith("P")):
        end -= 1
    return folded[:end]


def bm25(postings: Sequence[NDArray[Any]], lengths: NDArray[Any], *, k1: float = 1.2, b: float = 0.75) -> NDArray[Any]:
    """Score n texts against the terms of a query (Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework").

    score(d) = sum over the terms t in d of  idf(t) (k1 + 1) / (1 + k1 (1 - b + b |d| / mean|d|)),
    idf(t) = ln(1 + (n - n_t + 1/2) / (n_t + 1/2)), which stays positive. A term counts once a text: facts are single
    sentences. All statistics are those of the texts given, so nobody else's texts move a score.

    Args:
        postings: For each distinct term the places (n_t,) int64 of the texts that hold it, without repeats.
        lengths: (n,) numbers of terms of all texts.
        k1: How much a long text is held against it.
        b: How much of the length counts at all, in [0, 1].

    Returns:
        (n,) float32; positive where a text holds a term, else 0.
    """
    n = len(lengths)
    scores = np.zeros(n, dtype=np.float32)
    if not n:
        return scores
    for places in postings:
        scores[places] += np.float32(np.log1p((n - len(places) + 0.5) / (len(places) + 0.5)))
    relative = lengths / max(float(np.mean(lengths)), 1.0)
    return scores * ((k1 + 1) / (1 + k1 * (1 - b + b * relative))).astype(np.float32)


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    # `\w` leaves out the vowel signs of Indian and South-East Asian scripts, which are marks and part of the word.
    points = (chr(point) for point in range(0x0300, 0x3100))
    marks = "".join(point for point in points if unicodedata.category(point).startswith("M"))
    runs = re.compile(f"[{_UNSPACED}]+|(?:[^\\W_{_UNSPACED}]|(?![{_UNSPACED}])[{marks}])+")
    return runs, re.compile(f"[{_UNSPACED}]"), re.compile(f".[{marks}]*")


def _runs(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    if folded.isascii():
        return re.findall("[a-z0-9]+", folded)
    bare = unicodedata.normalize("NFKC", _FOLDED.sub("", unicodedata.normalize("NFD", folded)))
    return _patterns()[0].findall(bare)


def _terms(run: str, *, alone: bool) -> list[str]:
    _, unspaced, character = _patterns()
    if run.isascii() or not unspaced.match(run):
        return [run]
    characters = character.findall(run)
    pairs = [first + second for first, second in pairwise(characters)]
    return [*characters, *pairs] if alone or not pairs else pairs
