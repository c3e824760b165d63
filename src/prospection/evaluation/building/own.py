"""A benchmark over a person's own memories: facts of a store in, a draft and a file for their review out.

The model sees the facts, and nothing else leaves the machine. Requests are filtered by gamma as in the recipe. Nothing
of a draft is in the data set before the person accepts it: see `review`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil

import anyio
import anyio.to_thread
from pydantic import BaseModel, Field

from prospection.errors import InputError, ReplyError
from prospection.evaluation.building.layout import Folder, QuestFact, QuestQuery, QuestSession, QuestUser
from prospection.evaluation.building.planned import AT_ONCE, FEWEST, MOST, TRIES, cosines
from prospection.evaluation.building.review import write_draft
from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.runs.plan import PlanBudget
from prospection.evaluation.runs.tape import Tape, TapedChat, working
from prospection.protocols import ChatModel, Embedder
from prospection.types import Fact

__all__ = ["draft_from_facts"]

SHOWN = 300
"""Facts laid before the model in one call; of a larger memory another draw each time."""


class _Reference(BaseModel):
    fact: int = Field(description="Number of the fact")
    why: str = Field(min_length=1)


class _Candidate(BaseModel):
    query: str = Field(min_length=1)
    references: list[_Reference]


class _Reply(BaseModel):
    queries: list[_Candidate]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    questions: Questions
    embedder: Embedder
    gamma: float
    at: datetime


async def draft_from_facts(
    user: str,
    facts: Sequence[Fact],
    folder: Folder,
    *,
    at: datetime,
    model: ChatModel,
    embedder: Embedder,
    queries: int = 8,
    gamma: float = 0.3,
    budget: PlanBudget | None = None,
) -> QuestUser:
    """Ask for requests over facts and write them down for review.

    Args:
        at: When the requests are made; only facts said before are used.

    Returns:
        The draft: all facts, the requests that were kept, and in `notes` why others were rejected.

    Raises:
        InputError: There are too few facts, a draft is there already, or the folder was begun with something else.
        ModelError: No further call can be made. Run again, the same facts are not paid for twice.
    """
    known = [fact for fact in facts if (said := _said(fact)) is not None and said < at]
    if len(known) < FEWEST:
        raise InputError(f"{user!r} has {len(known)} facts from before {at:%Y-%m-%d}; a request needs {FEWEST} or more")
    if (folder.path / "review.md").exists():
        raise InputError(f"{str(folder.path)!r} holds a draft already; review it, or name another folder")
    made_with = {"user": user, "model": model.name, "encoder": embedder.id, "queries": queries, "gamma": gamma}
    await anyio.to_thread.run_sync(folder.begin, made_with, ["quest_own"])
    tape = Tape(folder.recording, budget=budget, retry_failed=True)
    with working(f"quest/index/{user}", once=True):
        asking = _Asking(
            questions=Questions(TapedChat(tape, model.name, model), about=user), embedder=embedder, gamma=gamma, at=at
        )
        kept, rejected = await _ask(asking, known, queries)
    draft = QuestUser(user_id=user, sessions=_sessions(known), queries=kept, notes=rejected)
    await anyio.to_thread.run_sync(write_draft, folder, draft)
    return draft


async def _ask(asking: _Asking, facts: Sequence[Fact], wanted: int) -> tuple[list[QuestQuery], list[str]]:
    kept: list[QuestQuery] = []
    rejected: list[str] = []
    draw = random.Random(0)  # noqa: S311 - the same draws again when it goes on
    for turn in range(TRIES * ceil(wanted / AT_ONCE)):
        missing = wanted - len(kept)
        if not missing:
            break
        places = sorted(draw.sample(range(len(facts)), min(SHOWN, len(facts))))
        shown = [facts[place] for place in places]
        inputs = {
            "facts": "\n".join(f"[{n}] {_said(fact):%Y-%m-%d}: {fact.info}" for n, fact in enumerate(shown, 1)),
            "count": str(min(missing, AT_ONCE)),
            "known": "\n".join(query.query for query in kept),
            "rejected": "\n".join(rejected),
        }
        try:
            reply = await asking.questions.ask("quest_own", _Reply, inputs, item=f"turn {turn + 1}")
        except ReplyError as error:
            rejected.append(f"reply {turn + 1} could not be used: {str(error)[:200]}")
            continue
        for candidate in reply.queries[:missing]:
            text = " ".join(candidate.query.split())
            reason = "is there already" if text in {query.query for query in kept} else None
            reason = reason or await _reason_against(asking, candidate, shown)
            if reason is not None:
                rejected.append(f"{candidate.query} - {reason}")
                continue
            why = {shown[reference.fact - 1].fid: reference.why for reference in candidate.references}
            kept.append(
                QuestQuery(
                    query_id=f"q{len(kept) + 1}",
                    date=asking.at,
                    query=text,
                    references=list(why),
                    why=why,
                )
            )
    return kept, rejected


async def _reason_against(asking: _Asking, candidate: _Candidate, shown: Sequence[Fact]) -> str | None:
    numbers = {reference.fact for reference in candidate.references}
    if unknown := [number for number in sorted(numbers) if not 1 <= number <= len(shown)]:
        return f"there is no fact {unknown[0]}"
    if not FEWEST <= len(numbers) <= MOST:
        return f"has {len(numbers)} references, not {FEWEST} to {MOST}"
    near = await cosines(asking.embedder, candidate.query, [shown[number - 1].info for number in sorted(numbers)])
    mean = sum(near) / len(near)
    return f"mean cosine {mean:.2f} is above {asking.gamma:g}" if mean > asking.gamma else None


def _said(fact: Fact) -> datetime | None:
    return fact.said_at or fact.valid_from


def _sessions(facts: Sequence[Fact]) -> list[QuestSession]:
    """One session for each conversation and instant at which facts of it were last said, oldest first."""
    grouped: dict[tuple[datetime, str], list[Fact]] = {}
    for fact in facts:
        said = _said(fact)
        if said is not None:
            grouped.setdefault((said, fact.provenance[-1].session if fact.provenance else "memory"), []).append(fact)
    return [
        QuestSession(session_id=f"{source} at {said:%Y-%m-%dT%H:%M:%S.%fZ}", date=said, facts=list(map(_fact, group)))
        for (said, source), group in sorted(grouped.items(), key=lambda item: item[0])
    ]


def _fact(fact: Fact) -> QuestFact:
    kind = None if fact.type is None else fact.type.value
    return QuestFact(fact_id=fact.fid, info=fact.info, type=kind, entities=list(fact.related_entities))
