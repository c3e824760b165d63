"""LlamaIndex: its retrievers as memories, and our memory as its retriever (extra `llamaindex`)."""

from __future__ import annotations

import anyio.to_thread

from prospection.errors import MissingExtraError
from prospection.integrations.bound import BoundMemory, Recalls
from prospection.integrations.found import Found, falling_only, instant
from prospection.integrations.function import FunctionRetriever, search_each
from prospection.types import Recall

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingExtraError("LlamaIndex", "llamaindex") from error

__all__ = ["ProspectionRetriever", "retriever"]


def retriever(memory: BaseRetriever, *, said_at: str | None = None) -> FunctionRetriever:
    """Return a `Retriever` over a LlamaIndex retriever.

    It returns as many nodes as it was made to (`similarity_top_k`), in its order. The score is the node's where scores
    fall along the list, as similarities do; else, and where nodes have none, it is 1 / rank.

    Args:
        said_at: Key of a node's metadata that says when it was said.
    """

    async def ask(texts: list[str], k: int) -> list[list[Found]]:
        return await search_each(lambda text: _nearest(memory, text, said_at), texts)

    return FunctionRetriever(ask)


async def _nearest(memory: BaseRetriever, text: str, said_at: str | None) -> list[Found]:
    if type(memory)._aretrieve is BaseRetriever._aretrieve:  # which would search on the event loop
        nodes = await anyio.to_thread.run_sync(memory.retrieve, text)
    else:
        nodes = await memory.aretrieve(text)
    return falling_only(
        [
            Found(
                id=item.node.node_id,
                text=item.node.get_content(),
                score=item.score,
                said_at=instant(item.node.metadata.get(said_at) if said_at else None),
            )
            for item in nodes
        ]
    )


class ProspectionRetriever(BaseRetriever):
    """A memory as a LlamaIndex retriever.

    Each node is a fact: its text, its id, its score, and `fid`, `date` (ISO 8601 or None) and, where a model selected
    it, `reason` as metadata, best first.
    """

    def __init__(
        self,
        memory: Recalls,
        *,
        user: str | None = None,
        policy: str | None = None,
        limit: int | None = None,
    ) -> None:
        """Fix whose memory it is; see `BoundMemory`."""
        super().__init__()
        self._memory = BoundMemory(memory, user=user, policy=policy, limit=limit)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._memory.recall_now(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(await self._memory.recall(query_bundle.query_str))


def _nodes(recalled: Recall | None) -> list[NodeWithScore]:
    return [
        NodeWithScore(
            node=TextNode(
                id_=item.fid,
                text=item.info,
                metadata={
                    "fid": item.fid,
                    "date": item.fact.said_at.isoformat() if item.fact.said_at else None,
                    "reason": item.reason,
                },
            ),
            score=item.score,
        )
        for item in (recalled.facts if recalled else ())
    ]
