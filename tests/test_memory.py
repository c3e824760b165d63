"""The facade: what `AsyncMemory` wires together, and what it refuses at the door."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prospection import AsyncMemory, Budget, Message, ProspectionError, Settings
from prospection.errors import (
    BudgetExceededError,
    ConfigError,
    ConversationError,
    EndpointError,
    InputError,
    NaiveTimeError,
    UnknownNameError,
    UnknownUserError,
)
from prospection.protocols import ChatModel
from prospection.store.sqlite import SQLiteStore
from prospection.types import Failed, Nothing, Queued, SessionState, Stored
from remembered import Script, WordEmbedder

pytestmark = pytest.mark.anyio

AT = datetime(2025, 3, 1, 9, tzinfo=UTC)
LATER = datetime(2025, 6, 1, 9, tzinfo=UTC)
SAID = [
    {"role": "user", "content": "My mother has dialysis every Monday and Wednesday morning."},
    {"role": "assistant", "content": "I see."},
    {"role": "user", "content": "I had surgery on my shoulder and can't lift anything heavy until June."},
]


def over(path: Path, model: str | ChatModel | None = None, *, policy: str | None = None) -> AsyncMemory:
    return AsyncMemory(path / "memory.db", model=model, policy=policy, encoder=WordEmbedder(), settings=Settings())


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[AsyncMemory]:
    """Ada's two messages, remembered by rules, words for vectors."""
    async with over(tmp_path) as opened:
        await opened.add(SAID, user="ada", session="march", at=AT)
        yield opened


async def test_nothing_happens_before_the_first_call(tmp_path: Path) -> None:
    async with over(tmp_path):
        assert list(tmp_path.iterdir()) == []


async def test_every_outcome_has_its_type(tmp_path: Path) -> None:
    async with over(tmp_path) as memory:
        assert await memory.add(SAID, user="ada", session="s", at=AT, wait=False) == Queued(session="s")
        (stored,) = await memory.retry(user="ada")
        assert isinstance(stored, Stored)
        assert [fact.fid for fact in stored.facts] == ["f1", "f2"]
        assert isinstance(await memory.add(SAID, user="ada", session="s", at=AT), Nothing)
        assert await memory.retry(user="ada") == []
    down = Script(extract=[EndpointError("down"), {"facts": []}])
    async with over(tmp_path, down) as memory:
        failed = await memory.add([Message(role="user", content="I moved to Turin.")], user="ada", session="t", at=AT)
        assert isinstance(failed, Failed)
        (record,) = await memory.sessions(user="ada", states=frozenset({SessionState.FAILED}))
        assert (record.session.messages[0].content, record.reason) == ("I moved to Turin.", "down")
        assert isinstance((await memory.retry(user="ada"))[0], Nothing)


async def test_a_session_that_grows_is_extracted_from_where_it_ended(memory: AsyncMemory) -> None:
    more = [*SAID, {"role": "user", "content": "My sister Carla lives in Bologna since last year."}]
    grown = await memory.add(more, user="ada", session="march", at=AT)
    assert isinstance(grown, Stored)
    assert [fact.fid for fact in grown.facts] == ["f3"]


async def test_recall_without_a_model(memory: AsyncMemory) -> None:
    found = await memory.recall("Plan two weeks in Italy", user="ada", at=LATER)
    assert {item.fid for item in found.facts} == {"f1", "f2"}
    assert (found.trace.policy, found.usage.calls, found.summary, found.partial) == ("library", 0, None, None)
    assert "[f1] (2025-03-01) My mother has dialysis" in found.context
    assert await memory.trace(found.trace.id, user="ada") == found.trace
    assert await memory.trace(user="ada") == found.trace
    assert await memory.traces(user="ada") == [found.trace]


async def test_memory_as_it_stood_then(memory: AsyncMemory) -> None:
    assert (await memory.recall("x", user="ada", at=datetime(2025, 1, 1, tzinfo=UTC))).facts == ()


async def test_who_says_which_policy(tmp_path: Path, memory: AsyncMemory) -> None:
    async with over(tmp_path, policy="direct") as direct:
        assert (await direct.recall("x", user="ada")).trace.policy == "direct"
        assert (await direct.recall("x", user="ada", policy="lexical")).trace.policy == "lexical"
    assert len((await memory.recall("my mother", user="ada", policy="direct", limit=1)).facts) == 1


async def test_traces_can_be_left_out(tmp_path: Path, memory: AsyncMemory) -> None:
    settings = Settings(recall={"traces": False})
    async with AsyncMemory(tmp_path / "memory.db", encoder=WordEmbedder(), settings=settings) as quiet:
        await quiet.recall("x", user="ada")
        assert await quiet.traces(user="ada") == []


async def test_a_trace_that_cannot_be_kept_does_not_cost_the_recall(tmp_path: Path, memory: AsyncMemory) -> None:
    embedder = WordEmbedder()
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(embedder.id, embedder.dims)) as store:
        # SQLite refuses to write as it does to a read-only file, which root may write to.
        store._database._writer.execute("PRAGMA query_only = ON")
        locked = AsyncMemory(store=store, encoder=embedder, settings=Settings())
        found = await locked.recall("Plan two weeks in Italy", user="ada")
        assert {item.fid for item in found.facts} == {"f1", "f2"}
        (note,) = found.trace.notes
        assert "trace of this recall was not kept: " in note
        assert "make the file and its folder writable" in note
        assert await locked.traces(user="ada") == []


async def test_an_answer_stands_on_what_was_recalled(tmp_path: Path, memory: AsyncMemory) -> None:
    select = {"selected": [{"id": "f1", "why": "Mornings are taken."}], "outlook": "Mind the mornings."}
    model = Script(select=[select], answer=["Travel in the afternoon [f1], not [f9]."])
    async with over(tmp_path, model) as asked:
        answer = await asked.answer("Plan two weeks in Italy", user="ada", at=LATER)
    assert (answer.text, answer.citations) == ("Travel in the afternoon [f1], not [f9].", ("f1",))
    assert answer.recall.facts[0].reason == "Mornings are taken."
    assert answer.usage.calls == 2
    assert "Mind the mornings." in model.requests[-1].user


async def test_one_call_is_kept_back_for_the_answer(tmp_path: Path, memory: AsyncMemory) -> None:
    model = Script(answer=["Go [f1]."])
    async with over(tmp_path, model) as asked:
        answer = await asked.answer("Plan two weeks in Italy", user="ada", budget=Budget(max_calls=1))
        assert model.stages == ["answer"]
        assert "max_calls is 0" in (answer.recall.partial or "")
        with pytest.raises(BudgetExceededError, match="an answer takes a call"):
            await asked.answer("Plan two weeks in Italy", user="ada", budget=Budget(max_calls=0))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda m: m.add(SAID, user="ada", at=datetime(2025, 3, 1)), NaiveTimeError, "has no zone"),  # noqa: DTZ001
        (lambda m: m.recall("x", user="ada", at=datetime(2025, 3, 1)), NaiveTimeError, "has no zone"),  # noqa: DTZ001
        (lambda m: m.add(SAID, user="ada", at=AT, zone="Swiss"), UnknownNameError, "time zone 'Swiss'"),
        (lambda m: m.add(SAID, user="ada", at=AT, zone=UTC), InputError, "the time zone is .*; pass its IANA name"),
        (lambda m: m.add([], user="ada"), ConversationError, "the conversation is empty"),
        (lambda m: m.add("hello", user="ada"), ConversationError, "a conversation is a list of messages"),
        (lambda m: m.add([{"role": "user"}], user="ada"), ConversationError, "has no 'content'"),
        (lambda m: m.add(SAID, user=" "), InputError, "user ' ' is empty"),
        (lambda m: m.add(SAID, user="ada\neve"), InputError, r"user 'ada\\neve' holds the control character '\\n'"),
        (lambda m: m.forget(user="ada\x1b[2J"), InputError, r"holds the control character '\\x1b'; pass a name on one"),
        (lambda m: m.facts(user="ada\u2028"), InputError, "holds the control character"),
        (lambda m: m.facts(user="ada", limit=-5), InputError, "the limit is -5; pass a whole number from 1 on"),
        (lambda m: m.sessions(user="ada", limit=0), InputError, "the limit is 0"),
        (lambda m: m.users(limit=2.5), InputError, "the limit is 2.5"),
        (lambda m: m.traces(user="ada", limit="5"), InputError, "the limit is '5'"),
        (lambda m: m.dump(user="ada", limit=-1), InputError, "the limit is -1"),
        (lambda m: m.recall("  ", user="ada"), InputError, "the query is empty"),
        (lambda m: m.add(SAID, user=7), InputError, "the user is 7; pass it as text"),
        (lambda m: m.add(SAID, user="ada", session=7), InputError, "the session's id is 7; pass it as text"),
        (lambda m: m.add(SAID, user="ada", at="2025-03-01"), InputError, "at is '2025-03-01'; pass an aware datetime"),
        (lambda m: m.recall("cut \ud83d", user="ada"), InputError, "the query holds half a character"),
        (lambda m: m.recall(None, user="ada"), InputError, "the query is None; pass it as text"),
        (lambda m: m.recall("x", user="ada", limit=0), InputError, "the limit is 0; pass a whole number from 1 on"),
        (lambda m: m.recall("x", user="ada", limit="5"), InputError, "the limit is '5'"),
        (lambda m: m.add_fact("I sing \ud83d", user="ada"), InputError, "the statement holds half a character"),
        (lambda m: m.recall("x", user="eve"), UnknownUserError, "'eve' has no memory here"),
        (lambda m: m.recall("x", user="ada", policy="pgrr"), UnknownNameError, "did you mean 'pgr'?"),
        (lambda m: m.recall("x", user="ada", policy="pgr"), ConfigError, "needs a language model"),
        (lambda m: m.recall("x", user="ada", policy="scan"), ConfigError, "needs a language model"),
        (lambda m: m.answer("x", user="ada"), ConfigError, "an answer needs a language model"),
    ],
)
async def test_what_is_refused(memory: AsyncMemory, call: object, error: type[ProspectionError], says: str) -> None:
    assert callable(call)
    with pytest.raises(error, match=says):
        await call(memory)
    assert await memory.users() == ["ada"]


@pytest.mark.parametrize(
    ("ceilings", "says"),
    [
        ({"max_calls": -1}, "max_calls is -1; pass a whole number from 0 on, or None for no ceiling"),
        ({"max_tokens": 10.5}, "max_tokens is 10.5; pass a whole number"),
        ({"max_cost": float("nan")}, "max_cost is nan; pass a number from 0 on"),
        ({"deadline": "5"}, "deadline is '5'; pass a number"),
    ],
)
async def test_ceilings_that_are_none(ceilings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Budget(**ceilings)


async def test_a_memory_needs_a_place() -> None:
    with pytest.raises(InputError, match="the path of the memory is 5; pass it as text"):
        AsyncMemory(5)  # type: ignore[arg-type]
    async with AsyncMemory(encoder=WordEmbedder(), settings=Settings()) as nowhere:
        with pytest.raises(ConfigError, match="no place for the memory"):
            await nowhere.users()


async def test_looking_and_forgetting(memory: AsyncMemory) -> None:
    assert [fact.fid for fact in await memory.facts(user="ada", after="f1")] == ["f2"]
    fact = await memory.fact("f1", user="ada")
    assert fact is not None
    assert fact.provenance[0].session == "march"
    assert await memory.fact("f1", user="eve") is None
    assert (await memory.statistics(user="ada"))["facts"] == 2
    assert (await memory.forget(user="ada", fid="f1")).facts == 1
    assert (await memory.forget(user="ada")).messages == 3
    assert await memory.users() == []


async def test_it_opens_again_after_it_was_closed(memory: AsyncMemory) -> None:
    await memory.close()
    await memory.close()
    assert len(await memory.facts(user="ada")) == 2


async def test_a_store_of_ones_own_is_left_open(tmp_path: Path) -> None:
    async with await SQLiteStore.open(tmp_path / "own.db", encoder=("words", 64)) as store:
        async with AsyncMemory(store=store, encoder=WordEmbedder(), settings=Settings()) as memory:
            await memory.add(SAID, user="ada", at=AT)
        assert await store.users() == ["ada"]


async def test_a_person_of_whom_nothing_is_known_yet_is_no_stranger(memory: AsyncMemory) -> None:
    await memory.add([{"role": "user", "content": "Hello there!"}], user="bob", at=AT)
    await memory.add(SAID, user="bob", at=AT, wait=False)
    found = await memory.recall("Plan a trip", user="bob", policy="direct")
    assert found.facts == ()
    assert any("1 conversation(s) that wait or failed" in note for note in found.trace.notes)
