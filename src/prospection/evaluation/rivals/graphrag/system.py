"""GraphRAG as a system: local search over a graph a user. No call before the answer."""

from __future__ import annotations

from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.rivals.graphrag.index import GraphIndex, build_graph
from prospection.evaluation.rivals.graphrag.search import local_context, nearest_entities
from prospection.evaluation.rivals.indexes import Indexes
from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import SharedMemory
from prospection.protocols import ChatModel, Embedder, FactStore
from prospection.types import Usage

__all__ = ["GraphRag"]


class GraphRag:
    """A graph a user, built once."""

    name = "graphrag"

    def __init__(self, *, store: FactStore, embedder: Embedder, model: ChatModel) -> None:
        self._embedder = embedder
        self._indexes = Indexes(self.name, self._build, store, model)

    async def prepare(self, user: str) -> Usage:
        """See `Prepared.prepare`."""
        return await self._indexes.usage(user)

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """See `System.retrieve`."""
        index = await self._indexes.of(query.user)
        (probe,) = await self._embedder.embed([query.text], role="query")
        context = local_context(index, nearest_entities(index, probe))
        return Retrieved(fids=context.fids, context=context.text)

    async def _build(self, memory: SharedMemory, questions: Questions) -> GraphIndex:
        return await build_graph(memory, questions, embedder=self._embedder)
