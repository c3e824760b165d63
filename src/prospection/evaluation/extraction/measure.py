"""How good an extractor is: people in, figures of the rules and of a model out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio.to_thread
import numpy as np

from prospection.errors import ModelError
from prospection.evaluation.extraction.figures import Compared, Figures, figures_of
from prospection.evaluation.extraction.judging import judge_sessions
from prospection.evaluation.extraction.matching import (
    CLOSE,
    FAR,
    NEAR,
    SAME,
    SHARED,
    first_person,
    matches_of,
    repeats_of,
    strays_of,
)
from prospection.evaluation.extraction.sessions import Person
from prospection.evaluation.extraction.statements import Extracted, by_model, by_rules
from prospection.models.meter import MeteredChat
from prospection.protocols import ChatModel, Embedder, Progress
from prospection.serial import to_json
from prospection.types import Usage

__all__ = ["ExtractionResult", "measure_extraction"]

_NOTES = (
    f"By meaning: a statement says a gold fact of its session from a cosine of {NEAR}, or of {CLOSE} with {SHARED:.0%} "
    f"of its longer words; it repeats an earlier one from {SAME}; it is small talk when it says none and stays below "
    f"{FAR} with all of them. Thresholds were set by reading pairs under the encoder local.",
    "What says no gold fact is not all junk: gold facts list what was thought worth listing, and conversations hold "
    "more that is true.",
    "A date is wrong when an event time overlaps none of the dates that the gold facts name; most name none.",
)
_JUDGE_NOTE = (
    "Judged: the same model extracts and judges. Models favour their own words; judge with another to be sure."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionResult:
    """All figures, what they cost, and what to know about them.

    Attributes:
        figures: One entry an extractor, and another, "..., judged", where a model matched its statements.
        usage: Of the model, by what it did; empty without one.
        compared: Person by person, under the same names as `figures`: for reading.
    """

    data: str
    encoder: str
    people: int
    sessions: int
    facts: int
    figures: dict[str, Figures]
    usage: dict[str, Usage]
    notes: tuple[str, ...]
    compared: dict[str, list[Compared]]

    def to_json(self) -> dict[str, Any]:
        """Return everything but the statements."""
        return {
            "data": self.data,
            "encoder": self.encoder,
            "people": self.people,
            "sessions": self.sessions,
            "facts": self.facts,
            "extractors": {name: to_json(one) for name, one in self.figures.items()},
            "usage": {name: to_json(one) for name, one in self.usage.items()},
            "notes": list(self.notes),
        }


async def measure_extraction(
    data: str,
    people: Sequence[Person],
    *,
    embedder: Embedder,
    model: ChatModel | None = None,
    max_tokens: int = 6000,
    extracting: Progress | None = None,
    judging: Progress | None = None,
) -> ExtractionResult:
    """Measure extraction by rules; with a model also by the model, which then judges the statements of both.

    Args:
        data: What the data is called.
        people: At least one.
        max_tokens: Size of the parts that the model extracts, in tokens.
        extracting, judging: Called with sessions done and in all, person by person.

    Raises:
        CredentialError, BudgetExceededError, ConfigError: No further call can succeed.
        ModelError: The encoder's endpoint failed. A session that the model fails on is a note instead.
    """
    compared: dict[str, list[Compared]] = {}
    failures: list[str] = []
    extractor, judge = (MeteredChat(model), MeteredChat(model)) if model else (None, None)
    for person in people:
        made = {"rules": await anyio.to_thread.run_sync(by_rules, person.sessions)}
        if extractor is not None:
            made[extractor.name] = await by_model(
                person.sessions, extractor, max_tokens=max_tokens, progress=extracting
            )
        for name, extracted in made.items():
            failures += (f"{name}: nothing from {person.id}, {failure}" for failure in extracted.failed)
            plain = await _compare(person, extracted, embedder)
            compared.setdefault(name, []).append(plain)
            if judge is not None:
                judged, unjudged = await _judge(plain, judge, judging)
                compared.setdefault(f"{name}, judged", []).append(judged)
                failures += (f"{name}, judged: without {person.id}, {failure}" for failure in unjudged)
    return ExtractionResult(
        data=data,
        encoder=embedder.id,
        people=len(people),
        sessions=sum(len(person.sessions) for person in people),
        facts=sum(len(person.gold) for person in people),
        figures={name: figures_of(rows) for name, rows in compared.items()},
        usage={"extraction": extractor.usage, "judging": judge.usage} if extractor and judge else {},
        notes=(*_NOTES, *([_JUDGE_NOTE] if judge else []), *failures),
        compared=compared,
    )


async def _compare(person: Person, extracted: Extracted, embedder: Embedder) -> Compared:
    gold = [first_person(fact.text) for fact in person.gold]
    found = [first_person(statement.info) for _, statement in extracted.statements]
    sessions = [session for session, _ in extracted.statements]
    gold_vectors = await embedder.embed(gold)
    vectors = await embedder.embed(found) if found else np.zeros((0, embedder.dims), dtype=np.float32)
    similarity = gold_vectors @ vectors.T
    same = np.equal.outer(
        np.array([fact.session for fact in person.gold], dtype=object), np.array(sessions, dtype=object)
    ).astype(np.bool_)
    matches = matches_of(gold, found, similarity, same)
    return Compared(
        person=person,
        extracted=extracted,
        matches=matches,
        repeats=repeats_of(vectors, sessions),
        small_talk=strays_of(similarity, same, matches),
    )


async def _judge(plain: Compared, model: ChatModel, progress: Progress | None) -> tuple[Compared, list[str]]:
    """Match again by the model's word; say which sessions it did not judge, and why."""
    gold, statements = plain.person.gold, plain.extracted.statements
    rows, columns, asked = [], [], []
    for session in plain.person.sessions:
        rows.append([row for row, fact in enumerate(gold) if fact.session == session.id])
        columns.append([column for column, (name, _) in enumerate(statements) if name == session.id])
        asked.append(
            (
                f"{plain.person.id}:{session.id}",
                [gold[row].text for row in rows[-1]],
                [statements[column][1].info for column in columns[-1]],
            )
        )
    matches, small_talk = np.zeros_like(plain.matches), np.zeros_like(plain.small_talk)
    unjudged: dict[str, str] = {}
    verdicts = await judge_sessions(asked, model, progress)
    for place, (session, verdict) in enumerate(zip(plain.person.sessions, verdicts, strict=True)):
        if isinstance(verdict, ModelError):
            unjudged[session.id] = f"{session.id}: {verdict}"
            continue
        for column, one in zip(columns[place], verdict, strict=True):
            small_talk[column] = one.small_talk
            matches[[rows[place][number] for number in one.says], column] = True
    judged = replace(plain, matches=matches, small_talk=small_talk, unjudged=frozenset(unjudged))
    return judged, list(unjudged.values())
