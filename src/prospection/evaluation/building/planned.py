"""Step 1 of the recipe: requests that need several steps, each with a date and 3-5 dated facts far from it.

A candidate is kept when the mean cosine between its words and its facts is at most gamma (paper, section 4.2). In goes
a profile; out come kept requests, and a sentence on each that was not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from math import ceil

from pydantic import BaseModel, Field

from prospection.errors import ReplyError
from prospection.evaluation.building.profiles import Profile
from prospection.evaluation.rivals.questions import Questions
from prospection.protocols import Embedder

__all__ = ["FEWEST", "MOST", "Planned", "PlannedFact", "Recipe", "cosines", "plan_queries"]

FEWEST, MOST = 3, 5
"""References of a query."""
AT_ONCE = 4
"""Requests asked for in one call."""
TRIES = 3
"""How many times as many calls are made as would do if every candidate were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What decides what is built.

    Attributes:
        until: No request is dated later.
        queries: Requests wanted for each person.
        gamma: Largest mean cosine between a request and its references.
        cues: Future cues that the extraction writes for each fact.
        max_session_tokens: Size of a part in the extraction.
    """

    until: date
    queries: int = 8
    gamma: float = 0.3
    cues: int = 3
    max_session_tokens: int = 6000


class PlannedFact(BaseModel):
    """A fact that a request needs, and the day on which the person says it."""

    info: str = Field(min_length=1, description="One atomic statement about the person, understood alone")
    date: date
    why: str = Field(description="What goes wrong when the fact is forgotten")


class _Candidate(BaseModel):
    query: str = Field(min_length=1)
    date: date
    references: list[PlannedFact]


class _Reply(BaseModel):
    queries: list[_Candidate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A request that was kept."""

    text: str
    at: date
    references: tuple[PlannedFact, ...]


@dataclass(slots=True)
class _Found:
    kept: list[Planned] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)


async def cosines(embedder: Embedder, query: str, texts: Sequence[str]) -> list[float]:
    """Return the cosine of a query with each text; [] for none."""
    if not texts:
        return []
    (row,) = await embedder.embed([query], role="query")
    return [float(cosine) for cosine in await embedder.embed(texts) @ row]


async def plan_queries(
    profile: Profile, recipe: Recipe, *, questions: Questions, embedder: Embedder
) -> tuple[list[Planned], list[str]]:
    """Ask for requests until there are as many as wanted, or the model has had its chances.

    Returns:
        At most `recipe.queries` requests, and why others were rejected.

    Raises:
        ModelError: No further call can be made. A reply that cannot be used is a rejection.
    """
    found = _Found()
    for _ in range(TRIES * ceil(recipe.queries / AT_ONCE)):
        missing = recipe.queries - len(found.kept)
        if not missing:
            break
        inputs = {
            "persona": profile.persona,
            "until": recipe.until.isoformat(),
            "count": str(min(missing, AT_ONCE)),
            "known": "\n".join(_known(found.kept)),
            "rejected": "\n".join(found.rejected),
        }
        try:
            reply = await questions.ask("quest_queries", _Reply, inputs, item=f"{len(found.rejected)} rejected")
        except ReplyError as error:
            found.rejected.append(f"reply {len(found.rejected) + 1} could not be used: {str(error)[:200]}")
            continue
        for candidate in reply.queries[:missing]:
            await _judge(candidate, recipe, embedder, found)
    return found.kept, found.rejected


async def _judge(candidate: _Candidate, recipe: Recipe, embedder: Embedder, found: _Found) -> None:
    reason = _misshapen(candidate, recipe)
    if reason is None and candidate.query in {query.text for query in found.kept}:
        reason = "is there already"
    if reason is None:
        near = await cosines(embedder, candidate.query, [fact.info for fact in candidate.references])
        mean = sum(near) / len(near)
        if mean > recipe.gamma:
            closest = candidate.references[near.index(max(near))].info
            reason = f"mean cosine {mean:.2f} is above {recipe.gamma:g}; nearest: {closest}"
    if reason is not None:
        found.rejected.append(f"{candidate.query} - {reason}")
        return
    references = tuple(candidate.references)
    found.kept.append(Planned(text=candidate.query, at=candidate.date, references=references))


def _misshapen(candidate: _Candidate, recipe: Recipe) -> str | None:
    if not FEWEST <= len(candidate.references) <= MOST:
        return f"has {len(candidate.references)} references, not {FEWEST} to {MOST}"
    if len({fact.info for fact in candidate.references}) < len(candidate.references):
        return "names a reference twice"
    if candidate.date > recipe.until:
        return f"is dated {candidate.date}, after {recipe.until}"
    if late := [fact.info for fact in candidate.references if fact.date >= candidate.date]:
        return f"is not later than its reference: {late[0]}"
    return None


def _known(kept: Sequence[Planned]) -> list[str]:
    return [line for query in kept for line in (query.text, *(f"- {fact.info}" for fact in query.references))]
