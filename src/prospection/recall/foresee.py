"""The two stages of `foresight` that a language model carries out: imagine in one call, select in another.

Each function renders a prompt, asks, and returns values. The shape of each reply stands beside it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from prospection.models.reply import Line
from prospection.recall.context import day_in_words, fact_lines
from prospection.recall.run import Run
from prospection.types import Fact, ScoredFact, Step

__all__ = ["Future", "Selection", "foresee", "select"]


class ImaginedStep(BaseModel):
    """A step and what it would want to know."""

    step: Line = Field(description="A concrete next step, one short sentence")
    facts: list[Line] = Field(description='Facts about the person that would change this step, as "User ..."')


class ImaginedBranch(BaseModel):
    """One aspect of the request."""

    theme: Line = Field(description="The aspect, in two to six words")
    steps: list[ImaginedStep] = Field(min_length=1)


class ImaginedFuture(BaseModel):
    """The imagined future of a request."""

    branches: list[ImaginedBranch] = Field(min_length=1)
    rewrites: list[Line] = Field(default=[], description="The request in other words, and questions within it")


class Selected(BaseModel):
    """A fact that the answer has to respect."""

    id: Line = Field(description='The id as it stands in brackets, for example "f12"')
    why: Line = Field(description="What follows from it for this request, in one short sentence")


class SelectionReply(BaseModel):
    """Which facts matter, what is still unknown, and what follows."""

    selected: list[Selected] = Field(description="Most important first; empty when none matters")
    open_needs: list[Line] = Field(
        default=[], description='Facts still missing that memory may hold, as "User ..."; empty when nothing is'
    )
    outlook: str = Field(default="", description="What the answer has to respect, in at most 120 words")


@dataclass(frozen=True, slots=True, kw_only=True)
class Future:
    """Steps with the facts they would want to know, and the request in other words."""

    steps: tuple[Step, ...]
    rewrites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What the model chose out of a pool.

    Attributes:
        facts: Chosen facts with their reasons, most important first; only facts of the pool.
        open_needs: Facts that seem to be missing.
    """

    facts: tuple[tuple[Fact, str], ...]
    open_needs: tuple[str, ...]
    outlook: str


async def foresee(
    run: Run,
    query: str,
    known: Sequence[ScoredFact],
    *,
    branches: int,
    steps: int,
    needs: int,
    rewrites: int,
    early: Callable[[Future], Awaitable[None]] | None = None,
) -> Future:
    """Imagine the request's future in one call: a tree of steps, the facts each would want to know, and rewrites.

    Args:
        early: Called with what is finished of the future while the model is still writing, where that can be had.
    """

    def future(reply: ImaginedFuture) -> Future:
        pairs = [(branch.theme, item) for branch in reply.branches[:branches] for item in branch.steps[:steps]]
        return Future(
            steps=tuple(
                Step(
                    sid=f"s{run.round}.{n}",
                    text=item.step,
                    theme=theme,
                    round=run.round,
                    needs=tuple(item.facts[:needs]),
                )
                for n, (theme, item) in enumerate(pairs, start=1)
            ),
            rewrites=tuple(reply.rewrites[:rewrites]),
        )

    async def partial(data: Mapping[str, Any]) -> None:
        if early is not None and (begun := _begun(data)) is not None:
            so_far = future(begun)
            run.tell_steps(so_far.steps)
            await early(so_far)

    shape = (
        f"{branches} branches of {steps} steps, {needs} imagined fact{'' if needs == 1 else 's'} for each step, "
        f"and {rewrites} rewrites"
    )
    inputs = {"query": query, "date": day_in_words(run.at), "facts": fact_lines(known), "shape": shape}
    return future(await run.ask("foresee", ImaginedFuture, inputs, partial=partial))


async def select(
    run: Run,
    query: str,
    pool: Sequence[ScoredFact],
    *,
    chosen: Sequence[ScoredFact] = (),
    steps: Sequence[Step] = (),
    part: str | None = None,
) -> Selection:
    """Choose from the pool what the answer has to respect, and name what is still missing.

    Args:
        pool: Candidates that the model has not seen yet.
        chosen: What earlier rounds chose; shown, and not to be chosen again.
        part: Which of several selections side by side this is.
    """
    facts = {item.fid: item.fact for item in pool}

    async def partial(data: Mapping[str, Any]) -> None:
        said = [item for item in data.get("selected") or [] if isinstance(item, dict)]
        picked = [
            (facts.get(str(item["id"]).strip("[]")), str(item["why"])) for item in said if {"id", "why"} <= item.keys()
        ]
        run.tell_chosen([ScoredFact(fact=fact, score=1.0, reason=why) for fact, why in picked if fact is not None])

    inputs = {
        "query": query,
        "date": day_in_words(run.at),
        "pool": fact_lines(pool),
        "chosen": fact_lines(chosen),
        "steps": "\n".join(f"- {step.text}" for step in steps) or "(none)",
    }
    reply = await run.ask("select", SelectionReply, inputs, part=part, partial=partial)
    picked = {item.id.strip("[]"): item.why for item in reply.selected}
    chosen_now = tuple((facts[fid], why) for fid, why in picked.items() if fid in facts)
    run.tell_chosen([ScoredFact(fact=fact, score=1.0, reason=why) for fact, why in chosen_now])
    return Selection(
        facts=chosen_now,
        open_needs=tuple(dict.fromkeys(reply.open_needs)),
        outlook=reply.outlook.strip(),
    )


def _begun(data: Mapping[str, Any]) -> ImaginedFuture | None:
    """Return what is finished of a reply that is still being written, step by step; None when nothing is."""
    found = data.get("branches")
    branches = [dict(item) for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    for branch in branches:
        steps = branch.get("steps")
        branch["steps"] = list(steps) if isinstance(steps, list) else []
    if branches and "rewrites" not in data:
        branches[-1]["steps"].pop() if branches[-1]["steps"] else None
    try:
        return ImaginedFuture.model_validate(
            {"branches": [item for item in branches if item["steps"]], "rewrites": data.get("rewrites", [])}
        )
    except ValidationError:
        return None
