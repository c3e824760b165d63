"""Which facts an encoder of English cannot read. Texts in, a count out.

Meant to err on one side only: another script is told for sure, another language only by the words of many facts
together, and what cannot be told counts as read.
"""

from __future__ import annotations

from collections.abc import Sequence

from prospection.remember.rules.languages import language_of

__all__ = ["not_english"]


def not_english(infos: Sequence[str]) -> int:
    """Return how many of one person's facts are not in English: in another script, or in German, French or Spanish."""
    latin = [info for info in infos if _is_latin(info)]
    language = language_of("\n".join(latin))
    other = language is not None and language.code != "en"
    return len(infos) - len(latin) + (len(latin) if other else 0)


def _is_latin(text: str) -> bool:
    """Tell whether at least half of the letters are Latin ones; a text without letters counts as such."""
    letters = [letter for letter in text if letter.isalpha()]
    # Up to U+024F with every accent of Europe; Vietnamese goes on from U+1E00.
    return 2 * sum(letter <= "\u024f" or "\u1e00" <= letter <= "\u1eff" for letter in letters) >= len(letters)
