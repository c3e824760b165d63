"""A rival's own package as a system: M in, what the package retrieves out.

The package runs with its own prompts, its own store and the embeddings of its endpoint; only the facts are shared. What
it retrieves is traced back to facts: Mem0 by the metadata of its memories, GraphRAG by its text units. Relations and
reports cannot be traced back; they are in the context and not in the ranking.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import anyio

from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.metrics import BUDGETS
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.rivals.packaged.process import spent
from prospection.evaluation.rivals.shared import read_memory
from prospection.protocols import FactStore
from prospection.types import Usage

__all__ = ["Package", "PackagedRival"]


class Package(Protocol):
    """Whoever answers a package's requests: its process, or a recording of it."""

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """See `RivalProcess.ask`."""
        ...


class PackagedRival:
    """A package over the evaluated store. Its indexes stay in a folder, for the next process."""

    def __init__(self, name: str, *, package: Package, store: FactStore, folder: Path) -> None:
        """Build nothing yet.

        Args:
            folder: For indexes, absolute.
        """
        self._name, self._package, self._store, self._folder = name, package, store, folder
        self._built: dict[str, tuple[str, Usage]] = {}
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    @property
    def name(self) -> str:
        """Name and version of the package."""
        return self._name

    async def prepare(self, user: str) -> Usage:
        """See `Prepared.prepare`."""
        return (await self._ready(user))[1]

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """See `System.retrieve`."""
        folder, _ = await self._ready(query.user)
        request = {
            "op": "search",
            "folder": folder,
            "user": query.user,
            "query": query.text,
            "limit": max(BUDGETS),
        }
        reply = await self._package.ask(request)
        return Retrieved(
            fids=tuple(dict.fromkeys(reply["ids"])),
            llm_calls=reply["calls"],
            usage=spent(reply),
            context=reply["context"],
        )

    async def _ready(self, user: str) -> tuple[str, Usage]:
        async with self._locks[user]:
            if user not in self._built:
                self._built[user] = await self._build(user)
            return self._built[user]

    async def _build(self, user: str) -> tuple[str, Usage]:
        memory = await read_memory(self._store, user)
        facts = [
            {"id": fact.fid, "text": fact.info, "at": fact.said_at.isoformat() if fact.said_at else ""}
            for fact in memory.facts
        ]
        # Data sets may have users of the same name.
        folder = str(self._folder / hashlib.sha256(json.dumps([user, facts]).encode()).hexdigest()[:16])
        reply = await self._package.ask({"op": "build", "folder": folder, "user": user, "facts": facts})
        return folder, spent(reply)
