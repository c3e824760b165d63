"""Chroma: a collection as a memory (extra `chroma`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prospection.integrations.found import Found, instant
from prospection.integrations.function import FunctionRetriever, call
from prospection.integrations.vectors import Embed, embed_queries

if TYPE_CHECKING:
    from chromadb.api.models.AsyncCollection import AsyncCollection
    from chromadb.api.models.Collection import Collection

__all__ = ["retriever"]


def retriever(
    collection: Collection | AsyncCollection,
    *,
    embed: Embed | None = None,
    where: Mapping[str, Any] | None = None,
    said_at: str | None = None,
    most: int = 100,
) -> FunctionRetriever:
    """Return a `Retriever` over a Chroma collection; all probes go in one query.

    Chroma returns distances. The score is the cosine where the collection's space is `cosine`; where it is `l2`
    (Chroma's default, squared) it is 1 - d / 2, which is the cosine of unit vectors; where it is `ip`, the inner
    product. Records without a document are not texts and are left out.

    Args:
        embed: The encoder of the vectors; by default the collection's embedding function.
        where: Chroma's metadata filter, for example {"user": "ada"}.
        said_at: Key of a record's metadata that says when it was said.
        most: Records of one probe at most.
    """

    async def ask(texts: list[str], k: int) -> list[list[Found]]:
        sought: dict[str, Any] = (
            {"query_texts": texts} if embed is None else {"query_embeddings": await embed_queries(embed, texts)}
        )
        include = ["documents", "metadatas", "distances"]
        result = await call(
            collection.query, **sought, n_results=k, where=dict(where) if where else None, include=include
        )
        space = _space(collection)
        return [
            [
                Found(id=id_, text=text, score=_similarity(distance, space), said_at=instant((data or {}).get(said_at)))
                for id_, text, data, distance in zip(*columns, strict=True)
                if text is not None
            ]
            for columns in zip(
                result["ids"], result["documents"], result["metadatas"], result["distances"], strict=True
            )
        ]

    return FunctionRetriever(ask, most=most)


def _space(collection: Collection | AsyncCollection) -> str:
    configuration = collection.configuration_json
    index = configuration.get("hnsw") or configuration.get("spann") or {}
    return str(index.get("space") or (collection.metadata or {}).get("hnsw:space") or "l2")


def _similarity(distance: float, space: str) -> float:
    return 1.0 - distance / 2.0 if space == "l2" else 1.0 - distance
