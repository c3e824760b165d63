"""The common JSONL layout of public benchmarks.

```
DATA/users.jsonl      {user_id, sessions: [{session_id, date|null, turns: [{turn_id, role, speaker?, text}]}]}
DATA/queries.jsonl    {query_id, user_id, query, query_date|null, references: [{session_id, turn_ids?, fact_id?}]}
DATA/facts.jsonl      {user_id, fact_id, text, session_id, turn_ids}          optional
```

In goes the folder, out comes a `Dataset`. Memory is made of the facts when there are any, else of every turn of every
role, because any turn may be a reference. No file is ever written.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import Field

from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery, EvalUser
from prospection.evaluation.datasets.references import keep_findable
from prospection.evaluation.files import Instant, Record, read_jsonl

__all__ = ["FILES", "load_common"]

FILES = ("users.jsonl", "queries.jsonl")
"""The files by which a folder of this layout is known."""

UNDATED = datetime(2000, 1, 1, tzinfo=UTC)
"""Where sessions without a date stand."""


class _Turn(Record):
    turn_id: str
    text: str
    speaker: str | None = None


class _Session(Record):
    session_id: str
    date: Instant | None = None
    turns: list[_Turn] = Field(default_factory=list)


class _User(Record):
    user_id: str
    sessions: list[_Session]


class _Reference(Record):
    session_id: str | None = None
    turn_ids: list[str] = Field(default_factory=list)
    fact_id: str | None = None


class _Query(Record):
    query_id: str
    user_id: str
    query: str
    query_date: Instant | None = None
    references: list[_Reference] = Field(default_factory=list)


class _Fact(Record):
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

    def matches(self, reference: _Reference) -> frozenset[str]:
        """The facts that count as this reference; empty when memory holds none."""
        if reference.fact_id in self.facts:
            return frozenset({reference.fact_id})
        if reference.turn_ids:
            return frozenset().union(*(self.by_turn.get(turn, frozenset()) for turn in reference.turn_ids))
        if reference.session_id is None:
            return frozenset()
        return self.by_session.get(reference.session_id, frozenset())


def load_common(folder: Path) -> Dataset:
    """Load a folder of this layout.

    A reference counts by its fact id when the set has facts, else by any of its turns, else by anything of its
    session. A query without a date is asked one day after the person's last session.

    Raises:
        InputError: A file cannot be read.
    """
    users = read_jsonl(folder / "users.jsonl", _User)
    facts_file = folder / "facts.jsonl"
    facts: defaultdict[str, list[_Fact]] | None = None
    if facts_file.is_file():
        facts = defaultdict(list)
        for fact in read_jsonl(facts_file, _Fact):
            facts[fact.user_id].append(fact)
    memories = [_memory(user, None if facts is None else facts[user.user_id]) for user in users]
    of_user = {memory.user.id: memory for memory in memories}
    lines = read_jsonl(folder / "queries.jsonl", _Query)
    kept, notes = keep_findable([_query(line, of_user.get(line.user_id)) for line in lines])
    scored = {query.id for query in kept}
    return Dataset(
        name=folder.resolve().name,
        users=tuple(memory.user for memory in memories),
        queries=kept,
        notes=(*notes, *_dates(users, [line for line in lines if line.query_id in scored])),
    )


def _memory(user: _User, facts: list[_Fact] | None) -> _Memory:
    dates = {session.session_id: session.date or UNDATED for session in user.sessions}
    units = _turns(user) if facts is None else facts
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
        user=EvalUser(id=user.user_id, facts=tuple(kept)),
        # Turns and facts are numbered apart: a fact id says nothing about turns.
        facts=frozenset() if facts is None else frozenset(fact.id for fact in kept),
        by_turn={turn: frozenset(ids) for turn, ids in by_turn.items()},
        by_session={session: frozenset(ids) for session, ids in by_session.items()},
    )


def _turns(user: _User) -> list[_Fact]:
    return [
        _Fact(
            user_id=user.user_id,
            fact_id=turn.turn_id,
            # Between two people it matters who said it.
            text=f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text,
            session_id=session.session_id,
            turn_ids=[turn.turn_id],
        )
        for session in user.sessions
        for turn in session.turns
    ]


def _query(line: _Query, memory: _Memory | None) -> EvalQuery:
    said = [fact.at for fact in memory.user.facts] if memory else []
    return EvalQuery(
        id=line.query_id,
        user=line.user_id,
        text=line.query,
        at=line.query_date or max(said, default=UNDATED) + timedelta(days=1),
        references=tuple(memory.matches(ref) if memory else frozenset() for ref in line.references),
    )


def _dates(users: list[_User], queries: list[_Query]) -> list[str]:
    sessions = [session for user in users for session in user.sessions]
    undated = sum(session.date is None for session in sessions)
    unasked = sum(query.query_date is None for query in queries)
    notes = []
    if undated:
        notes.append(f"{undated} of {len(sessions)} sessions have no date and stand at {UNDATED:%Y-%m-%d}.")
    if unasked:
        notes.append(f"{unasked} of {len(queries)} queries have no date and are asked a day after the last session.")
    return notes
