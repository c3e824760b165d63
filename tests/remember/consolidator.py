"""Consolidates a store once, and says when each batch begins; run by a test in a process of its own that is killed."""

from __future__ import annotations

import re
import sys
from typing import Any

import anyio

from prospection.config import RememberSettings
from prospection.models.meter import MeteredChat
from prospection.protocols import ChatReply, ChatRequest
from prospection.remember.consolidation import Consolidating
from prospection.store.sqlite import SQLiteStore
from prospection.types import Consolidation, Usage
from remembered import WordEmbedder

__all__ = ["consolidate"]


class Joiner:
    """Joins the statements of each group."""

    name = "joiner"

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        groups = re.split(r"^Group \d+$", request.user.partition("<groups>")[2], flags=re.MULTILINE)[1:]
        merges = [
            {"group": number, "statement": " and ".join(re.findall(r"^- \(.*?\) (.+)$", group, re.MULTILINE))}
            for number, group in enumerate(groups, start=1)
        ]
        value = request.reply.model_validate({"merges": merges})
        return ChatReply(value=value, usage=Usage(calls=1), model=self.name)


async def consolidate(path: str) -> Consolidation:
    embedder = WordEmbedder()
    async with await SQLiteStore.open(path, encoder=(embedder.id, embedder.dims)) as store:
        work = Consolidating(
            user="ada", store=store, embedder=embedder, model=MeteredChat(Joiner()), settings=RememberSettings()
        )
        return await work.run(progress=lambda done, _: print(done, flush=True))  # noqa: T201


if __name__ == "__main__":
    anyio.run(consolidate, sys.argv[1])
