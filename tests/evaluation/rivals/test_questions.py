"""How rivals ask, and every rival once over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest

from loopback import Loopback
from prospection.errors import ConfigError, EndpointError, UnknownNameError
from prospection.evaluation.rivals import RIVALS, build_rival
from prospection.evaluation.rivals.indexes import Prepared
from prospection.evaluation.rivals.questions import Questions
from prospection.models.chat import PydanticAIChat
from prospection.models.open import build_model
from prospection.protocols import FactStore
from prospection.store.sqlite import SQLiteStore
from prospection.types import Usage
from remembered import Script, WordEmbedder
from rivalry import ask, remember

pytestmark = pytest.mark.anyio

TREE = {"summary": "x", "query": "q"}


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


async def test_the_first_failure_is_raised_as_itself() -> None:
    down = EndpointError("down", usage=Usage(calls=3, failed_calls=3))
    questions = Questions(Script(rival_tacitree_judge=[down]), about="a", at_once=1)
    with pytest.raises(EndpointError, match="down"):
        await questions.ask_all("rival_tacitree_judge", str, [("1", TREE), ("2", TREE)])
    assert questions.usage.failed_calls == 3


async def test_replies_come_in_the_order_of_the_questions() -> None:
    questions = Questions(Script(rival_tacitree_judge=["one", "two"]), about="a", at_once=1)
    assert await questions.ask_all("rival_tacitree_judge", str, [("1", TREE), ("2", TREE)]) == ["one", "two"]
    assert await questions.ask_all("rival_tacitree_judge", str, []) == []
    assert questions.usage == Usage(calls=2, tokens_in=20, tokens_out=10)


@pytest.mark.parametrize("name", RIVALS)
async def test_every_rival_over_http_is_built_once(name: str, server: Loopback) -> None:
    async with await SQLiteStore.open(":memory:", encoder=(WordEmbedder.id, WordEmbedder.dims)) as store:
        await remember(store, *(f"fact number {n} about topic{n % 3} topic{n % 3}" for n in range(20)))
        chat = PydanticAIChat(build_model("tiny", server.url), name="tiny", backoff=0.001)
        system = build_rival(name, store=store, embedder=WordEmbedder(), model=chat)
        built = await system.prepare("ada") if isinstance(system, Prepared) else Usage()
        found = await system.retrieve(ask("what about topic1?"))
        again = await system.retrieve(ask("what about topic1?"))
        assert again == replace(found, usage=again.usage)
        assert len(server.chats) == built.calls + 2 * found.llm_calls


def test_a_rivals_keys_are_checked_by_name_and_kind() -> None:
    def build(name: str, **keys: object) -> object:
        store, model = cast("FactStore", None), Script()
        return build_rival(name, store=store, embedder=WordEmbedder(), model=model, parameters=keys)

    assert build("tacitree", reduction="umap")
    with pytest.raises(UnknownNameError, match="key of rival 'mem0g': 'limits'; did you mean 'limit'"):
        build("mem0g", limits=3)
    with pytest.raises(ConfigError, match="reduction = 'tsne' of rival 'tacitree'"):
        build("tacitree", reduction="tsne")


def test_a_rival_that_needs_a_model_says_so() -> None:
    with pytest.raises(ConfigError, match="'tacitree' needs a language model"):
        build_rival("tacitree", store=cast("FactStore", None), embedder=WordEmbedder(), model=None)
    with pytest.raises(UnknownNameError, match="did you mean 'mem0g'"):
        build_rival("mem0", store=cast("FactStore", None), embedder=WordEmbedder(), model=None)
