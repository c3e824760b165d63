"""A recall told while it happens, over HTTP: what comes when, and how it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from loopback import Chat, Loopback, Reply, Status
from prospection import AsyncMemory, Memory, Settings
from prospection.config import ModelsSettings, RecallSettings
from prospection.errors import EndpointError, UnknownUserError
from prospection.recall.events import Done, FactChosen, FactFound, ProbeSearched, RecallEvent, StepImagined
from prospection.types import Recall
from remembered import WordEmbedder

pytestmark = pytest.mark.anyio

INFOS = ("User's mother has dialysis on mondays", "User's passport lapsed in april")
FILLER = tuple(f"User owns a green thing number {number} of which nothing follows at all" for number in range(40))
STEPS = ("care for mother on mondays", "renew the passport", "pack the green thing")
FUTURE: dict[str, object] = {
    "branches": [
        {"theme": "care", "steps": [{"step": STEPS[0], "facts": ["User's mother has dialysis"]}]},
        {
            "theme": "papers",
            "steps": [
                {"step": STEPS[1], "facts": ["User's passport lapsed"]},
                {"step": STEPS[2], "facts": ["User owns a green thing"]},
            ],
        },
    ],
    "rewrites": ["a trip to italy"],
}
CHOICE: dict[str, object] = {
    "selected": [{"id": "f2", "why": "renew it"}, {"id": "f1", "why": "find a carer"}],
    "outlook": "Mind both.",
}
SETTINGS = Settings(
    models=ModelsSettings(retries=0),
    recall=RecallSettings.model_validate({"foresight": {"pool_tokens": 300}}),
)


def written(chat: Chat) -> dict[str, object]:
    return FUTURE if "branches" in (chat.schema or {}).get("properties", {}) else CHOICE


def reached(recall: Recall) -> set[tuple[str, str, frozenset[str]]]:
    searches = recall.trace.searches
    return {(item.probe.text, item.probe.over, frozenset(fid for fid, _, _ in item.hits)) for item in searches}


def planner(pace: float = 0.0) -> Loopback:
    """Return a server that imagines the future above and chooses from it."""
    return Loopback(lambda chat: Reply(written(chat), pace=pace))


async def filled(memory: AsyncMemory) -> AsyncMemory:
    for info in (*INFOS, *FILLER):
        await memory.add_fact(info, user="ada")
    return memory


@pytest.fixture
def server() -> Iterator[Loopback]:
    with planner(pace=0.002) as running:
        yield running


@pytest.fixture
async def memory(server: Loopback) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(
        ":memory:", model="tiny", base_url=server.url, encoder=WordEmbedder(), settings=SETTINGS
    ) as opened:
        yield await filled(opened)


async def test_steps_probes_and_facts_come_as_they_are_found(memory: AsyncMemory) -> None:
    events: list[RecallEvent] = [event async for event in memory.recall_stream("italy", user="ada")]
    done = events[-1]
    assert isinstance(done, Done)
    assert [item.fid for item in done.recall.facts] == ["f2", "f1"]
    assert [event.step.text for event in events if isinstance(event, StepImagined)] == list(STEPS)
    assert [event.fact.fid for event in events if isinstance(event, FactChosen)] == ["f2", "f1"]
    found = [event.fact.fid for event in events if isinstance(event, FactFound)]
    assert {"f1", "f2"} <= set(found)
    assert len(found) == len(set(found))


async def test_memory_is_searched_while_the_model_is_still_writing(memory: AsyncMemory) -> None:
    events = [event async for event in memory.recall_stream("italy", user="ada")]
    searched = [(event.probe.text, event.probe.over) for event in events if isinstance(event, ProbeSearched)]
    told = [event.step.text for event in events if isinstance(event, StepImagined)]
    first = next(place for place, event in enumerate(events) if isinstance(event, ProbeSearched) and event.probe.step)
    last = max(place for place, event in enumerate(events) if isinstance(event, StepImagined))
    assert first < last  # the first step was searched with before the last was written
    assert told == list(STEPS)
    assert len(searched) == len(set(searched))  # nothing was searched twice


async def test_it_finds_what_recall_finds(memory: AsyncMemory) -> None:
    async with memory.recall_stream("italy", user="ada") as stream:
        events = [event async for event in stream]
    done = events[-1]
    assert isinstance(done, Done)
    plain = await memory.recall("italy", user="ada")
    assert done.recall.facts == plain.facts
    assert done.recall.context == plain.context
    assert reached(done.recall) == reached(plain)
    pids = [search.probe.pid for search in done.recall.trace.searches]
    assert len(pids) == len(set(pids))


async def test_leaving_the_block_ends_the_recall(memory: AsyncMemory, server: Loopback) -> None:
    async with memory.recall_stream("italy", user="ada") as stream:
        async for event in stream:
            if isinstance(event, StepImagined):
                break
    assert [event async for event in stream] == []
    assert await memory.traces(user="ada") == []
    assert len(server.chats) == 1  # the selection was never asked for


async def test_a_reader_that_is_cancelled_ends_the_recall(memory: AsyncMemory, server: Loopback) -> None:
    with anyio.move_on_after(0.05) as scope:
        async for _ in memory.recall_stream("italy", user="ada"):
            pass
    assert scope.cancelled_caught
    assert await memory.traces(user="ada") == []


async def test_an_error_ends_the_events(memory: AsyncMemory, server: Loopback) -> None:
    with pytest.raises(UnknownUserError):
        await anext(memory.recall_stream("italy", user="eve"))
    server.script(Status(400), Status(400), Status(400), Status(400), Status(400), Status(400))
    with pytest.raises(EndpointError):
        [event async for event in memory.recall_stream("italy", user="ada")]


async def test_an_endpoint_that_will_not_stream_is_asked_without(memory: AsyncMemory, server: Loopback) -> None:
    server.handler = lambda chat: Status(400, "no streams") if chat.body.get("stream") else Reply(written(chat))
    events = [event async for event in memory.recall_stream("italy", user="ada")]
    assert isinstance(events[-1], Done)
    assert [item.fid for item in events[-1].recall.facts] == ["f2", "f1"]
    assert [event.step.text for event in events if isinstance(event, StepImagined)] == list(STEPS)


async def test_a_memory_without_a_model_streams_as_well() -> None:
    async with AsyncMemory(":memory:", encoder=WordEmbedder(), settings=Settings()) as memory:
        await memory.add_fact(INFOS[0], user="ada")
        events = [event async for event in memory.recall_stream("mondays", user="ada", policy="hybrid")]
    assert [type(event) for event in events] == [ProbeSearched, FactFound, ProbeSearched, Done]


def test_code_that_does_not_await_iterates(tmp_path: Path) -> None:
    with planner() as server:
        settings = SETTINGS.model_copy(update={"models": ModelsSettings(chat="tiny", base_url=server.url, retries=0)})
        with Memory(tmp_path / "memory.db", encoder=WordEmbedder(), settings=settings) as memory:
            for info in (*INFOS, *FILLER):
                memory.add_fact(info, user="ada")
            events = list(memory.recall_stream("italy", user="ada"))
            assert isinstance(events[-1], Done)
            for event in memory.recall_stream("italy", user="ada"):
                if isinstance(event, StepImagined):
                    break
            with pytest.raises(UnknownUserError):
                next(memory.recall_stream("italy", user="eve"))
