"""LangChain: its retrievers and vector stores as memories, and our memory as its retriever (extra `langchain`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prospection.errors import MissingExtraError
from prospection.integrations.bound import BoundMemory, Recalls
from prospection.integrations.found import Found, instant
from prospection.integrations.function import AT_ONCE, FunctionRetriever, search_each
from prospection.types import Recall

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
    from pydantic import PrivateAttr
except ImportError as error:
    raise MissingExtraError("LangChain", "langchain") from error

__all__ = ["ProspectionRetriever", "retriever"]


def retriever(
    memory: BaseRetriever | VectorStore,
    *,
    search: Mapping[str, Any] | None = None,
    said_at: str | None = None,
    most: int = 100,
) -> FunctionRetriever:
    """Return a `Retriever` over a LangChain retriever or vector store.

    A retriever returns as many documents as it was made to, in its order and without scores: a score is 1 / rank.
    A vector store's score is its relevance in [0, 1] where the store defines one, the cosine for
    `InMemoryVectorStore`, and else 1 / rank. A document without an id gets one derived from its text.

    Args:
        search: Further arguments for the vector store's search, for example {"filter": ...}.
        said_at: Key of a document's metadata that says when it was said.
        most: Documents of one probe at most.
    """

    async def ask(texts: list[str], k: int) -> list[list[Found]]:
        if isinstance(memory, BaseRetriever):
            lists = await memory.abatch(texts, {"max_concurrency": AT_ONCE})
            return [[_found(document, None, said_at) for document in documents] for documents in lists]
        return await search_each(lambda text: _nearest(memory, text, k, said_at, search or {}), texts)

    return FunctionRetriever(ask, most=most)


async def _nearest(
    store: VectorStore, text: str, k: int, said_at: str | None, search: Mapping[str, Any]
) -> list[Found]:
    similarity = _similarity(store)
    if similarity is None:
        return [_found(document, None, said_at) for document in await store.asimilarity_search(text, k, **search)]
    pairs = await store.asimilarity_search_with_score(text, k, **search)
    return [_found(document, similarity(float(score)), said_at) for document, score in pairs]


def _similarity(store: VectorStore) -> Callable[[float], float] | None:
    """Return what makes a similarity of the store's score; None where nobody says what its score is."""
    if isinstance(store, InMemoryVectorStore):
        return lambda cosine: cosine
    if type(store).similarity_search_with_score is VectorStore.similarity_search_with_score:
        return None
    try:
        return store._select_relevance_score_fn()  # the hook that LangChain's stores override
    except NotImplementedError:
        return None


def _found(document: Document, score: float | None, said_at: str | None) -> Found:
    date = document.metadata.get(said_at) if said_at else None
    return Found(id=document.id, text=document.page_content, score=score, said_at=instant(date))


class ProspectionRetriever(BaseRetriever):
    """A memory as a LangChain retriever.

    Each document is a fact: its text, its id, and `fid`, `date` (ISO 8601 or None), `score` and, where a model
    selected it, `reason` as metadata, best first.
    """

    _memory: BoundMemory = PrivateAttr()

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

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return _documents(self._memory.recall_now(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return _documents(await self._memory.recall(query))


def _documents(recalled: Recall | None) -> list[Document]:
    return [
        Document(
            id=item.fid,
            page_content=item.info,
            metadata={
                "fid": item.fid,
                "date": item.fact.said_at.isoformat() if item.fact.said_at else None,
                "score": item.score,
                "reason": item.reason,
            },
        )
        for item in (recalled.facts if recalled else ())
    ]
