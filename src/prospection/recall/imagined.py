"""The stages of the one-call control arms: made-up facts (`hyde`), and the request in other words (`rewrite`).

Each function renders a prompt, asks, and returns texts to search with; while the model is still writing, what it has
written is searched with already.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from prospection.models.reply import Line
from prospection.recall.asking import Partial
from prospection.recall.context import day_in_words
from prospection.recall.run import Run
from prospection.types import ProbeKind

__all__ = ["hypothetical_facts", "rewrites"]


class MadeUpFacts(BaseModel):
    """Facts about the person that would help, if they were true."""

    facts: list[Line] = Field(min_length=1, description='Statements about the person, as "User ..."')


class Rewrites(BaseModel):
    """The request in other words, and the questions within it."""

    queries: list[Line] = Field(min_length=1, description="Searches, one line each")


async def hypothetical_facts(run: Run, query: str, *, count: int, depth: int) -> tuple[str, ...]:
    """Make up facts that would answer the request; a longer reply is cut to `count`."""
    early = _searching(run, "facts", "imagined_fact", count, depth)
    reply = await run.ask("hyde", MadeUpFacts, _inputs(run, query, count), partial=early)
    return tuple(reply.facts[:count])


async def rewrites(run: Run, query: str, *, count: int, depth: int) -> tuple[str, ...]:
    """Put the request in other words; a longer reply is cut to `count`."""
    early = _searching(run, "queries", "rewrite", count, depth)
    reply = await run.ask("rewrite", Rewrites, _inputs(run, query, count), partial=early)
    return tuple(reply.queries[:count])


def _inputs(run: Run, query: str, count: int) -> dict[str, str]:
    return {"query": query, "date": day_in_words(run.at), "count": str(count)}


def _searching(run: Run, field: str, kind: ProbeKind, count: int, depth: int) -> Partial:
    async def partial(data: Mapping[str, Any]) -> None:
        written = data.get(field)
        texts = [text.strip() for text in written if isinstance(text, str)] if isinstance(written, list) else []
        await run.search_early([(text, kind, "facts", None) for text in texts[:count] if text], k=depth)

    return partial
