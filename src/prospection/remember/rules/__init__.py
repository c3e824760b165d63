"""From a conversation to facts by rules, where there is no language model.

In goes a session; out come candidates that keep the person's own statements, in their own words and language. Small
talk, questions, requests, remarks on the assistant's text and what the person pasted are left out, as is everything
that the assistant was given from memory. Nothing is rephrased: only a leading "Well, " is dropped, and what a passage
refers to is put before it in brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from prospection.remember.rules.dates import event_time
from prospection.remember.rules.kinds import entities, guess_type
from prospection.remember.rules.languages import Language, language_of
from prospection.remember.rules.passages import find_passages
from prospection.remember.rules.pasted import own_text
from prospection.types import Candidate, Message, Session, Source

__all__ = ["extract_by_rules"]


def extract_by_rules(session: Session, messages: Sequence[Message], start: int = 0) -> list[Candidate]:
    """Find what a person said of themselves.

    Args:
        session: Gives id, day and time zone; days are UTC days where it has no zone.
        messages: All its messages, in order.
        start: Only messages from this place on are extracted; those before are context.

    Returns:
        Candidates in the order in which they were said, each with its message and the words it rests on, without cues;
        `[]` when nothing is worth keeping.
    """
    language = language_of("\n".join(own_text(message.content) for message in messages if _is_own(message)))
    zone: tzinfo = ZoneInfo(session.zone) if session.zone else UTC
    found: list[Candidate] = []
    earlier: list[str] = []
    asked = ""
    for place, message in enumerate(messages):
        if message.role == "assistant":
            asked = message.content
        if not _is_own(message):
            continue
        if place >= start:
            found += _candidates(session, place, message, asked, earlier, language, zone)
        earlier.append(message.content)
        asked = ""
    return found


def _candidates(
    session: Session,
    place: int,
    message: Message,
    asked: str,
    earlier: Sequence[str],
    language: Language | None,
    zone: tzinfo,
) -> list[Candidate]:
    said = (message.at or session.at).astimezone(zone).date()
    return [
        Candidate(
            info=passage.text,
            type=guess_type(passage.quote),
            related_entities=entities(passage.quote, capitals=language is None or language.code != "de"),
            provenance=(Source(session=session.id, message=place, quote=passage.quote),),
            event_time=event_time(passage.quote, said, zone),
        )
        for passage in find_passages(message.content, asked=asked, earlier=earlier, language=language)
    ]


def _is_own(message: Message) -> bool:
    return message.role == "user" and not message.recalled
