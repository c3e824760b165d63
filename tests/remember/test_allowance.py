"""Ceilings of the day, down to the attempts inside a call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from loopback import Loopback, Slow, Status
from prospection.config import CeilingSettings
from prospection.errors import AllowanceError
from prospection.models.chat import PydanticAIChat
from prospection.models.open import build_model
from prospection.protocols import ChatRequest
from prospection.remember.allowance import Allowance
from prospection.store.sqlite import SQLiteStore
from prospection.types import Usage
from working import NOW, session

pytestmark = pytest.mark.anyio

NOTHING = CeilingSettings()
REQUEST = ChatRequest(stage="extract", subject="s", system="You read.", user="x" * 400, prompt="0", reply=str)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=None) as opened:
        for user in ("ada", "bob"):
            await opened.put_session(user, session("s", "I sing."))
        yield opened


def chat_at(server: Loopback) -> PydanticAIChat:
    return PydanticAIChat(build_model("tiny", server.url), name="tiny", retries=5, backoff=0.001)


async def test_attempts_inside_a_call_are_counted_and_refused(store: SQLiteStore) -> None:
    allowance = Allowance(store, day=NOTHING, user=CeilingSettings(max_calls=2))
    with Loopback(lambda _: Status(503)) as server:
        model = allowance.chat(chat_at(server), "ada", now=NOW)
        with pytest.raises(AllowanceError, match="2 calls are made and max_calls is 2 for user 'ada'") as refused:
            await model.complete(REQUEST)
        assert refused.value.user == "ada"
        assert len(server.chats) == 2
        with pytest.raises(AllowanceError):
            await model.complete(REQUEST)
        assert len(server.chats) == 2
        server.handler = None
        assert (await allowance.chat(chat_at(server), "bob", now=NOW).complete(REQUEST)).value == "ok"
    spent = await store.usage("ada", since=NOW.date())
    assert (spent.calls, spent.failed_calls, spent.cost) == (2, 2, 0.0)


async def test_calls_side_by_side_do_not_pass_a_ceiling(store: SQLiteStore) -> None:
    allowance = Allowance(store, day=CeilingSettings(max_calls=3), user=NOTHING)
    refused = 0

    async def ask(user: str) -> None:
        nonlocal refused
        try:
            await allowance.chat(chat_at(server), user, now=NOW).complete(REQUEST)
        except AllowanceError as error:
            refused += error.user is None

    with Loopback() as server:
        async with anyio.create_task_group() as group:
            for n in range(8):
                group.start_soon(ask, ("ada", "bob")[n % 2])
        assert (len(server.chats), refused) == (3, 5)
    assert (await store.usage(since=NOW.date())).calls == 3


async def test_a_prompt_that_would_pass_the_tokens_is_not_sent(store: SQLiteStore) -> None:
    allowance = Allowance(store, day=NOTHING, user=CeilingSettings(max_tokens=150))
    await store.add_usage("ada", Usage(calls=1, tokens_in=60, cost=0.0), day=NOW.date())
    with Loopback() as server:
        with pytest.raises(AllowanceError, match="60 tokens are used, the next prompt has about 102"):
            await allowance.chat(chat_at(server), "ada", now=NOW).complete(REQUEST)
        assert server.chats == []


async def test_a_cancelled_call_is_written_down_and_leaves_its_place(store: SQLiteStore) -> None:
    allowance = Allowance(store, day=CeilingSettings(max_calls=2), user=NOTHING)
    with Loopback() as server:
        server.script(Slow(30))
        with anyio.move_on_after(0.5):
            await allowance.chat(chat_at(server), "ada", now=NOW).complete(REQUEST)
        assert (await store.usage(since=NOW.date())).calls == 1
        await allowance.chat(chat_at(server), "ada", now=NOW).complete(REQUEST)
