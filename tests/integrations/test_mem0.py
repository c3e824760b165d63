"""mem0 over a local Qdrant in a folder; embeddings and language model are the loopback server's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contracts.retriever_contract import NOTES, RetrieverContract, probe
from loopback import Loopback
from prospection.errors import InputError
from prospection.integrations import as_retriever
from prospection.integrations.mem0 import retriever as over_mem0
from prospection.protocols import Retriever

if TYPE_CHECKING:
    from mem0 import Memory

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder = tmp_path_factory.mktemp("mem0")
    with pytest.MonkeyPatch.context() as environment, Loopback() as server:
        environment.setenv("MEM0_TELEMETRY", "False")
        environment.setenv("MEM0_DIR", str(folder))  # it makes a folder at home when it is imported, otherwise
        from mem0 import Memory

        opened = Memory.from_config(configuration(server.url, folder))
        for text in NOTES.values():
            opened.add(text, user_id="ada", infer=False)
        opened.add("User's passport", user_id="bob", infer=False)
        yield opened
        opened.close()


def configuration(url: str, folder: Path) -> dict[str, Any]:
    endpoint = {"openai_base_url": url, "api_key": "none", "model": "loopback"}
    store = {"path": str(folder / "qdrant"), "embedding_model_dims": 64, "on_disk": True}
    return {
        "vector_store": {"provider": "qdrant", "config": store},
        "embedder": {"provider": "openai", "config": endpoint | {"embedding_dims": 64}},
        "llm": {"provider": "openai", "config": endpoint},
        "history_db_path": str(folder / "history.db"),
    }


class TestContract(RetrieverContract):
    honours_k = False  # mem0 leaves out what has a negative cosine

    @pytest.fixture
    def retriever(self, memory: Memory) -> Retriever:
        return over_mem0(memory, user="ada")


@pytest.mark.anyio
async def test_dates_ids_and_whose_memories(memory: Memory) -> None:
    (hits,) = await over_mem0(memory, filters={"user_id": "ada"}).retrieve([probe("User's passport")], k=9)
    held = {item["id"]: item["memory"] for item in memory.get_all(filters={"user_id": "ada"})["results"]}
    assert {hit.fact.fid: hit.fact.info for hit in hits}.items() <= held.items()
    assert hits[0].fact.info == NOTES["n2"]
    assert hits[0].fact.said_at is not None


def test_it_has_to_be_said_whose(memory: Memory) -> None:
    with pytest.raises(InputError, match="say whose"):
        over_mem0(memory)
    with pytest.raises(InputError, match="user='ada'"):
        as_retriever(memory)
