"""From a conversation to facts by a language model.

In goes a session; out come candidates with type, entities, source, event time and future cues: one call a part. The
model's word is checked before it is believed: a quote has to stand in a message of the person, a time has to be
plausible. What cannot be verified is left out of the fact, never the fact itself. An empty list of facts is an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, field_validator

from prospection.errors import TruncatedReplyError
from prospection.models.reply import Line
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest
from prospection.remember.event_times import interval
from prospection.remember.parts import Part, cut_into_parts, halves
from prospection.remember.quotes import find_quote, find_words
from prospection.remember.replies import distinct_texts, plain, plain_cues
from prospection.types import Candidate, EventTime, FactType, Message, Precision, Session, Source

__all__ = ["ExtractedFact", "ExtractedTime", "Extraction", "extract_by_model"]

STAGE = "extract"
_HALVINGS = 3
"""How often a part whose reply was cut off is halved before the session fails."""

_SENTENCE = 4
"""Fewer words than this can stand in anybody's message."""


class ExtractedTime(BaseModel):
    """When it happened or will happen, in the person's own time zone."""

    start: str = Field(description="2025-10-14T09:00, 2025-10-14, 2025-10 or 2025")
    end: str | None = Field(default=None, description="Last day or minute of a span")
    precision: Precision | None = Field(default=None, description="minute, day, month, year or range")


class ExtractedFact(BaseModel):
    """One fact as the model gives it."""

    info: Line = Field(description="One atomic statement about the person, understood alone")
    type: FactType
    entities: list[str] = Field(default_factory=list)
    message: int | None = Field(default=None, description="Number of the user message it comes from")
    quote: str | None = Field(default=None, description="Words copied exactly from that message")
    time: ExtractedTime | None = None
    cues: list[str] = Field(default_factory=list, description="Future situations in which the fact will matter")

    @field_validator("type", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.strip().capitalize() if isinstance(value, str) else value


class Extraction(BaseModel):
    """The reply of the extraction stage."""

    facts: list[ExtractedFact]


async def extract_by_model(
    session: Session, messages: Sequence[Message], start: int, *, model: ChatModel, max_tokens: int, cues: int
) -> list[Candidate]:
    """Ask the model for the facts of a session, part by part.

    Args:
        session: Gives id, date and time zone.
        messages: All its messages, in order.
        start: Only messages from this place on are extracted; those before are context.
        model: Whom to ask.
        max_tokens: Size of a part, in tokens of about four characters.
        cues: Future cues for each fact.

    Returns:
        Candidates in the order of the conversation; `[]` when the model found nothing worth keeping.

    Raises:
        ModelError: A part could not be extracted; nothing of the others is returned either.
    """
    found: list[Candidate] = []
    for part in cut_into_parts(messages, start, max_tokens):
        found += await _extract(session, messages, part, model, cues, _HALVINGS)
    return found


async def _extract(
    session: Session, messages: Sequence[Message], part: Part, model: ChatModel, cues: int, halvings: int
) -> list[Candidate]:
    if not part.has_user:
        return []
    try:
        reply = await model.complete(_request(session, part, cues))
    except TruncatedReplyError:
        smaller = halves(part) if halvings else None
        if smaller is None:
            raise
        return [
            candidate
            for half in smaller
            for candidate in await _extract(session, messages, half, model, cues, halvings - 1)
        ]
    places = [piece.place for piece in part.pieces if messages[piece.place].role == "user"]
    own = [messages[place].content for place in places]
    others = [messages[piece.place].content for piece in part.pieces if piece.place not in places]
    return [
        _candidate(fact, session, messages, places, cues)
        for fact in reply.value.facts
        if not _anothers_sentence(fact.info, own, others)
    ]


def _request(session: Session, part: Part, cues: int) -> ChatRequest[Extraction]:
    prompt = load_prompt(STAGE)
    first, last = part.pieces[0], part.pieces[-1]
    local = session.at.astimezone(_zone(session))
    return ChatRequest(
        stage=STAGE,
        # Stable between runs; the length tells the stretches of one long message apart.
        subject=f"{session.id}:{first.place}-{last.place}:{sum(len(piece.text) for piece in part.pieces)}",
        system=prompt.system,
        user=prompt.render(
            {
                "date": f"{local:%A, %d %B %Y, %H:%M} ({session.zone or 'UTC'})",
                "earlier": part.earlier,
                "conversation": "\n".join(piece.line for piece in part.pieces),
                "cues": str(cues),
            }
        ),
        prompt=prompt.hash,
        reply=Extraction,
    )


def _candidate(
    fact: ExtractedFact, session: Session, messages: Sequence[Message], places: Sequence[int], cues: int
) -> Candidate:
    return Candidate(
        info=plain(fact.info),
        type=fact.type,
        related_entities=distinct_texts(fact.entities),
        provenance=(_source(fact, session, messages, places),),
        event_time=_event_time(fact.time, session),
        cues=plain_cues(fact.cues, cues),
    )


def _anothers_sentence(info: str, own: Sequence[str], others: Sequence[str]) -> bool:
    """Say whether a statement is a sentence of somebody else, copied: small models take an explanation for a fact."""
    if len(info.split()) < _SENTENCE:
        return False
    return not any(find_words(info, text) for text in own) and any(find_words(info, text) for text in others)


def _source(fact: ExtractedFact, session: Session, messages: Sequence[Message], places: Sequence[int]) -> Source:
    """Find the words in the message the model names, or else in another one of the person's messages of this part."""
    named = [place for place in places if place == fact.message][:1]
    quote = plain(fact.quote or "")
    for place in [*named, *(place for place in dict.fromkeys(places) if place not in named)]:
        if quote and (words := find_quote(quote, messages[place].content)):
            return Source(session=session.id, message=place, quote=words)
    return Source(session=session.id, message=named[0] if named else None)


def _event_time(time: ExtractedTime | None, session: Session) -> EventTime | None:
    if time is None:
        return None
    return interval(time.start, time.end, precision=time.precision, said=session.at, zone=_zone(session))


def _zone(session: Session) -> tzinfo:
    return ZoneInfo(session.zone) if session.zone else UTC
