"""LangChain's retrievers and vector stores as memories, and our memory as its retriever."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from contracts.retriever_contract import NOTES, RetrieverContract, probe
from openai_protocol import embedding
from prospection import AsyncMemory, Memory, Prospector
from prospection.errors import ConfigError, InputError
from prospection.integrations import as_retriever
from prospection.integrations.langchain import ProspectionRetriever
from prospection.integrations.langchain import retriever as over_langchain
from prospection.protocols import Retriever


class Hashed(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [embedding(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return embedding(text)


def filled() -> InMemoryVectorStore:
    store = InMemoryVectorStore(Hashed())
    store.add_documents(
        [
            Document(id=id_, page_content=text, metadata={"said": f"2025-03-0{place}"})
            for place, (id_, text) in enumerate(NOTES.items(), start=1)
        ]
    )
    return store


class TestVectorStore(RetrieverContract):
    @pytest.fixture
    def retriever(self) -> Retriever:
        return as_retriever(filled())


class TestRetriever(RetrieverContract):
    honours_k = False
    scored = False

    @pytest.fixture
    def retriever(self) -> Retriever:
        return as_retriever(filled().as_retriever(search_kwargs={"k": 4}))


class Distances(VectorStore):
    """A store whose scores are distances, as most of LangChain's are."""

    def __init__(self, *, explained: bool) -> None:
        self._inner, self._explained = filled(), explained

    @property
    def embeddings(self) -> Embeddings:
        return self._inner.embedding

    def similarity_search(self, query: str, k: int = 4, **kwargs: object) -> list[Document]:
        return self._inner.similarity_search(query, k)

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: object) -> list[tuple[Document, float]]:
        return [(found, 1.0 - score) for found, score in self._inner.similarity_search_with_score(query, k)]

    def _select_relevance_score_fn(self):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return self._cosine_relevance_score_fn if self._explained else super()._select_relevance_score_fn()

    @classmethod
    def from_texts(cls, *texts: object, **kwargs: object) -> VectorStore:  # type: ignore[override]
        raise NotImplementedError


class TestExplainedDistances(RetrieverContract):
    @pytest.fixture
    def retriever(self) -> Retriever:
        return as_retriever(Distances(explained=True))


class TestDistances(RetrieverContract):
    scored = False

    @pytest.fixture
    def retriever(self) -> Retriever:
        return as_retriever(Distances(explained=False))


@pytest.mark.anyio
async def test_scores_filter_and_date() -> None:
    retriever = over_langchain(
        filled(), search={"filter": lambda document: document.id != "n1"}, said_at="said", most=3
    )
    (hits,) = await retriever.retrieve([probe(NOTES["n2"])], k=9)
    assert len(hits) == 3
    assert "n1" not in {hit.fact.fid for hit in hits}
    assert hits[0].fact.fid == "n2"
    assert hits[0].similarity == pytest.approx(1.0)
    assert hits[0].fact.said_at is not None
    assert hits[0].fact.said_at.isoformat() == "2025-03-02T00:00:00+00:00"


@pytest.fixture
def memory_file(tmp_path: Path) -> Path:
    with Memory(tmp_path / "memory.db") as memory:
        memory.add([{"role": "user", "content": "My mother has dialysis every Monday."}], user="ada")
        memory.add([{"role": "user", "content": "I collect stamps from Peru."}], user="bob")
    return tmp_path / "memory.db"


def test_our_memory_as_a_retriever(memory_file: Path) -> None:
    with Memory(memory_file) as memory:
        retriever: BaseRetriever = ProspectionRetriever(memory, user="ada")
        (document,) = retriever.invoke("Plan two weeks in Italy")
        assert ProspectionRetriever(memory, user="someone new").invoke("Italy") == []
    assert "dialysis" in document.page_content
    assert document.id == document.metadata["fid"] == "f1"
    assert document.metadata["date"].startswith("20")
    assert isinstance(document.metadata["score"], float)


@pytest.mark.anyio
async def test_our_memory_as_a_retriever_awaited(memory_file: Path) -> None:
    async with AsyncMemory(memory_file) as memory:
        retriever = ProspectionRetriever(memory, user="ada", policy="direct", limit=1)
        (document,) = await retriever.ainvoke("Plan two weeks in Italy")
        with pytest.raises(ConfigError, match="has to be awaited; call the framework's async method"):
            retriever.invoke("Plan two weeks in Italy")
    assert "dialysis" in document.page_content


@pytest.mark.anyio
async def test_thinking_ahead_over_their_store_as_their_retriever() -> None:
    retriever = ProspectionRetriever(Prospector(filled()), policy="direct", limit=2)
    documents = await retriever.ainvoke("User's passport")
    assert documents[0].id == "n2"
    assert len(documents) == 2


def test_whose_memory_it_is_has_to_be_said(memory_file: Path) -> None:
    with Memory(memory_file) as memory, pytest.raises(InputError, match="say whose memory"):
        ProspectionRetriever(memory)
    with pytest.raises(InputError, match="one person's memory; leave user out"):
        ProspectionRetriever(Prospector(filled()), user="ada")
