"""Chroma, with a persistent client in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import chromadb
import numpy as np
import pytest
from chromadb.api import ClientAPI
from chromadb.api.models.Collection import Collection
from chromadb.api.types import Documents, EmbeddingFunction, Embeddings
from chromadb.config import Settings

from contracts.retriever_contract import NOTES, RetrieverContract, probe
from openai_protocol import embedding
from prospection.integrations import as_retriever
from prospection.integrations.chroma import retriever as over_chroma
from prospection.protocols import Retriever


def unit(texts: list[str]) -> list[list[float]]:
    rows = np.array([embedding(text) for text in texts])
    return cast("list[list[float]]", (rows / np.linalg.norm(rows, axis=1, keepdims=True)).tolist())


class Hashed(EmbeddingFunction[Documents]):
    def __init__(self) -> None:
        self.batches: list[int] = []

    def __call__(self, input: Documents) -> Embeddings:  # noqa: A002 - the name is Chroma's
        self.batches.append(len(input))
        return [np.array(row, np.float32) for row in unit(input)]

    @staticmethod
    def name() -> str:
        return "hashed"

    def get_config(self) -> dict[str, Any]:
        return {}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> EmbeddingFunction[Documents]:
        return Hashed()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ClientAPI]:
    opened = chromadb.PersistentClient(str(tmp_path), Settings(anonymized_telemetry=False))
    yield opened
    cast("Any", opened).close()  # missing in the interface


def filled(client: ClientAPI, space: str = "cosine", function: Hashed | None = None) -> Collection:
    collection = client.create_collection(
        f"facts-{space}",
        configuration=cast("Any", {"hnsw": {"space": space}}),
        embedding_function=cast("EmbeddingFunction[Any]", function or Hashed()),
    )
    dates: list[Mapping[str, Any]] = [{"user": "ada", "said": f"2025-03-0{n}"} for n in range(1, len(NOTES) + 1)]
    collection.add(ids=list(NOTES), documents=list(NOTES.values()), metadatas=dates)
    return collection


class TestContract(RetrieverContract):
    @pytest.fixture(params=["cosine", "l2", "ip"])
    def retriever(self, client: ClientAPI, request: pytest.FixtureRequest) -> Retriever:
        return as_retriever(filled(client, request.param))


@pytest.mark.anyio
@pytest.mark.parametrize("space", ["cosine", "l2", "ip"])
async def test_scores_are_cosines_of_unit_vectors_in_every_space(client: ClientAPI, space: str) -> None:
    (hits,) = await over_chroma(filled(client, space), embed=unit).retrieve([probe("User's passport")], k=5)
    asked = np.array(unit(["User's passport"])[0])
    cosines = {text: float(asked @ np.array(unit([text])[0])) for text in NOTES.values()}
    assert {hit.fact.info: hit.similarity for hit in hits} == pytest.approx(cosines, abs=1e-5)
    assert hits[0].fact.info == NOTES["n2"]


@pytest.mark.anyio
async def test_all_probes_go_in_one_query_with_filter_and_date(client: ClientAPI) -> None:
    function = Hashed()
    collection = filled(client, function=function)
    collection.add(ids=["other"], documents=["User's passport"], metadatas=[{"user": "bob"}])
    function.batches.clear()
    retriever = over_chroma(collection, where={"user": "ada"}, said_at="said")
    first, second = await retriever.retrieve([probe("User's passport"), probe("dialysis")], k=9)
    assert function.batches == [2]
    assert "other" not in {hit.fact.fid for hit in [*first, *second]}
    assert first[0].fact.said_at is not None
    assert first[0].fact.said_at.isoformat() == "2025-03-02T00:00:00+00:00"
