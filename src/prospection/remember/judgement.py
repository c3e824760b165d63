"""What a model thinks of new facts beside stored ones, checked before it is believed.

In go candidates with their neighbours; out comes one judgement for each that needs an operation. The model sees numbers
of its own list and never an id. It may name only what it was shown; it revises a fact once; it touches nothing that is
pinned or was said later; a statement it writes may lose nothing of the new fact and bring nothing that neither of the
two says. Whatever does not hold up becomes a plain addition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field, field_validator

from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest
from prospection.remember.replies import plain, plain_cues
from prospection.remember.statements import Statement, lost
from prospection.search.lexical import normalise
from prospection.types import Add, Candidate, Fact, Hit, Reinforce

__all__ = ["Judged", "Neighbourhood", "Proposal", "Proposals", "Revision", "judge_by_model"]

STAGE = "upsert"


class Proposal(BaseModel):
    """What should become of one new fact."""

    new: int = Field(description="Number of the new fact")
    action: Literal["add", "reinforce", "revise", "skip"]
    stored: int | None = Field(default=None, description="Number of the stored fact, unless the action is add")
    statement: str | None = Field(default=None, description="For revise: the statement that takes its place")
    cues: list[str] = Field(default_factory=list, description="For revise: future situations in which it will matter")

    @field_validator("action", mode="before")
    @classmethod
    def _any_case(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value


class Proposals(BaseModel):
    """The reply of the upsert stage."""

    proposals: list[Proposal]


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """A candidate and the stored facts nearest to it, nearest first."""

    add: Add
    near: tuple[Hit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A stored fact gives way to a new one.

    Attributes:
        joined: The statement that holds both, where the model wrote one; None: the new fact as it is.
    """

    old: Fact
    add: Add
    joined: Candidate | None = None


Judged: TypeAlias = Add | Reinforce | Revision


async def judge_by_model(
    unclear: Sequence[Neighbourhood], model: ChatModel, *, subject: str, at: datetime, cues: int
) -> list[Judged]:
    """Ask about all of a session's candidates in one call.

    Args:
        unclear: Candidates that have neighbours.
        subject: Id of the session.
        at: When it took place.
        cues: Future cues for each statement the model writes.

    Returns:
        Judgements in the order of the candidates; one that a stored fact covers (`skip`) is left out.

    Raises:
        ModelError: No usable reply came.
    """
    stored = {hit.fact.fid: hit.fact for each in unclear for hit in each.near}
    numbers = {fid: number for number, fid in enumerate(stored, start=1)}
    reply = await model.complete(_request(unclear, stored, numbers, subject=subject, at=at, cues=cues))
    by_number = {numbers[fid]: fact for fid, fact in stored.items()}
    proposals: dict[int, Proposal] = {}
    for proposal in reply.value.proposals:
        proposals.setdefault(proposal.new, proposal)
    judged: list[Judged] = []
    revised: set[str] = set()
    for number, each in enumerate(unclear, start=1):
        found = _judge(each.add, proposals.get(number), by_number, at=at, cues=cues)
        if isinstance(found, Revision):
            if found.old.fid in revised:
                found = each.add
            else:
                revised.add(found.old.fid)
        if found is not None:
            judged.append(found)
    return judged


def _request(
    unclear: Sequence[Neighbourhood],
    stored: Mapping[str, Fact],
    numbers: Mapping[str, int],
    *,
    subject: str,
    at: datetime,
    cues: int,
) -> ChatRequest[Proposals]:
    prompt = load_prompt(STAGE)
    new = []
    for number, each in enumerate(unclear, start=1):
        near = ", ".join(str(numbers[hit.fact.fid]) for hit in each.near)
        new.append(f"[{number}] {each.add.candidate.info} (near stored {near})")
    return ChatRequest(
        stage=STAGE,
        subject=subject,
        system=prompt.system,
        user=prompt.render(
            {
                "date": f"{at:%Y-%m-%d}",
                "stored": "\n".join(f"[{numbers[fid]}] {_said(fact)}{fact.info}" for fid, fact in stored.items()),
                "new": "\n".join(new),
                "cues": str(cues),
            }
        ),
        prompt=prompt.hash,
        reply=Proposals,
    )


def _judge(
    add: Add, proposal: Proposal | None, stored: Mapping[int, Fact], *, at: datetime, cues: int
) -> Judged | None:
    old = None if proposal is None else stored.get(proposal.stored or 0)
    if proposal is None or old is None or proposal.action == "add":
        return add
    match proposal.action:
        case "skip":
            return None
        case "reinforce":
            return Reinforce(fid=old.fid, provenance=add.candidate.provenance)
        case _:
            return _revision(add, old, proposal, at=at, cues=cues)


def _revision(add: Add, old: Fact, proposal: Proposal, *, at: datetime, cues: int) -> Judged:
    statement = plain(proposal.statement or "")
    later = old.said_at is not None and old.said_at > at
    if not statement or later or old.pinned:
        return add
    if normalise(statement) == normalise(old.info):
        return Reinforce(fid=old.fid, provenance=add.candidate.provenance)
    if not _holds(statement, add.candidate, old):
        return Revision(old=old, add=add)
    entities = [*add.candidate.related_entities, *old.related_entities]
    joined = replace(
        add.candidate,
        info=statement,
        related_entities=tuple(name for name in dict.fromkeys(entities) if name.casefold() in statement.casefold()),
        provenance=(),  # those of both facts, which it inherits
        event_time=add.candidate.event_time or old.event_time,
        cues=plain_cues(proposal.cues, cues) or add.candidate.cues,
    )
    return Revision(old=old, add=add, joined=joined)


def _holds(statement: str, candidate: Candidate, old: Fact) -> bool:
    """Tell whether a statement differs from the new fact, loses nothing of it and adds nothing to the two."""
    if normalise(statement) == normalise(candidate.info):
        return False
    new = Statement(info=candidate.info, entities=candidate.related_entities)
    both = f"{candidate.info}\n{old.info}"
    return not lost([new], statement) and not lost([Statement(info=statement)], both)


def _said(fact: Fact) -> str:
    return f"({fact.said_at:%Y-%m-%d}) " if fact.said_at else ""
