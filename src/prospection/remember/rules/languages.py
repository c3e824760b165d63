"""Words by which a statement about the person is told from small talk, language by language.

In goes the text of a conversation; out comes the `Language` it is in, with its patterns, or None for every other
language: then general rules have to do. The words stand in `words/`, one file a language.
English is tuned; German, Spanish and French know who speaks, what is asked and what merely nods.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from prospection.remember.rules.wordlists import read_words

__all__ = ["Language", "language_of", "languages"]

_CODES = ("de", "en", "es", "fr")
_COMMON_SHARE = 1 / 8
"""Share of common words from which a text is taken to be in a language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Patterns of one language. All ignore case; those marked "in front" are for `match`, the others for `search`.

    Attributes:
        code: "en", "de", ...
        common: Frequent words by which the language is recognised.
        speaker: The person speaks about themselves: "me", "our".
        subject: The person is the subject: "I", or "my ..." in front.
        people: Family, friends, doctors, whoever has a part in a life.
        lasting: Habits, likes, needs, plans, health, money: what stays true beyond today.
        measure: Days, times, numbers in words.
        standing: Always, on weekdays: a wish that holds from now on.
        reply: The assistant is spoken to.
        asking: Amid a statement, what is wanted of the assistant: "... and would like to know".
        nod: In front: it acknowledges, thanks or greets.
        opening: In front: words before the sentence proper, "And then, ".
        request: In front of the sentence proper: something is wanted of the assistant.
        remark: In front of the sentence proper: a comment on what the assistant said.
        carrying: In front: it goes on with the person's own thought, "And ".
        leaning: In front: it leans on what was said before.
        shift: In front: it turns to another subject.
        vague: In front: what it speaks of has its name elsewhere, "I've read it".
        filler: In front: words that can be left out, "Well, ".
    """

    code: str
    common: frozenset[str]
    speaker: re.Pattern[str]
    subject: re.Pattern[str]
    people: re.Pattern[str]
    lasting: re.Pattern[str]
    measure: re.Pattern[str]
    standing: re.Pattern[str]
    reply: re.Pattern[str]
    asking: re.Pattern[str]
    nod: re.Pattern[str]
    opening: re.Pattern[str]
    request: re.Pattern[str]
    remark: re.Pattern[str]
    carrying: re.Pattern[str]
    leaning: re.Pattern[str]
    shift: re.Pattern[str]
    vague: re.Pattern[str]
    filler: re.Pattern[str]


def language_of(text: str) -> Language | None:
    """Return the language most of whose common words stand in the text, or None when no language has enough of them.

    Ties go to the first in the order of codes.
    """
    words = Counter(re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text.lower().replace("’", "'")))
    known: list[tuple[Language | None, frozenset[str]]] = [(language, language.common) for language in languages()]
    known += [(None, _word_set(others)) for others in read_words("others").values()]
    shares = [sum(words[word] for word in common) for _, common in known]
    most = max(shares)
    return known[shares.index(most)][0] if most and most >= _COMMON_SHARE * words.total() else None


@lru_cache(maxsize=1)
def languages() -> tuple[Language, ...]:
    """Return every language that has a list of words, in the order of codes."""
    return tuple(_compile(code, read_words(code)) for code in _CODES)


def _compile(code: str, words: Mapping[str, str]) -> Language:
    def anywhere(name: str) -> str:
        return rf"\b(?:{words[name]})\b"

    def in_front(name: str) -> str:
        return rf"(?:{words[name]})(?!\w)"

    patterns = {
        "speaker": anywhere("speaker"),
        "subject": rf"{anywhere('subject')}|^(?:{words['subject in front']})\b",
        "opening": rf"(?:{in_front('opening')}[\s,:;.-]*)*",
        "filler": rf"(?:(?:{words['filler']})[\s,:]+|(?:{words['filler before a comma']})\s*[,:–-]\s*)+",
    }
    patterns |= {name: anywhere(name) for name in ("people", "lasting", "measure", "standing", "reply", "asking")}
    patterns |= {name: in_front(name) for name in ("nod", "request", "remark", "carrying", "leaning", "shift", "vague")}
    compiled = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in patterns.items()}
    return Language(code=code, common=_word_set(words["common"]), **compiled)


def _word_set(alternatives: str) -> frozenset[str]:
    return frozenset(alternatives.replace("['’]", "'").split("|"))
