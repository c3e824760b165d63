"""What one sentence of a person is worth to memory.

In goes a sentence and the language of its conversation; out come points, or None for what is never kept: small talk,
questions, requests, remarks on what the assistant wrote. The judgement is made on the words of the sentence alone;
what surrounds it is the business of `passages`.
"""

from __future__ import annotations

import re

from prospection.remember.rules.general import says_enough
from prospection.remember.rules.languages import Language

__all__ = ["ENOUGH", "is_question", "is_vague", "points_of"]

ENOUGH = 3
"""Points that make a statement worth keeping on its own account."""

_QUESTION = re.compile(r"[?？؟][\"'”’»)\]」]*$")
# "He asked me: 'how old are you?'" tells of a question and is none.
_TOLD_QUESTION = re.compile(r"\w[\s:,]+[\"“„«][^\"“„«”»]*[?？؟][\"”»]$")
_NAME = re.compile(r"(?<=[\w,;:]\s)[\"“„«]?[A-ZÀ-ÖØ-Þ][\w’'-]+")
_I = re.compile(r"\bI(?:['’]\w+)?\b")
_DIGIT = re.compile(r"\d")
_FEW_WORDS = 8


def is_question(text: str) -> bool:
    """Tell whether a sentence asks; a question that is only told of does not count."""
    return bool(_QUESTION.search(text)) and not _TOLD_QUESTION.search(text)


def points_of(text: str, language: Language | None) -> int | None:
    """Weigh a sentence.

    Returns:
        0 or more points (`ENOUGH` and above: worth keeping alone), or None when it is not to be kept at all. Without
        word lists (`language` None) every statement of some length is worth `ENOUGH`: see `general`.
    """
    if language is None:
        return ENOUGH if not is_question(text) and says_enough(text) else None
    core = text[_end(language.opening, text) :]
    # "I never had a passport, where should it come from?" tells more than it asks.
    if is_question(text) and (language.request.match(core) or not language.subject.match(core)):
        return None
    if _is_nod(text, language):
        return None
    if language.request.match(core):
        return ENOUGH if _is_standing_wish(core, language) else None
    # "And that's where it hangs" goes on with the person's own thought.
    if language.remark.match(core) and not language.carrying.match(text) and not _measured(text, language):
        return None
    return _points(text, core, language)


def is_vague(text: str, language: Language | None) -> bool:
    """Tell whether only its conversation knows what a sentence is about: "I've read it four times"."""
    if language is None or not language.vague.match(text):
        return False
    return not (_named(text, language) or language.people.search(text) or language.lasting.search(text))


def _points(text: str, core: str, language: Language) -> int:
    told = [
        bool(language.people.search(text)),
        bool(language.lasting.search(text)),
        _measured(text, language),
        _named(text, language),
    ]
    points = sum(told)
    if language.subject.search(core):
        points += 2
    elif language.speaker.search(text):
        points += 1
    points -= bool(language.reply.search(text))
    points -= bool(language.asking.search(core))
    points -= not any(told) and len(text.split()) < _FEW_WORDS
    return max(points, 0)


def _named(text: str, language: Language) -> bool:
    # In German every noun has a capital, which says nothing.
    return language.code != "de" and bool(_NAME.search(_I.sub("i", text)))


def _is_standing_wish(core: str, language: Language) -> bool:
    """Tell whether a request says how the person wants things in general: "set my alarm for seven on weekdays"."""
    return bool(language.speaker.search(core) and language.standing.search(core))


def _is_nod(text: str, language: Language) -> bool:
    found = language.nod.match(text)
    if not found:
        return False
    rest = text[found.end() :].lstrip(" ,.:;-")
    return len(rest.split()) <= 3 and not _measured(rest, language) and not language.subject.match(rest)


def _measured(text: str, language: Language) -> bool:
    return bool(_DIGIT.search(text) or language.measure.search(text))


def _end(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0
