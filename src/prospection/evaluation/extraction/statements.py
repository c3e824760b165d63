"""From conversations to statements, by the extractor that is to be measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from prospection.errors import ModelError
from prospection.evaluation.extraction.asking import ask_all
from prospection.protocols import ChatModel, Progress
from prospection.remember.extraction import extract_by_model
from prospection.remember.rules import extract_by_rules
from prospection.types import Candidate, Session

__all__ = ["Extracted", "by_model", "by_rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What an extractor made of a person's conversations.

    Attributes:
        statements: (session id, statement), in the order of sessions.
        failed: Why a session gave nothing although it was asked about, a sentence each.
    """

    statements: tuple[tuple[str, Candidate], ...]
    failed: tuple[str, ...] = ()


def by_rules(sessions: Sequence[Session]) -> Extracted:
    """Extract without a model."""
    return Extracted(
        statements=tuple(
            (session.id, candidate) for session in sessions for candidate in extract_by_rules(session, session.messages)
        )
    )


async def by_model(
    sessions: Sequence[Session], model: ChatModel, *, max_tokens: int, progress: Progress | None = None
) -> Extracted:
    """Extract as `remember` does with a model, but without cues, which no figure depends on.

    Raises:
        CredentialError, BudgetExceededError, ConfigError: No further call can succeed.
    """

    async def extract(session: Session) -> list[Candidate]:
        return await extract_by_model(session, session.messages, 0, model=model, max_tokens=max_tokens, cues=0)

    replies = await ask_all(sessions, extract, progress=progress)
    statements: list[tuple[str, Candidate]] = []
    failed: list[str] = []
    for session, reply in zip(sessions, replies, strict=True):
        if isinstance(reply, ModelError):
            failed.append(f"{session.id}: {reply}")
        else:
            statements += ((session.id, candidate) for candidate in reply)
    return Extracted(statements=tuple(statements), failed=tuple(failed))
