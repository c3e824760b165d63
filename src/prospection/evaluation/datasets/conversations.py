"""Conversations and what was asked about them, put together into a data set.

Loaders bring what their files say as the records below, whatever the layout; here memory is built and every reference
is resolved. Memory is made of a set's ready facts when there are any, else of every turn of every role, because any
turn may be a reference. Nothing here reads a file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import Field

from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery, EvalUser
from prospection.evaluation.datasets.references import each_once, empty_facts, keep_findable
from prospection.evaluation.files import Instant, Record

__all__ = ["TURNS", "UNDATED", "Person", "Question", "ReadyFact", "Reference", "Talk", "Turn", "assemble"]

UNDATED = datetime(2000, 1, 1, tzinfo=UTC)
"""Where sessions without a date stand."""

LAST_DAY = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)
"""The last one with a day after it."""

TURNS = "Memory is made of turns, not of extracted facts; figures are not comparable with the paper's."
"""What a reader has to know of a set of the paper that comes without facts."""


class Turn(Record):
    """One message. `speaker` is for conversations between two people, where it matters who said it."""

    turn_id: str
    text: str
    speaker: str | None = None


class Talk(Record):
    """A session: the messages of one conversation."""

    session_id: str
    date: Instant | None = None
    turns: list[Turn] = Field(default_factory=list)


class Person(Record):
    """Somebody whose sessions are remembered. `user_id` names one memory."""

    user_id: str
    sessions: list[Talk]


class Reference(Record):
    """Something that has to be found: by its fact id, else by any of its turns, else by anything of its session."""

    session_id: str | None = None
    turn_ids: list[str] = Field(default_factory=list)
    fact_id: str | None = None


class Question(Record):
    """A request and its references, each of which is needed.

    Attributes:
        person: Who asks, where several memories are cuts of one person's history.
    """

    query_id: str
    user_id: str
    query: str
    query_date: Instant | None = None
    references: list[Reference] = Field(default_factory=list)
    category: str | None = None
    answer: str | None = None
    person: str | None = None


class ReadyFact(Record):
    """A fact that comes with the set, and the turns it was drawn from."""

    user_id: str
    fact_id: str
    text: str
    session_id: str = "unknown"
    turn_ids: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Memory:
    """One person's facts, and the ids under which references may name them."""

    user: EvalUser
    facts: frozenset[str]
    by_turn: dict[str, frozenset[str]]
    by_session: dict[str, frozenset[str]]

    def matches(self, reference: Reference) -> frozenset[str]:
        """The facts that count as this reference; empty when memory holds none."""
        if reference.fact_id in self.facts:
            return frozenset({reference.fact_id})
        if reference.turn_ids:
            return frozenset().union(*(self.by_turn.get(turn, frozenset()) for turn in reference.turn_ids))
        if reference.session_id is None:
            return frozenset()
        return self.by_session.get(reference.session_id, frozenset())


def assemble(
    name: str,
    people: Sequence[Person],
    questions: Sequence[Question],
    facts: Sequence[ReadyFact] | None = None,
    *,
    notes: Sequence[str] = (),
) -> Dataset:
    """Build memory and resolve references.

    A query without a date is asked one day after the person's last session.

    Args:
        facts: What memory is made of; None: turns.
        notes: What a reader of the figures should know about how the files were read.
    """
    ready: defaultdict[str, list[ReadyFact]] = defaultdict(list)
    for fact in facts or ():
        ready[fact.user_id].append(fact)
    memories = [_memory(person, None if facts is None else ready[person.user_id]) for person in people]
    of_user = {memory.user.id: memory for memory in memories}
    references, repeats = each_once([question.references for question in questions])
    kept, left_out = keep_findable(
        [
            _query(question, own, of_user.get(question.user_id))
            for question, own in zip(questions, references, strict=True)
        ]
    )
    scored = {query.id for query in kept}
    asked = [question for question in questions if question.query_id in scored]
    return Dataset(
        name=name,
        users=tuple(memory.user for memory in memories),
        queries=kept,
        notes=(*notes, *empty_facts([fact.text for fact in facts or ()]), *repeats, *left_out, *_dates(people, asked)),
    )


def _memory(person: Person, facts: Sequence[ReadyFact] | None) -> _Memory:
    dates = {session.session_id: session.date or UNDATED for session in person.sessions}
    units = _turns(person) if facts is None else facts
    by_turn: defaultdict[str, set[str]] = defaultdict(set)
    by_session: defaultdict[str, set[str]] = defaultdict(set)
    kept: list[EvalFact] = []
    for unit in units:
        if not unit.text.strip():
            continue
        at = dates.get(unit.session_id, UNDATED)
        kept.append(EvalFact(id=unit.fact_id, text=unit.text, session=unit.session_id, at=at))
        by_session[unit.session_id].add(unit.fact_id)
        for turn in unit.turn_ids:
            by_turn[turn].add(unit.fact_id)
    return _Memory(
        user=EvalUser(id=person.user_id, facts=tuple(kept)),
        # Turns and facts are numbered apart: a fact id says nothing about turns.
        facts=frozenset() if facts is None else frozenset(fact.id for fact in kept),
        by_turn={turn: frozenset(ids) for turn, ids in by_turn.items()},
        by_session={session: frozenset(ids) for session, ids in by_session.items()},
    )


def _turns(person: Person) -> list[ReadyFact]:
    return [
        ReadyFact(
            user_id=person.user_id,
            fact_id=turn.turn_id,
            text=f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text,
            session_id=session.session_id,
            turn_ids=[turn.turn_id],
        )
        for session in person.sessions
        for turn in session.turns
    ]


def _query(question: Question, references: Sequence[Reference], memory: _Memory | None) -> EvalQuery:
    last = max((fact.at for fact in memory.user.facts), default=UNDATED) if memory else UNDATED
    return EvalQuery(
        id=question.query_id,
        user=question.user_id,
        text=question.query,
        at=question.query_date or min(last, LAST_DAY) + timedelta(days=1),
        references=tuple(memory.matches(ref) if memory else frozenset() for ref in references),
        category=question.category,
        answer=question.answer,
        person=question.person,
    )


def _dates(people: Sequence[Person], questions: Sequence[Question]) -> list[str]:
    sessions = [session for person in people for session in person.sessions]
    undated = sum(session.date is None for session in sessions)
    unasked = sum(question.query_date is None for question in questions)
    notes = []
    if undated:
        notes.append(f"{undated} of {len(sessions)} sessions have no date and stand at {UNDATED:%Y-%m-%d}.")
    if unasked:
        notes.append(f"{unasked} of {len(questions)} queries have no date and are asked a day after the last session.")
    return notes
