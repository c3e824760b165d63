"""Whom "he" or "she" means.

In goes what a person has said so far; out comes the relative, friend or titled person that the pronoun means, as the
speaker called them: "my niece Lea". English only. Where two people could be meant it answers None rather than guess.
"""

from __future__ import annotations

import re

from prospection.remember.rules.kinds import entities

__all__ = ["person_meant"]

_FEMALE = "mother|mom|mum|sister|wife|girlfriend|fiancée|daughter|niece|aunt|grandmother|grandma|granddaughter|landlady"
_MALE = "father|dad|brother|husband|boyfriend|fiancé|son|nephew|uncle|grandfather|grandpa|grandson|godfather"
_EITHER = (
    "cousin|friend|neighbou?r|boss|manager|colleague|adviser|partner|landlord|doctor|dentist|therapist|teacher|flatmate"
)
_KIN = rf"(?:[a-z]+ )?(?:(?P<female>{_FEMALE})|(?P<male>{_MALE})|{_EITHER})"
_MENTIONS = (
    re.compile(rf"\b(?:[Mm]y|[Oo]ur) {_KIN}\b(?:,? [A-Z][\w-]+)?"),
    re.compile(rf"\b[A-Z][\w-]+, my {_KIN}\b"),
    re.compile(r"\b(?:(?P<female>Frau|Mrs\.?|Ms\.?|Miss)|(?P<male>Herr|Mr\.?)|Dr\.?) [A-Z][\w-]+"),
)
_PRONOUN = re.compile(r"\b(?:(?P<female>she|her)|(?P<male>he|him|his))\b", re.IGNORECASE)
_NAMED_ALONE = re.compile(r"[A-Z][\w-]+[.,]")
_SOMEBODY = re.compile(
    r"\b(?:an?|the|one|some|that|this|another|young|old) (?:[a-z-]+ )?"
    r"(?:[a-z]*(?:wom[ae]n|m[ae]n|lady|boy|girl|guy|person|clerk|nurse|cousin|student|[a-z]{3,}(?:er|or|ist)))\b",
    re.IGNORECASE,
)


def person_meant(passage: str, earlier: str) -> str | None:
    """Return whom the first "he" or "she" of a passage means when the passage itself does not say.

    Args:
        passage: The statement.
        earlier: What the same person said before it, in order.
    """
    pronoun = _PRONOUN.search(passage)
    if not pronoun:
        return None
    before = passage[: pronoun.start()]
    if _NAMED_ALONE.match(passage) or entities(before) or _SOMEBODY.search(before) or _mentions(before):
        return None
    wrong = "male" if pronoun["female"] else "female"
    fitting = [match for match in _mentions(earlier) if not match.groupdict().get(wrong)]
    if len({match.group().split()[-1].lower() for match in fitting}) != 1:
        return None
    called = fitting[-1].group()
    return called[0].lower() + called[1:] if called.startswith(("My ", "Our ")) else called


def _mentions(text: str) -> list[re.Match[str]]:
    return [match for mention in _MENTIONS for match in mention.finditer(text)]
