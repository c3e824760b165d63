"""Budgets: what is counted, what is refused, what is cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from contracts.chat_contract import FACTS, REPLIES, ChatContract, plain, structured
from loopback import Loopback, Reply, Slow, Status
from prospection.errors import BudgetExceededError, EndpointError, ReplyError
from prospection.models.chat import PydanticAIChat
from prospection.models.meter import MeteredChat, remaining
from prospection.models.open import build_model
from prospection.models.recorded import RecordedChat, RecordingChat
from prospection.protocols import ChatModel, ChatRequest
from prospection.types import Budget, Usage

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def chat_at(server: Loopback) -> PydanticAIChat:
    return PydanticAIChat(build_model("tiny", server.url), name="tiny", backoff=0.001)


class TestContract(ChatContract):
    @pytest.fixture
    def chat(self, server: Loopback) -> ChatModel:
        server.script(*(Reply(reply) for *_, reply in REPLIES), Status(401))
        return MeteredChat(chat_at(server), Budget(max_calls=10, deadline=60))


async def test_everything_is_counted(server: Loopback) -> None:
    server.script(Reply(FACTS, tokens=(100, 10)), Status(500), Reply("nonsense", tokens=(7, 3)))
    server.script(Reply(FACTS, tokens=(100, 10)), *[Status(500)] * 3)
    meter = MeteredChat(chat_at(server))
    await meter.complete(structured())
    await meter.complete(structured())
    with pytest.raises(EndpointError):
        await meter.complete(structured())
    assert meter.usage.calls == len(server.requests) == 7
    assert meter.usage.failed_calls == 5
    assert (meter.usage.tokens_in, meter.usage.tokens_out) == (207, 23)
    assert meter.usage.cost is None


async def test_the_call_past_the_ceiling_is_not_made(server: Loopback) -> None:
    meter = MeteredChat(chat_at(server), Budget(max_calls=1))
    await meter.complete(plain())
    with pytest.raises(BudgetExceededError, match="1 calls are made and max_calls is 1; raise the ceiling"):
        await meter.complete(plain())
    assert meter.usage.calls == len(server.requests) == 1


async def test_retries_do_not_pass_a_ceiling(server: Loopback) -> None:
    server.script(Status(500), "not what was asked", FACTS)
    meter = MeteredChat(chat_at(server), Budget(max_calls=2))
    with pytest.raises(BudgetExceededError) as caught:
        await meter.complete(structured())
    assert meter.usage.calls == len(server.requests) == 2
    assert meter.usage.failed_calls == 2
    assert caught.value.usage == meter.usage


async def test_a_meter_within_a_meter_keeps_both_ceilings(server: Loopback) -> None:
    server.script(*["nonsense"] * 5)
    outer = MeteredChat(chat_at(server), Budget(max_calls=2))
    inner = MeteredChat(outer, Budget(max_calls=9))
    with pytest.raises(BudgetExceededError):
        await inner.complete(structured())
    assert outer.usage.calls == inner.usage.calls == len(server.requests) == 2


async def test_tokens(server: Loopback) -> None:
    server.script(Reply("ok", tokens=(90, 5)))
    meter = MeteredChat(chat_at(server), Budget(max_tokens=100))
    with pytest.raises(BudgetExceededError, match="0 tokens are used, the next prompt has about 251"):
        await meter.complete(ChatRequest(stage="s", subject="", system="x" * 4, user="y" * 1000, prompt="", reply=str))
    await meter.complete(plain())
    with pytest.raises(
        BudgetExceededError, match="95 tokens are used, the next prompt has about 6, and max_tokens is 100"
    ):
        await meter.complete(ChatRequest(stage="s", subject="", system="x" * 12, user="y" * 12, prompt="", reply=str))
    assert len(server.requests) == 1


async def test_an_unknown_price_cannot_be_kept_under_a_ceiling(server: Loopback) -> None:
    meter = MeteredChat(chat_at(server), Budget(max_cost=0.5))
    await meter.complete(plain())
    with pytest.raises(BudgetExceededError, match=r"the price of 'tiny' is not known, so max_cost 0.5 cannot be kept"):
        await meter.complete(plain())


async def test_the_deadline_cancels_a_call(server: Loopback) -> None:
    server.script(Slow(30))
    meter = MeteredChat(chat_at(server), Budget(deadline=0.5))
    with pytest.raises(BudgetExceededError, match=r"stage 'answer' was cancelled at the deadline of 0\.5 s") as caught:
        await meter.complete(plain())
    assert meter.usage.calls == meter.usage.failed_calls == 1
    assert meter.usage.cost is None
    assert caught.value.usage == meter.usage


async def test_after_the_deadline_nothing_is_called(server: Loopback) -> None:
    now = 5.0
    meter = MeteredChat(chat_at(server), Budget(deadline=10), clock=lambda: now)
    await meter.complete(plain())
    now = 15.0
    with pytest.raises(BudgetExceededError, match="the deadline of 10 s has passed"):
        await meter.complete(plain())
    assert len(server.requests) == 1


async def test_a_cancelled_call_is_counted(server: Loopback) -> None:
    server.script(Slow(30))
    meter = MeteredChat(chat_at(server))
    with anyio.move_on_after(0.3) as scope:
        await meter.complete(plain())
    assert scope.cancelled_caught
    assert meter.usage.calls == meter.usage.failed_calls == 1


async def test_failed_replies_keep_their_type(server: Loopback) -> None:
    server.script(*["nonsense"] * 3)
    meter = MeteredChat(chat_at(server), Budget(max_calls=3))
    with pytest.raises(ReplyError):
        await meter.complete(structured())
    assert meter.usage.failed_calls == 3


async def test_calls_side_by_side_share_the_ceiling(server: Loopback) -> None:
    server.handler = lambda _: Slow(0.05, Reply("ok"))
    meter = MeteredChat(chat_at(server), Budget(max_calls=2))
    refused = 0

    async def ask() -> None:
        nonlocal refused
        try:
            await meter.complete(plain())
        except BudgetExceededError:
            refused += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(ask)
    assert (refused, meter.usage.calls, len(server.requests)) == (3, 2, 2)


async def test_a_stream_is_metered_as_a_call(server: Loopback) -> None:
    server.script(Reply(FACTS, tokens=(100, 10)), Reply(FACTS, pace=10))
    heard: list[str] = []
    meter = MeteredChat(chat_at(server), Budget(max_calls=2, deadline=2.0))
    await meter.stream(structured(), heard.append)
    assert heard
    assert (meter.usage.calls, meter.usage.tokens_in) == (1, 100)
    with pytest.raises(BudgetExceededError, match="was cancelled at the deadline of 2 s"):
        await meter.stream(structured(), heard.append)
    assert (meter.usage.calls, meter.usage.failed_calls) == (2, 1)


async def test_a_model_that_cannot_stream_is_asked_without(server: Loopback, tmp_path: Path) -> None:
    recording = tmp_path / "replies.jsonl"
    recording.write_text('{"stage": "s", "subject": "x", "reply": "said"}\n')
    heard: list[str] = []
    request = ChatRequest(stage="s", subject="x", system="", user="", prompt="", reply=str)
    meter = MeteredChat(RecordingChat(RecordedChat.load(recording), tmp_path / "again.jsonl"))
    assert (await meter.stream(request, heard.append)).value == "said"
    assert heard == []


def test_what_is_left_of_a_budget() -> None:
    spent = Usage(calls=2, tokens_in=30, tokens_out=10, cost=0.25)
    budget = Budget(max_calls=3, max_tokens=20, max_cost=1.0, deadline=2.0)
    assert remaining(budget, spent, 0.5) == Budget(max_calls=1, max_tokens=0, max_cost=0.75, deadline=1.5)
    assert remaining(Budget(), spent, 9) == Budget()
    assert remaining(Budget(max_cost=1.0), Usage(cost=None), 0).max_cost == 0.0
