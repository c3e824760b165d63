"""Ceilings: every policy returns the best so far and says why; an answer that cannot be made hands over the recall."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from time import monotonic

import anyio
import pytest

from loopback import Chat, Loopback, Reply, Slow, Status
from prospection import AsyncMemory, Settings
from prospection.config import ModelsSettings, RecallSettings
from prospection.errors import AnswerError, BudgetExceededError, EndpointError
from prospection.recall.policies import policy_names
from prospection.types import Budget
from remembered import WordEmbedder

pytestmark = pytest.mark.anyio

FILLER = tuple(f"User owns a green thing number {number} of which nothing follows at all" for number in range(40))
ASKING = ("foresight", "hyde", "pgr", "rewrite", "scan")
SETTINGS = Settings(
    models=ModelsSettings(retries=0),
    recall=RecallSettings.model_validate(
        {"foresight": {"pool_tokens": 300}, "scan": {"slice_tokens": 300}, "auto": {"patience": 0}}
    ),
)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
async def memory(server: Loopback) -> AsyncIterator[AsyncMemory]:
    opened = AsyncMemory(":memory:", model="tiny", base_url=server.url, encoder=WordEmbedder(), settings=SETTINGS)
    async with opened as memory:
        for info in ("User's passport lapsed in april", *FILLER):
            await memory.add_fact(info, user="ada")
        yield memory


@pytest.mark.parametrize("policy", policy_names())
async def test_without_a_call_left_every_policy_finds_something(memory: AsyncMemory, policy: str) -> None:
    found = await memory.recall("passport", user="ada", policy=policy, budget=Budget(max_calls=0))
    assert found.facts
    assert found.usage.calls == 0
    assert (found.partial is not None) == (policy in ASKING)


@pytest.mark.parametrize("policy", ASKING)
@pytest.mark.parametrize("budget", [Budget(max_tokens=20), Budget(max_calls=1), Budget(max_cost=0.0)])
async def test_at_a_ceiling_the_best_so_far_comes_back(memory: AsyncMemory, policy: str, budget: Budget) -> None:
    found = await memory.recall("passport", user="ada", policy=policy, budget=budget)
    assert found.facts
    assert found.usage.calls <= 1
    if policy not in {"hyde", "rewrite"} or budget.max_calls is None:
        assert found.partial is not None
        assert any(note.startswith("Partial: ") for note in found.trace.notes)


@pytest.mark.parametrize("policy", ASKING)
async def test_a_slow_answer_is_cut_at_the_deadline(memory: AsyncMemory, server: Loopback, policy: str) -> None:
    await memory.recall("passport", user="ada", policy="library")  # loads what is loaded once
    server.handler = lambda _: Slow(30)
    began = monotonic()
    found = await memory.recall("passport", user="ada", policy=policy, budget=Budget(deadline=0.3))
    assert monotonic() - began < 20
    assert found.facts
    assert found.partial is not None
    assert "deadline of 0.3 s" in found.partial
    assert found.usage.failed_calls >= 1


async def test_calls_side_by_side_keep_the_ceiling_together(memory: AsyncMemory, server: Loopback) -> None:
    server.handler = lambda _: Slow(0.05, Reply({"selected": [{"id": "f1", "why": "w"}]}))
    found = await memory.recall("passport", user="ada", policy="scan", budget=Budget(max_calls=2))
    assert len(server.chats) == found.usage.calls == 2
    assert [item.fid for item in found.facts] == ["f1"]
    assert "parts of memory were not read" in (found.partial or "")


@pytest.mark.parametrize("policy", ["foresight", "pgr"])
async def test_a_model_that_fails_midway_leaves_what_was_found(
    memory: AsyncMemory, server: Loopback, policy: str
) -> None:
    first = {
        "query": "passport",
        "branches": [{"theme": "t", "steps": [{"step": "User's passport", "facts": ["User's passport lapsed"]}]}],
    }
    tree = {"branches": [{"theme": "t", "steps": ["User's passport"]}]}
    server.script(*([first] if policy == "foresight" else [{"query": "passport"}, tree]), Status(500))
    found = await memory.recall("passport", user="ada", policy=policy)
    assert "f1" in [item.fid for item in found.facts]
    assert "HTTP 500" in (found.partial or "")


async def test_an_answer_has_a_call_and_a_third_of_the_rest_kept_back(memory: AsyncMemory, server: Loopback) -> None:
    server.handler = lambda chat: Reply("Renew it [f1]." if chat.schema is None else {"queries": ["passport"]})
    answer = await memory.answer("passport", user="ada", policy="rewrite", budget=Budget(max_calls=1))
    assert answer.text == "Renew it [f1]."
    assert answer.usage.calls == 1
    assert answer.recall.partial is not None

    def slow_to_recall(chat: Chat) -> Reply | Slow:
        return Slow(30) if chat.schema is not None else Reply("In time.")

    server.handler = slow_to_recall
    answer = await memory.answer("passport", user="ada", policy="rewrite", budget=Budget(deadline=3.0))
    assert answer.text == "In time."
    assert "deadline of 2 s" in (answer.recall.partial or "")


async def test_an_answer_that_cannot_be_made_hands_over_the_recall(memory: AsyncMemory, server: Loopback) -> None:
    server.handler = lambda chat: Status(500) if chat.schema is None else Reply({"queries": ["passport"]})
    with pytest.raises(AnswerError, match="memory was searched and 20 facts were found") as caught:
        await memory.answer("passport", user="ada", policy="rewrite")
    assert caught.value.recall.facts[0].fid == "f1"
    assert "passport lapsed" in caught.value.recall.context
    assert isinstance(caught.value.__cause__, EndpointError)
    assert caught.value.usage is not None
    assert caught.value.usage.calls == 2
    with pytest.raises(BudgetExceededError):
        await memory.answer("passport", user="ada", budget=Budget(max_calls=0))


async def test_recalls_side_by_side_do_not_mix(memory: AsyncMemory, server: Loopback) -> None:
    server.handler = lambda chat: Reply({"queries": [chat.user.partition("<request>")[2].partition("<")[0].strip()]})
    found: dict[int, str] = {}

    async def ask(number: int) -> None:
        recall = await memory.recall(f"User owns green thing number {number}", user="ada", policy="rewrite", limit=1)
        found[number] = recall.facts[0].info

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(ask, number)
    assert all(f"number {number} " in info for number, info in found.items())
    assert len(found) == 8
