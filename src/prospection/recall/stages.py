"""The stages of prospection that a language model carries out, with the shape of each reply beside it.

Each function renders a prompt, asks, and returns values; what to do with them is the policy's part. The stages are
those of the paper, section 3.3: augment (P_A), simulate (P_sim), refine (P_ref), summarise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pydantic import BaseModel, Field

from prospection.models.reply import Line
from prospection.recall.context import day_in_words, fact_lines
from prospection.recall.run import Run
from prospection.types import ScoredFact, Step

__all__ = ["Branch", "Chain", "Horizon", "Shape", "Tree", "augment", "refine", "simulate", "summarise"]


class Augmented(BaseModel):
    """The request, disambiguated."""

    query: Line = Field(description="The request, made specific with what is known; unchanged where nothing is known")


class Branch(BaseModel):
    """One aspect of the request and the steps it asks for."""

    theme: Line = Field(description="The aspect, in two to six words")
    steps: list[Line] = Field(min_length=1, description="Concrete next steps, one short sentence each")


class Tree(BaseModel):
    """Tree of thoughts: several futures side by side."""

    branches: list[Branch] = Field(min_length=1)


class Chain(BaseModel):
    """Chain of thoughts: one future, step after step."""

    steps: list[Line] = Field(min_length=1, description="Concrete next steps in order, one short sentence each")


class Horizon(Protocol):
    """How far to look ahead: a tree of `branches` x `steps`, or a chain of `chain_steps`."""

    @property
    def branches(self) -> int:
        """Branches of the tree."""
        ...

    @property
    def steps(self) -> int:
        """Steps of each branch."""
        ...

    @property
    def chain_steps(self) -> int:
        """Steps of the chain."""
        ...


class Shape:
    """A tree of `branches` x `steps`, or a chain of `chain_steps`: how to ask for it and how to read the reply."""

    def __init__(self, kind: str, horizon: Horizon) -> None:
        self.reply: type[Tree | Chain] = Tree if kind == "tree" else Chain
        self._horizon = horizon

    @property
    def instruction(self) -> str:
        """The shape in words, for the prompt."""
        size = self._horizon
        if self.reply is Tree:
            return f"a tree: {size.branches} branches (different aspects of the request) of {size.steps} steps each"
        return f"a chain: {size.chain_steps} steps in the order in which they would be taken"

    def steps(self, reply: Tree | Chain, round_: int) -> tuple[Step, ...]:
        """Number the steps of a reply. A reply larger than the shape asked for is cut to it."""
        size = self._horizon
        pairs: list[tuple[str | None, str]]
        if isinstance(reply, Tree):
            pairs = [(b.theme, text) for b in reply.branches[: size.branches] for text in b.steps[: size.steps]]
        else:
            pairs = [(None, text) for text in reply.steps[: size.chain_steps]]
        return tuple(
            Step(sid=f"s{round_}.{number}", text=text, theme=theme, round=round_)
            for number, (theme, text) in enumerate(pairs, start=1)
        )


async def augment(run: Run, query: str, known: Sequence[ScoredFact]) -> str:
    """q_A = LLM(P_A(q, phi(q; K_o, tau_o))): disambiguate with near-certain context only."""
    inputs = {"query": query, "date": day_in_words(run.at), "facts": fact_lines(known)}
    return (await run.ask("augment", Augmented, inputs)).query


async def simulate(run: Run, query: str, shape: Shape) -> tuple[Step, ...]:
    """S_0 = LLM(P_sim(q_A)): imagine what the request leads to."""
    inputs = {"query": query, "date": day_in_words(run.at), "shape": shape.instruction}
    return shape.steps(await run.ask("simulate", shape.reply, inputs), run.round)


async def refine(
    run: Run, query: str, facts: Sequence[ScoredFact], previous: Sequence[Step], shape: Shape
) -> tuple[Step, ...]:
    """S_i = LLM(P_ref(q_A, R, S_{i-1})): imagine again, now knowing what was found."""
    inputs = {
        "query": query,
        "date": day_in_words(run.at),
        "shape": shape.instruction,
        "facts": fact_lines(facts),
        "steps": step_lines(previous),
    }
    return shape.steps(await run.ask("refine", shape.reply, inputs), run.round)


async def summarise(run: Run, query: str, facts: Sequence[ScoredFact], steps: Sequence[Step]) -> str:
    """The prospection summary: what the imagined future and the facts together ask of the answer."""
    inputs = {"query": query, "date": day_in_words(run.at), "facts": fact_lines(facts), "steps": step_lines(steps)}
    return await run.ask("summarise", str, inputs)


def step_lines(steps: Sequence[Step]) -> str:
    """Return the steps as a list for a prompt, under their themes."""
    lines: list[str] = []
    theme: str | None = None
    for step in steps:
        if step.theme is not None and step.theme != theme:
            lines.append(f"{step.theme}:")
            theme = step.theme
        lines.append(f"- {step.text}")
    return "\n".join(lines)
