"""A rival's own package as a system: M in, what the package retrieves out.

The package runs with its own prompts, its own store and the embeddings of its endpoint; only the facts are shared. What
it retrieves is traced back to facts: Mem0 by the metadata of its memories, GraphRAG by its text units. Relations and
reports cannot be traced back; they are in the context and not in the ranking.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.metrics import BUDGETS
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.rivals.packaged.process import RivalProcess
from prospection.evaluation.rivals.shared import read_memory
from prospection.protocols import FactStore
from prospection.types import Usage

__all__ = ["PackagedRival", "RivalEndpoint"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalEndpoint:
    """The OpenAI-compatible endpoint that a package works with.

    Attributes:
        base_url: Serves chat completions and embeddings.
        chat: Name of the language model there.
        embedding: Name of the encoder there.
        dims: Width of its vectors.
    """

    base_url: str
    api_key: str
    chat: str
    embedding: str
    dims: int


class PackagedRival:
    """A package over the evaluated store. Indexes stay in the folder and are used again for the same facts."""

    def __init__(
        self, name: str, *, process: RivalProcess, store: FactStore, endpoint: RivalEndpoint, folder: Path
    ) -> None:
        """Build nothing yet.

        Args:
            process: Started; the caller ends it.
            folder: For indexes.
        """
        self._name, self._process, self._store, self._endpoint = name, process, store, endpoint
        self._folder = folder
        self._opened = False
        self._built: dict[str, tuple[Path, Usage]] = {}
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
            "folder": str(folder),
            "user": query.user,
            "query": query.text,
            "limit": max(BUDGETS),
        }
        reply = await self._process.ask(request)
        return Retrieved(
            fids=tuple(dict.fromkeys(reply["ids"])),
            llm_calls=reply["calls"],
            usage=_usage(reply["calls"]),
            context=reply["context"],
        )

    async def _ready(self, user: str) -> tuple[Path, Usage]:
        async with self._locks[user]:
            if user not in self._built:
                if not self._opened:
                    await self._process.ask({"op": "open", "endpoint": asdict(self._endpoint)})
                    self._opened = True
                self._built[user] = await self._build(user)
            return self._built[user]

    async def _build(self, user: str) -> tuple[Path, Usage]:
        memory = await read_memory(self._store, user)
        facts = [
            {"id": fact.fid, "text": fact.info, "at": fact.said_at.isoformat() if fact.said_at else ""}
            for fact in memory.facts
        ]
        made_of = [self._name, self._endpoint.chat, self._endpoint.embedding, user, facts]
        digest = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:16]
        folder = self._folder / self._name / digest
        done = anyio.Path(f"{folder}.json")
        if await done.exists():
            return folder, _usage(json.loads(await done.read_text())["calls"])
        reply = await self._process.ask({"op": "build", "folder": str(folder), "user": user, "facts": facts})
        await done.write_text(json.dumps({"user": user, "facts": len(facts), "calls": reply["calls"]}))
        return folder, _usage(reply["calls"])


def _usage(calls: int) -> Usage:
    """Only calls are known of a package; what they cost is not, unless there were none."""
    return Usage(calls=calls, cost=None if calls else 0.0)
