"""A plain function is a memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import anyio
import pytest

from contracts.retriever_contract import NOTES, RetrieverContract, probe
from prospection.errors import InputError
from prospection.integrations import FunctionRetriever
from prospection.integrations.found import Found
from prospection.integrations.function import search_each
from prospection.protocols import Retriever
from remembered import WordMemory

pytestmark = pytest.mark.anyio


def search(texts: list[str], k: int) -> list[list[tuple[str, str, float]]]:
    memory = WordMemory(*NOTES.values())
    return [
        [(hit.fact.fid, hit.fact.info, hit.similarity) for hit in memory._hits(probe(text), k, -1.0)] for text in texts
    ]


class TestPlain(RetrieverContract):
    @pytest.fixture
    def retriever(self) -> Retriever:
        return FunctionRetriever(search)


class TestAsync(RetrieverContract):
    @pytest.fixture
    def retriever(self) -> Retriever:
        async def asked(texts: list[str], k: int) -> list[list[tuple[str, str, float]]]:
            return search(texts, k)

        return FunctionRetriever(asked)


async def test_all_texts_go_in_one_call_each_once_and_off_the_loop() -> None:
    calls: list[tuple[list[str], int, bool]] = []

    def noted(texts: list[str], k: int) -> list[list[str]]:
        calls.append((texts, k, threading.current_thread() is threading.main_thread()))
        return [[] for _ in texts]

    retriever = FunctionRetriever(noted, most=50)
    await retriever.retrieve([probe("a"), probe("b"), probe("a"), probe("c", "cues")], k=1000)
    await retriever.retrieve([probe("c", "text")], k=5)
    assert calls == [(["a", "b"], 50, False)]


async def test_an_object_with_an_async_call_is_awaited() -> None:
    class Asked:
        async def __call__(self, texts: list[str], k: int) -> list[list[str]]:
            return [[text] for text in texts]

    ((hit,),) = await FunctionRetriever(Asked()).retrieve([probe("tea")], k=1)
    assert hit.fact.info == "tea"


async def test_a_lambda_over_a_coroutine_is_awaited() -> None:
    async def asked(texts: list[str], k: int) -> list[list[str]]:
        return [[text] for text in texts]

    ((hit,),) = await FunctionRetriever(lambda texts, k: asked(texts, k)).retrieve([probe("tea")], k=1)
    assert hit.fact.info == "tea"


@pytest.mark.parametrize(("came", "said"), [([], "0 lists"), ([[], []], "2 lists"), (None, "None"), ("x", "1 lists")])
async def test_one_list_for_each_text(came: Sequence[Sequence[str]], said: str) -> None:
    with pytest.raises(InputError, match=f"1 texts brought {said}"):
        await FunctionRetriever(lambda texts, k: came).retrieve([probe("tea")], k=1)


async def test_the_functions_own_error_passes_through() -> None:
    def broken(texts: list[str], k: int) -> list[list[str]]:
        raise LookupError("no such index")

    with pytest.raises(LookupError, match="no such index"):
        await FunctionRetriever(broken).retrieve([probe("tea")], k=1)


async def test_searches_one_by_one_are_bounded_and_fail_plainly() -> None:
    running, most = 0, 0

    async def one(text: str) -> list[Found]:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await anyio.sleep(0.001)
        running -= 1
        if text == "7":
            raise LookupError(text)
        return [Found(text=text)]

    texts = [str(number) for number in range(20)]
    found = await search_each(one, texts[:7], at_once=3)
    assert [items[0].text for items in found] == texts[:7]
    assert most == 3
    with pytest.raises(LookupError, match="7"):
        await search_each(one, texts, at_once=3)
