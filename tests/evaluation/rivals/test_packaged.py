"""The rivals' own packages, for real, against the loopback server.

They are skipped where their environments are not installed, which takes 245, 225 and 1,300 MB:
`./dev test-rivals` installs them. PROSPECTION_EVALUATION__RIVALS names another folder of environments.
"""

from __future__ import annotations

import os
import sys
import venv
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from loopback import Chat, Loopback
from openai_protocol import Json, Reply, smallest
from prospection.errors import ConfigError, EndpointError, UnknownNameError
from prospection.evaluation.rivals.packaged.environment import PACKAGED, python_of
from prospection.evaluation.rivals.packaged.process import RivalEndpoint, RivalProcess
from prospection.evaluation.rivals.packaged.system import PackagedRival
from prospection.store.sqlite import SQLiteStore
from remembered import WordEmbedder
from rivalry import ask, remember

pytestmark = pytest.mark.anyio

NOWHERE = RivalEndpoint(base_url="http://127.0.0.1:9/v1", api_key="none", chat="tiny", embedding="tiny", dims=64)

INDEX = {"mem0-1": "*/history.db", "mem0-2": "*/history.db", "graphrag-3": "*/output"}
"""What stands in an index, from the folder of its system."""

FACTS = (
    "Ada's mother has dialysis on Mondays in Bergamo.",
    "Ada keeps bees in three hives.",
    "Ada's passport ran out.",
)


@pytest.fixture
async def store() -> AsyncIterator[SQLiteStore]:
    async with await SQLiteStore.open(":memory:", encoder=(WordEmbedder.id, WordEmbedder.dims)) as opened:
        await remember(opened, *FACTS)
        yield opened


def played(chat: Chat) -> Reply | Json | str:
    """Play a language model for Mem0 and GraphRAG: answer what each of their prompts asks for, shortly."""
    text = chat.system + chat.user
    tools = [tool["function"]["name"] for tool in chat.body.get("tools") or []]
    if tools:
        name = tools[0]
        if name == "extract_entities":
            return {
                "entities": [{"entity": "ada", "entity_type": "person"}, {"entity": "bees", "entity_type": "animal"}]
            }
        return {"entities": [{"source": "ada", "relationship": "keeps", "destination": "bees"}]}
    if "<|>" in text:  # GraphRAG's extraction
        return (
            '("entity"<|>ADA<|>PERSON<|>Ada keeps bees)##("entity"<|>BERGAMO<|>GEO<|>Where the mother is)##'
            '("relationship"<|>ADA<|>BERGAMO<|>Her mother is there<|>7)<|COMPLETE|>'
        )
    if chat.schema is not None:
        found = smallest(chat.schema, chat.schema)
        assert isinstance(found, dict)
        return found
    said = next((fact for fact in FACTS if fact in chat.user), FACTS[0])
    if "ADD" in text and "additive" not in text.lower() and '"memory"' in text and "event" in text:
        return {"memory": [{"id": "0", "text": said, "event": "ADD"}]}
    if '"facts"' in text:
        return {"facts": [said]}
    return {"memory": [{"id": "0", "text": said}]}


@pytest.mark.parametrize(("name", "building", "searching"), [("mem0-1", 15, 1), ("mem0-2", 3, 0), ("graphrag-3", 7, 0)])
async def test_a_package_is_built_once_and_searched(
    name: str, building: int, searching: int, store: SQLiteStore, tmp_path: Path
) -> None:
    root = os.environ.get("PROSPECTION_EVALUATION__RIVALS")
    try:
        python = python_of(name, Path(root) if root else None)
    except ConfigError as error:
        pytest.skip(str(error))
    with Loopback(played) as server:
        endpoint = replace(NOWHERE, base_url=server.url, dims=server.dims)
        async with RivalProcess(name, python, endpoint=endpoint, folder=tmp_path / name) as process:
            rival = PackagedRival(name, package=process, store=store, folder=tmp_path / name)
            built = await rival.prepare("ada")
            assert built.calls == building  # docs/rivals.md has these counts
            assert built.tokens_in > built.tokens_out > 0
            found = await rival.retrieve(ask("When is mother's dialysis?"))
        assert found.llm_calls == searching
        assert set(found.fids) <= {"f1", "f2", "f3"}
        assert found.fids
        assert found.context is not None
        assert "Ada" in found.context
        assert len(server.chats) == built.calls + searching

        # Another process searches the index that this one left.
        (folder,) = (file.parent for file in (tmp_path / name).glob(INDEX[name]))
        asked = ask("When is mother's dialysis?").text
        request = {"op": "search", "folder": str(folder), "user": "ada", "query": asked, "limit": 10}
        async with RivalProcess(name, python, endpoint=endpoint, folder=tmp_path / name) as process:
            assert (await process.ask(request))["ids"]


async def test_a_package_that_dies_says_where_its_log_is(tmp_path: Path) -> None:
    async with RivalProcess("unknown", Path(sys.executable), endpoint=NOWHERE, folder=tmp_path) as process:
        with pytest.raises(EndpointError, match=r"'unknown' failed: KeyError.*log\.txt"):
            await process.ask({"op": "build"})
    false = Path("/bin/false")
    async with RivalProcess("mem0-1", false, endpoint=NOWHERE, folder=tmp_path) as process:
        with pytest.raises(EndpointError, match="ended without an answer"):
            await process.ask({"op": "build"})


def test_what_is_not_installed_says_how_it_is(tmp_path: Path) -> None:
    for name, package in PACKAGED.items():
        with pytest.raises(ConfigError, match=f"eval rivals install {name} .about {package.size} MB"):
            python_of(name, tmp_path)
    venv.create(tmp_path / "mem0-1")  # what an interrupted installation leaves
    with pytest.raises(ConfigError, match="no environment yet"):
        python_of("mem0-1", tmp_path)
    with pytest.raises(UnknownNameError, match="did you mean 'mem0-1'"):
        python_of("mem0-11", tmp_path)
