"""What an evaluation runs on: people with facts, their requests, and which facts each request needs.

Loaders in `datasets/` make these values and have checked them: ids are unique within a user, every instant is aware
UTC, and every reference names facts that are there. Nothing here does I/O.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from prospection.types import Cue, FactType, Step

__all__ = ["Dataset", "EvalFact", "EvalQuery", "EvalUser", "RecordedProspection"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedProspection:
    """What a model imagined for one query, written down beforehand; it stands in for the model's first replies.

    Attributes:
        steps: Steps of round 0; their `needs` are empty, recordings keep the imagined facts apart.
        imagined_facts: Facts about the person that would help, as imagined.
        rewrites: The query in other words, and its sub-questions.
    """

    steps: tuple[Step, ...] = ()
    imagined_facts: tuple[str, ...] = ()
    rewrites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalFact:
    """One unit of memory: a ready fact, or a turn of a conversation where a set has no facts.

    Attributes:
        id: The data set's own id. It can leak the answer and is never shown to a system.
        at: When it was said.
        type: None where the data does not say.
    """

    id: str
    text: str
    session: str
    at: datetime
    type: FactType | None = None
    entities: tuple[str, ...] = ()
    cues: tuple[Cue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalUser:
    """A person and everything that memory holds about them, in the order of the data."""

    id: str
    facts: tuple[EvalFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalQuery:
    """A request and what it needs.

    Attributes:
        id: Unique within the data set.
        at: When it is asked.
        references: What has to be found. Each is a set of ids of the user's facts that are alternatives: any of
            them counts. Neither the tuple nor a set in it is empty.
        recorded: None where nothing was recorded for this query.
        category: The data set's own kind of question.
        answer: What the data set takes for a right answer.
        person: Who asks, where several memories are cuts of one person's history; None: the user. Queries of one
            person are not independent.
    """

    id: str
    user: str
    text: str
    at: datetime
    references: tuple[frozenset[str], ...]
    recorded: RecordedProspection | None = None
    category: str | None = None
    answer: str | None = None
    person: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """People, requests, and what a reader of the figures should know about the data, in sentences."""

    name: str
    users: tuple[EvalUser, ...]
    queries: tuple[EvalQuery, ...]
    notes: tuple[str, ...] = ()
