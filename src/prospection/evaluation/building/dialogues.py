"""Step 3 of the recipe: an event to a conversation of 5-30 turns, and that to facts again (paper, section 4.2).

Facts come out by our own extraction. A conversation in which a reference cannot be found back is written once more
with the reference named, and the attempt in which more were found stays. In goes an event; out come its messages, its
facts, and where its references are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Literal

from pydantic import BaseModel, Field

from prospection.errors import ReplyError
from prospection.evaluation.building.alignment import align
from prospection.evaluation.building.planned import Planned, Recipe
from prospection.evaluation.building.profiles import Profile
from prospection.evaluation.building.timelines import Event
from prospection.evaluation.rivals.questions import Questions
from prospection.protocols import ChatModel, Embedder
from prospection.remember.extraction import extract_by_model
from prospection.types import Candidate, Message, Session

__all__ = ["Expanded", "Writer"]

FEWEST_TURNS, MOST_TURNS = 5, 30
ATTEMPTS = 2


class _Turn(BaseModel):
    role: Literal["user", "assistant"]
    text: str = Field(min_length=1)


class _Dialogue(BaseModel):
    turns: list[_Turn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """An event as a conversation.

    Attributes:
        found: Number of a reference, from 1: place of the fact that says it. Those not found back are missing.
    """

    event: Event
    messages: tuple[Message, ...]
    facts: tuple[Candidate, ...]
    found: dict[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writes the conversations of one person."""

    profile: Profile
    recipe: Recipe
    model: ChatModel
    questions: Questions
    embedder: Embedder

    async def expand(self, event: Event, query: Planned, *, item: str) -> Expanded:
        """Write the conversation of an event and extract its facts.

        Returns:
            The attempt with most references found; of equals the first.

        Raises:
            ReplyError: No attempt gave a conversation of the right length, or the first could not be read.
            ModelError: No further call can be made.
        """
        faults: list[str] = []
        best: Expanded | None = None
        for attempt in range(ATTEMPTS):
            try:
                expanded, faults = await self._attempt(event, query, faults, f"{item}, attempt {attempt + 1}")
            except ReplyError:
                if best is None:
                    raise
                break  # what there is can be used
            if expanded is not None and (best is None or len(expanded.found) > len(best.found)):
                best = expanded
            if not faults:
                break
        if best is None:
            raise ReplyError(f"no conversation about {event.topic!r} could be used: {faults[0]}; it is dropped", raw="")
        return best

    async def _attempt(
        self, event: Event, query: Planned, faults: Sequence[str], item: str
    ) -> tuple[Expanded | None, list[str]]:
        """Return a conversation, None for one of the wrong length, and what is wrong with it."""
        messages = await self._write(event, query, faults, item)
        if not FEWEST_TURNS <= len(messages) <= MOST_TURNS:
            return None, [f"it has {len(messages)} turns, not {FEWEST_TURNS} to {MOST_TURNS}"]
        expanded = await self._read_back(event, messages, query, item)
        return expanded, [
            f"the person does not plainly say: {query.references[number - 1].info}"
            for number in event.references
            if number not in expanded.found
        ]

    async def _write(self, event: Event, query: Planned, faults: Sequence[str], item: str) -> tuple[Message, ...]:
        inputs = {
            "persona": self.profile.persona,
            "date": f"{event.date:%A, %d %B %Y}",
            "topic": event.topic,
            "summary": event.summary,
            "facts": "\n".join(f"- {query.references[number - 1].info}" for number in event.references),
            "faults": "\n".join(faults),
        }
        reply = await self.questions.ask("quest_dialogue", _Dialogue, inputs, item=item)
        return tuple(Message(role=turn.role, content=turn.text) for turn in reply.turns)

    async def _read_back(self, event: Event, messages: tuple[Message, ...], query: Planned, item: str) -> Expanded:
        at = datetime.combine(event.date, time(12), UTC)
        facts = await extract_by_model(
            Session(id=f"{self.profile.user_id}: {item}", at=at, messages=messages),
            messages,
            0,
            model=self.model,
            max_tokens=self.recipe.max_session_tokens,
            cues=self.recipe.cues,
        )
        infos, found = [fact.info for fact in facts], {}
        for number in event.references:
            place = await align(
                query.references[number - 1].info,
                infos,
                embedder=self.embedder,
                questions=self.questions,
                item=f"{item}, fact {number}",
            )
            if place is not None:
                found[number] = place
        return Expanded(event=event, messages=messages, facts=tuple(facts), found=found)
