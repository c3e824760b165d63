"""LlamaIndex's retrievers as memories, and our memory as its retriever."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from contracts.retriever_contract import NOTES, RetrieverContract, probe
from openai_protocol import embedding
from prospection import AsyncMemory, Memory
from prospection.integrations import as_retriever
from prospection.integrations.llamaindex import ProspectionRetriever
from prospection.integrations.llamaindex import retriever as over_llamaindex
from prospection.protocols import Retriever


class Hashed(BaseEmbedding):
    def _get_query_embedding(self, query: str) -> list[float]:
        return embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return embedding(text)


def filled(folder: Path, k: int) -> BaseRetriever:
    nodes = [TextNode(id_=id_, text=text, metadata={}) for id_, text in NOTES.items()]
    index = VectorStoreIndex(nodes, embed_model=Hashed())
    index.storage_context.persist(str(folder))
    loaded = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(folder)), embed_model=Hashed())
    return loaded.as_retriever(similarity_top_k=k)


class TestContract(RetrieverContract):
    honours_k = False

    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Retriever:
        return as_retriever(filled(tmp_path, 5))


class Plain(BaseRetriever):
    """A retriever without an async half, whose scores are distances."""

    def __init__(self, inner: BaseRetriever) -> None:
        super().__init__()
        self._inner = inner

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._inner.retrieve(query_bundle)
        return [NodeWithScore(node=item.node, score=1.0 - (item.score or 0.0)) for item in found]


class TestPlain(RetrieverContract):
    honours_k = False
    scored = False

    @pytest.fixture
    def retriever(self, tmp_path: Path) -> Retriever:
        return as_retriever(Plain(filled(tmp_path, 5)))


@pytest.mark.anyio
async def test_scores_and_ids_are_the_nodes(tmp_path: Path) -> None:
    (hits,) = await over_llamaindex(filled(tmp_path, 2)).retrieve([probe(NOTES["n2"])], k=9)
    assert len(hits) == 2
    assert hits[0].fact.fid == "n2"
    assert hits[0].similarity == pytest.approx(1.0)


def test_our_memory_as_a_retriever(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        memory.add([{"role": "user", "content": "My mother has dialysis every Monday."}], user="ada")
        (found,) = ProspectionRetriever(memory, user="ada").retrieve("Plan two weeks in Italy")
    assert "dialysis" in found.get_content()
    assert found.node_id == found.metadata["fid"] == "f1"
    assert found.metadata["date"].startswith("20")
    assert isinstance(found.score, float)


@pytest.mark.anyio
async def test_our_memory_as_a_retriever_awaited(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path / "memory.db") as memory:
        await memory.add([{"role": "user", "content": "My mother has dialysis every Monday."}], user="ada")
        (found,) = await ProspectionRetriever(memory, user="ada").aretrieve("Plan two weeks in Italy")
    assert "dialysis" in found.get_content()
