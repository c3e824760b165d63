"""Which statement says what which gold fact says, by a language model: one call a session.

The model sees numbered facts and numbered statements and no names of extractors. A reply that leaves a statement out,
or names a number that is not there, counts as no judgement at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from pydantic import BaseModel, Field

from prospection.errors import ModelError, ReplyError
from prospection.evaluation.extraction.asking import ask_all
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest, Progress

__all__ = ["Verdict", "judge_sessions"]

STAGE = "extraction_judge"


class _Judged(BaseModel):
    statement: int
    says: list[int] = Field(description="Numbers of the gold facts that the statement says")
    small_talk: bool = Field(description="Nothing in it would be worth remembering for another day")


class _Reply(BaseModel):
    statements: list[_Judged]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One statement, judged: the places of the gold facts that it says, and whether it is small talk."""

    says: frozenset[int]
    small_talk: bool


async def judge_sessions(
    sessions: Sequence[tuple[str, Sequence[str], Sequence[str]]], model: ChatModel, progress: Progress | None = None
) -> list[list[Verdict] | ModelError]:
    """Judge the statements of sessions.

    Args:
        sessions: Of each the id, the gold facts and the statements; without statements nobody is asked.

    Returns:
        For each session the verdicts in the order of its statements, or why there are none.

    Raises:
        CredentialError, BudgetExceededError, ConfigError: No further call can succeed.
    """

    async def judge(session: tuple[str, Sequence[str], Sequence[str]]) -> list[Verdict]:
        name, gold, statements = session
        return await _judge(name, gold, statements, model) if statements else []

    return await ask_all(sessions, judge, progress=progress)


async def _judge(name: str, gold: Sequence[str], statements: Sequence[str], model: ChatModel) -> list[Verdict]:
    prompt = load_prompt(STAGE)
    material = {"gold": _numbered(gold), "statements": _numbered(statements)}
    reply = await model.complete(
        ChatRequest(
            stage=STAGE,
            subject=f"{name}:{sha256(material['statements'].encode()).hexdigest()[:12]}",
            system=prompt.system,
            user=prompt.render(material),
            prompt=prompt.hash,
            reply=_Reply,
        )
    )
    judged = {one.statement: one for one in reply.value.statements}
    says = {number for one in judged.values() for number in one.says}
    if set(judged) != set(range(1, len(statements) + 1)) or not says <= set(range(1, len(gold) + 1)):
        raise ReplyError(
            f"the judge answered for statements {sorted(judged)} with facts {sorted(says)}, where there are "
            f"{len(statements)} statements and {len(gold)} facts; the session is left unjudged",
            raw=reply.value.model_dump_json(),
            usage=reply.usage,
        )
    return [
        Verdict(says=frozenset(number - 1 for number in judged[place].says), small_talk=judged[place].small_talk)
        for place in range(1, len(statements) + 1)
    ]


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, start=1))
