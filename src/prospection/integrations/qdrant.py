"""Qdrant: a collection as a memory (extra `qdrant`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prospection.errors import InputError, MissingExtraError
from prospection.integrations.found import Found, instant
from prospection.integrations.function import FunctionRetriever, call
from prospection.integrations.vectors import Embed, embed_queries

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient, QdrantClient
    from qdrant_client.models import Filter

__all__ = ["retriever"]


def retriever(
    client: QdrantClient | AsyncQdrantClient,
    collection: str,
    *,
    embed: Embed,
    text: str = "text",
    said_at: str | None = None,
    where: Filter | None = None,
    using: str | None = None,
    most: int = 100,
) -> FunctionRetriever:
    """Return a `Retriever` over a Qdrant collection; all probes go in one batch.

    The score is the cosine or the inner product where the collection measures these. Euclidean distances d become
    1 - d^2 / 2, which is the cosine of unit vectors, and Manhattan distances d become -d.

    Args:
        embed: The encoder of the vectors.
        text: Key of the payload that holds the text. Points without it are left out.
        said_at: Key of the payload that says when it was said.
        where: Qdrant's filter.
        using: Name of the vector, in collections with several.
        most: Points of one probe at most.

    Raises:
        MissingExtraError: qdrant-client is not installed.
    """
    try:
        from qdrant_client.models import QueryRequest
    except ImportError as error:
        raise MissingExtraError("Qdrant", "qdrant") from error

    async def ask(texts: list[str], k: int) -> list[list[Found]]:
        distance = _distance(await call(client.get_collection, collection), collection, using)
        requests = [
            QueryRequest(query=vector, limit=k, filter=where, using=using, with_payload=True)
            for vector in await embed_queries(embed, texts)
        ]
        responses = await call(client.query_batch_points, collection, requests)
        return [
            [
                Found(
                    id=str(point.id),
                    text=point.payload[text],
                    score=_similarity(point.score, distance),
                    said_at=instant(point.payload.get(said_at) if said_at else None),
                )
                for point in response.points
                if point.payload and text in point.payload
            ]
            for response in responses
        ]

    return FunctionRetriever(ask, most=most)


def _distance(information: Any, collection: str, using: str | None) -> str:  # noqa: ANN401 - Qdrant's
    vectors = information.config.params.vectors
    if isinstance(vectors, dict):
        if using not in vectors:
            raise InputError(f"collection {collection!r} has vectors {sorted(vectors)}; say which, using='...'")
        vectors = vectors[using]
    return str(vectors.distance.value)


def _similarity(score: float, distance: str) -> float:
    if distance == "Euclid":
        return 1.0 - score * score / 2.0
    return -score if distance == "Manhattan" else score
