"""Where in a person's memory a reference stands, told by ids, sessions, dates and words: conversations and facts in.

For sets that name their references loosely. Memory is the facts where there are any, else the turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from prospection.evaluation.datasets.conversations import Person, ReadyFact, Reference
from prospection.evaluation.datasets.words import content_words, where_said

__all__ = ["Places"]


@dataclass(frozen=True, slots=True)
class _Unit:
    """What references may be matched with: a fact or a turn."""

    id: str
    session: str
    date: datetime | None
    words: frozenset[str]


class Places:
    """What references may name.

    Attributes:
        facts: Ids of the facts; empty where memory is turns.
        sessions: Ids of the conversations.
    """

    def __init__(self, person: Person, facts: Sequence[ReadyFact]) -> None:
        dates = {talk.session_id: talk.date for talk in person.sessions}
        said = [(fact.session_id, fact.fact_id, fact.text) for fact in facts] or [
            (talk.session_id, turn.turn_id, turn.text) for talk in person.sessions for turn in talk.turns
        ]
        self.facts = {fact.fact_id for fact in facts}
        self.sessions = set(dates)
        self._units = [_Unit(unit, session, dates.get(session), content_words(text)) for session, unit, text in said]

    def find(self, fact: str | None, session: str | None, date: datetime | None, text: str) -> tuple[Reference, str]:
        """Return what counts as a reference, and in which way it was found; an empty reference where nothing does.

        Args:
            fact, session: Ids, perhaps of nothing that is there.
            date: When it was said.
            text: What it says; "" for a reference that is no more than a session.
        """
        for name in (fact, f"{session}/{fact}"):
            if name in self.facts:
                return Reference(fact_id=name), "by fact id"
        if own := [unit for unit in self._units if unit.session == session]:
            if said := self._by_words(text, own):
                return said, "by session and words"
            if self.facts and text:
                return Reference(), "not at all"
            return Reference(session_id=session), "by session alone (anything of it counts)"
        same_day = [unit for unit in self._units if date and unit.date and unit.date.date() == date.date()]
        for way, units in (("by date and words", same_day), ("by words", self._units)):
            if said := self._by_words(text, units):
                return said, way
        return Reference(), "not at all"

    def _by_words(self, text: str, units: Sequence[_Unit]) -> Reference | None:
        ids = [units[place].id for place in where_said(text, [unit.words for unit in units])]
        if not ids:
            return None
        return Reference(fact_id=ids[0]) if self.facts else Reference(turn_ids=ids)
