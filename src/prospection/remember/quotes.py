"""The words of a message that a quotation means.

In goes a quotation as a model gave it and the message it should stand in; out come words that really stand there, or
None. Pure.
"""

from __future__ import annotations

import re
import unicodedata

from prospection.remember.rules.sentences import split_sentences

__all__ = ["find_quote", "find_words"]

_ENOUGH_SHARED = 0.6
"""Share of the quotation's words that a sentence has to hold to be what was meant."""


def find_quote(quote: str, message: str) -> str | None:
    """Return the stretch of the message that a quotation means.

    It stands there word for word, or apart from white space, case and the shape of quotation marks; or one sentence
    shares most words with it (ties go to the first). Otherwise None.
    """
    if words := find_words(quote, message):
        return words
    wanted = _word_set(quote)
    if not wanted:
        return None
    best = max(split_sentences(message), key=lambda sentence: len(wanted & _word_set(sentence.text)), default=None)
    if best is None or len(wanted & _word_set(best.text)) < _ENOUGH_SHARED * len(wanted):
        return None
    return best.text


def find_words(text: str, message: str) -> str | None:
    """Return where a text stands in a message word for word, apart from white space, case and punctuation, or None."""
    if text and text in message:
        return text
    words = re.findall(r"\w+", text)
    if not words:
        return None
    loosely = r"\W+".join(re.escape(word) for word in words)
    match = re.search(rf"(?<!\w){loosely}(?!\w)[.!?…]?", message, re.IGNORECASE)
    return match.group() if match else None


def _word_set(text: str) -> set[str]:
    return set(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
