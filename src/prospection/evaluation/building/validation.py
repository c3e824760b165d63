"""Is a folder of the quest layout sound? Users in; counts, similarities, leaks and faults out.

A fault breaks a promise of the layout or the recipe. A leak is a word of a request that stands in one of its references
and hardly anywhere else, or names something in it: it lets lexical search find what it should not, and is for a person
to judge.
"""

from __future__ import annotations

import calendar
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prospection.errors import InputError
from prospection.evaluation.building.layout import QuestQuery, QuestUser
from prospection.evaluation.building.planned import FEWEST, MOST, cosines
from prospection.evaluation.datasets.quest import user_files
from prospection.evaluation.datasets.words import content_words
from prospection.evaluation.files import read_json
from prospection.protocols import Embedder

__all__ = ["Leak", "Validation", "read_users", "validate"]

RARE, SHORT = 2, 3
"""A word that so many facts of a person hold at most is rare; one of so few letters says nothing, unless it names."""

_EVERYDAY_WORDS = """
again always another anyone anything around away back because before best better between both bring come comes
coming day days different done during each early else enough even evening ever every everyone everything finally
find first five four full general getting gets give given gives goes going good great half happen help here hour
hours keep keeps kind know last late later least left less like likes little long look make makes making many maybe
minutes month months morning most much must myself need needs never next nice night nothing often once only other
over part place plan possible probably put really right same second seem should since someone something soon start
starts still sure take takes thing things think three time times today together tomorrow tonight two until use used
usually want wants way week weekend weeks well where while whole without work works year years yet
"""
_EVERYDAY = frozenset(_EVERYDAY_WORDS.split()) | {name.lower() for name in (*calendar.month_name, *calendar.day_name)}
"""Words that give nothing away, however few facts hold them: function words, and the calendar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leak:
    """Words that a request shares with one of its references."""

    user: str
    query: str
    fact: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What was found.

    Attributes:
        encoder: By which cosines are measured.
        deciles: Least cosine of a request with a reference, the nine deciles, and the largest; () without references.
        mean: Mean over requests of their mean cosine; None without requests.
        faults: In sentences; () for a sound folder.
    """

    users: int
    sessions: int
    facts: int
    queries: int
    references: int
    encoder: str
    gamma: float
    deciles: tuple[float, ...]
    mean: float | None
    leaks: tuple[Leak, ...]
    faults: tuple[str, ...]


def read_users(folder: Path) -> list[QuestUser]:
    """Read the users of a folder.

    Raises:
        InputError: There are none, or a file is not of the layout.
    """
    users = [read_json(path, QuestUser) for path in user_files(folder)]
    if not users:
        raise InputError(f"{str(folder)!r} holds no user files; name a folder that quest build or quest review wrote")
    return users


async def validate(users: Sequence[QuestUser], *, embedder: Embedder, gamma: float = 0.3) -> Validation:
    """Check users against the promises of the recipe.

    Raises:
        ModelError: The encoder's endpoint failed.
    """
    twice = [name for name, times in Counter(user.user_id for user in users).items() if times > 1]
    faults = [f"user {name!r} occurs twice" for name in twice]
    leaks: list[Leak] = []
    near: list[float] = []
    means: list[float] = []
    for user in users:
        infos = {fact.fact_id: fact.info for session in user.sessions for fact in session.facts}
        faults += _faults(user)
        leaks += _leaks(user, infos)
        for query in user.queries:
            found = await cosines(embedder, query.query, [infos[name] for name in query.references if name in infos])
            near += found
            if found:
                means.append(sum(found) / len(found))
            if found and means[-1] > gamma:
                faults.append(f"{user.user_id}-{query.query_id}: mean cosine {means[-1]:.3f} is above {gamma:g}")
    queries = sum(len(user.queries) for user in users)
    if not queries:
        faults.append("there are no queries")
    return Validation(
        users=len(users),
        sessions=sum(len(user.sessions) for user in users),
        facts=sum(len(session.facts) for user in users for session in user.sessions),
        queries=queries,
        references=sum(len(query.references) for user in users for query in user.queries),
        encoder=embedder.id,
        gamma=gamma,
        deciles=_deciles(near),
        mean=sum(means) / len(means) if means else None,
        leaks=tuple(leaks),
        faults=tuple(faults),
    )


def _faults(user: QuestUser) -> list[str]:
    places: dict[str, list[int]] = {}
    for place, session in enumerate(user.sessions):
        for fact in session.facts:
            places.setdefault(fact.fact_id, []).append(place)
    names = Counter(query.query_id for query in user.queries)
    faults = [f"{user.user_id}-{name} occurs {times} times" for name, times in names.items() if times > 1]
    for query in user.queries:
        name, references = f"{user.user_id}-{query.query_id}", query.references
        if not FEWEST <= len(set(references)) <= MOST or len(set(references)) < len(references):
            faults.append(f"{name}: {len(references)} references, {len(set(references))} distinct, not 3 to 5")
        for reference in dict.fromkeys(references):
            held = places.get(reference, [])
            if len(held) != 1:
                faults.append(f"{name}: reference {reference!r} stands {len(held)} times in the sessions, not once")
            if any(user.sessions[place].date >= query.date for place in held):
                faults.append(f"{name}: reference {reference!r} is not dated before the request")
    return faults


def _leaks(user: QuestUser, infos: dict[str, str]) -> list[Leak]:
    words = {name: content_words(info) for name, info in infos.items()}
    frequency = Counter(word for held in words.values() for word in held)
    rare = {word for word, facts in frequency.items() if facts <= RARE and len(word) > SHORT} - _EVERYDAY
    named = {
        fact.fact_id: frozenset(word for entity in fact.entities for word in content_words(entity))
        for session in user.sessions
        for fact in session.facts
    }

    def shared(query: QuestQuery, name: str) -> tuple[str, ...]:
        return tuple(sorted(content_words(query.query) & words[name] & (rare | named[name])))

    return [
        Leak(user=user.user_id, query=query.query_id, fact=name, words=found)
        for query in user.queries
        for name in query.references
        if name in words and (found := shared(query, name))
    ]


def _deciles(values: Sequence[float]) -> tuple[float, ...]:
    """Return 11 values of the sorted ones, the places in between interpolated; () of none."""
    ordered = sorted(values)
    if not ordered:
        return ()
    found = []
    for tenth in range(11):
        place = tenth * (len(ordered) - 1) / 10
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (ordered[above] - ordered[below]) * (place - below))
    return tuple(found)
