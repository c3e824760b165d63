"""Qdrant, with the local client in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from qdrant_client import AsyncQdrantClient, QdrantClient
from qdrant_client.models import Distance, FieldCondition, Filter, MatchValue, PointStruct, VectorParams

from contracts.retriever_contract import NOTES, RetrieverContract, probe
from openai_protocol import embedding
from prospection.errors import InputError
from prospection.integrations import qdrant
from prospection.protocols import Retriever


def embed(texts: list[str]) -> list[list[float]]:
    return [embedding(text) for text in texts]


def points() -> list[PointStruct]:
    return [
        PointStruct(id=place, vector=embedding(text), payload={"text": text, "user": "ada", "said": 86400 * place})
        for place, text in enumerate(NOTES.values(), start=1)
    ]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[QdrantClient]:
    opened = QdrantClient(path=str(tmp_path))
    yield opened
    opened.close()


def filled(client: QdrantClient, distance: Distance) -> QdrantClient:
    client.create_collection("facts", vectors_config=VectorParams(size=64, distance=distance))
    client.upsert("facts", points())
    return client


class TestContract(RetrieverContract):
    @pytest.fixture(params=[Distance.COSINE, Distance.EUCLID, Distance.MANHATTAN])
    def retriever(self, client: QdrantClient, request: pytest.FixtureRequest) -> Retriever:
        return qdrant.retriever(filled(client, request.param), "facts", embed=embed)


@pytest.mark.anyio
async def test_filter_payload_and_date(client: QdrantClient) -> None:
    filled(client, Distance.COSINE)
    other = PointStruct(id=9, vector=embedding("User's passport"), payload={"text": "User's passport", "user": "bob"})
    wordless = PointStruct(id=10, vector=embedding("User's passport"), payload={"user": "ada"})
    client.upsert("facts", [other, wordless])
    mine = Filter(must=[FieldCondition(key="user", match=MatchValue(value="ada"))])
    (hits,) = await qdrant.retriever(client, "facts", embed=embed, where=mine, said_at="said").retrieve(
        [probe("User's passport")], k=9
    )
    assert [hit.fact.fid for hit in hits if hit.fact.fid in {"9", "10"}] == []
    assert hits[0].fact.info == NOTES["n2"]
    assert hits[0].fact.said_at is not None
    assert hits[0].fact.said_at.isoformat() == "1970-01-03T00:00:00+00:00"


@pytest.mark.anyio
async def test_named_vectors_and_the_async_client() -> None:
    client = AsyncQdrantClient(":memory:")
    sizes = {name: VectorParams(size=64, distance=Distance.COSINE) for name in ("meaning", "sound")}
    await client.create_collection("facts", vectors_config=sizes)
    named = [PointStruct(id=point.id, vector={"meaning": point.vector}, payload=point.payload) for point in points()]
    await client.upsert("facts", named)
    ((hit,),) = await qdrant.retriever(client, "facts", embed=embed, using="meaning").retrieve(
        [probe(NOTES["n3"])], k=1
    )
    assert hit.similarity == pytest.approx(1.0)
    with pytest.raises(InputError, match="has vectors \\['meaning', 'sound'\\]; say which"):
        await qdrant.retriever(client, "facts", embed=embed).retrieve([probe("x")], k=1)
    await client.close()
