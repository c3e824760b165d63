"""Which statement says what which gold fact says, by meaning and words: texts and vectors in, tables out.

No language model takes part. The thresholds were set by reading one person's pairs under the encoder `local`; another
encoder spreads cosines differently, so that only figures under the same encoder can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from prospection.types import Vectors

__all__ = ["CLOSE", "FAR", "NEAR", "SAME", "SHARED", "first_person", "matches_of", "repeats_of", "strays_of"]

NEAR = 0.55
"""Cosine from which a statement says what a gold fact says."""
CLOSE, SHARED = 0.40, 0.40
"""Or a cosine of `CLOSE`, when it holds `SHARED` of the gold fact's words of four letters and more."""
SAME = 0.85
"""Cosine from which a statement repeats an earlier one of the same session."""
FAR = 0.30
"""Below this cosine with every gold fact of its session a statement that matches none counts as small talk."""

_WORD = re.compile(r"\w{4,}")
_EMPTY = frozenset({"user", "that", "with", "from", "have", "this", "when", "they", "were", "been"})


def first_person(text: str) -> str:
    """Turn "User's ..." into "My ...": gold facts speak of a user, statements of rules of themselves."""
    return text.replace("User's", "My").replace("User", "I")


def matches_of(
    gold: Sequence[str], found: Sequence[str], similarity: NDArray[np.float32], same: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which statement says what which gold fact says.

    Args:
        similarity: (gold, found) cosines.
        same: (gold, found), whether both are of one session; only these can match.

    Returns:
        (gold, found) bool.
    """
    table = same & (similarity >= NEAR)
    found_words = [_words(text) for text in found]
    for row, column in np.argwhere(same & (similarity >= CLOSE) & (similarity < NEAR)):
        words = _words(gold[row])
        table[row, column] = bool(words) and len(words & found_words[column]) >= SHARED * len(words)
    return table


def repeats_of(vectors: Vectors, sessions: Sequence[str]) -> NDArray[np.bool_]:
    """(found,) bool: which statement repeats an earlier one of its session."""
    places = np.unique(np.array(sessions, dtype=object), return_inverse=True)[1] if sessions else np.zeros(0)
    earlier = np.tril(places[:, None] == places[None, :], k=-1)
    repeats: NDArray[np.bool_] = (earlier & (vectors @ vectors.T >= SAME)).any(axis=1)
    return repeats


def strays_of(
    similarity: NDArray[np.float32], same: NDArray[np.bool_], matches: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(found,) bool: which statement is far from everything that its session should give."""
    nearest = np.where(same, similarity, -1.0).max(axis=0, initial=-1.0)
    strays: NDArray[np.bool_] = (nearest < FAR) & ~matches.any(axis=0)
    return strays


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _EMPTY
