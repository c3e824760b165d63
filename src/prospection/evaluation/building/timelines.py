"""Step 2 of the recipe: a timeline of 5-10 events that begins before the earliest reference.

Each reference stands in exactly one event, on or after its own day; other events are filler that fits the person
(paper, section 4.2). In goes a kept request; out come events in order of time. A timeline that breaks a rule is asked
for again with the rule named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date

from pydantic import BaseModel, Field

from prospection.errors import ReplyError
from prospection.evaluation.building.planned import Planned
from prospection.evaluation.building.profiles import Profile
from prospection.evaluation.rivals.questions import Questions

__all__ = ["Event", "lay_out", "timeline_faults"]

FEWEST_EVENTS, MOST_EVENTS = 5, 10
ATTEMPTS = 3


class Event(BaseModel):
    """An occasion on which the person talks with their assistant."""

    date: date
    topic: str = Field(min_length=1)
    summary: str = Field(min_length=1, description="What the person talks about, in one to three sentences")
    references: list[int] = Field(default_factory=list, description="Numbers of the facts said here; none in filler")


class _Timeline(BaseModel):
    events: list[Event]


async def lay_out(query: Planned, profile: Profile, *, questions: Questions, item: str) -> list[Event]:
    """Ask for a timeline.

    Raises:
        ReplyError: Every attempt broke a rule.
        ModelError: No further call can be made.
    """
    faults: list[str] = []
    for attempt in range(ATTEMPTS):
        inputs = {
            "persona": profile.persona,
            "query": query.text,
            "date": query.at.isoformat(),
            "facts": "\n".join(f"[{n}] {fact.date}: {fact.info}" for n, fact in enumerate(query.references, 1)),
            "faults": "\n".join(faults),
        }
        reply = await questions.ask("quest_timeline", _Timeline, inputs, item=f"{item}, attempt {attempt + 1}")
        events = sorted(reply.events, key=lambda event: event.date)
        faults = timeline_faults(events, query)
        if not faults:
            return events
    raise ReplyError(
        f"no timeline of {query.text!r} keeps the rules: {'; '.join(faults)}; it is dropped",
        raw=reply.model_dump_json(),
    )


def timeline_faults(events: Sequence[Event], query: Planned) -> list[str]:
    """Return which rules events in order of time break; [] for a good timeline."""
    faults = []
    if not FEWEST_EVENTS <= len(events) <= MOST_EVENTS:
        faults.append(f"there are {len(events)} events, not {FEWEST_EVENTS} to {MOST_EVENTS}")
    earliest = min(fact.date for fact in query.references)
    if events and events[0].date >= earliest:
        faults.append(f"the first event is on {events[0].date}, not before {earliest}")
    if events and events[-1].date >= query.at:
        faults.append(f"the last event is on {events[-1].date}, not before the request on {query.at}")
    placed = Counter(number for event in events for number in event.references)
    numbers = range(1, len(query.references) + 1)
    faults += [f"fact [{n}] stands in {placed[n]} events, not in one" for n in numbers if placed[n] != 1]
    faults += [f"there is no fact [{n}]" for n in placed if n not in numbers]
    faults += [
        f"fact [{n}] is said on {event.date}, before its day"
        for event in events
        for n in event.references
        if n in numbers and event.date < query.references[n - 1].date
    ]
    return faults
