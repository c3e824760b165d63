"""Cues that tell something, and cues for facts that have none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prospection.config import RememberSettings
from prospection.errors import EndpointError
from prospection.models.meter import MeteredChat
from prospection.protocols import ChatModel
from prospection.remember.cues import BATCH, CueWriting, with_telling_cues
from prospection.remember.upsert import additions
from prospection.store.sqlite import SQLiteStore
from prospection.types import Budget, Candidate, Close, Cue, CueBackfill, FactType
from remembered import Script, WordEmbedder

pytestmark = pytest.mark.anyio

AT = datetime(2025, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    embedder = WordEmbedder()
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(embedder.id, embedder.dims)) as opened:
        yield opened


def told(info: str, *cues: str) -> Candidate:
    return Candidate(info=info, type=FactType.EVENT, cues=tuple(Cue(text=text) for text in cues))


async def remember(store: SQLiteStore, *candidates: Candidate) -> None:
    await store.edit_facts("ada", await additions(candidates, WordEmbedder()), at=AT)


async def telling(store: SQLiteStore, *candidates: Candidate, crowd: int = 3) -> list[list[str]]:
    embedder = WordEmbedder()
    found = await with_telling_cues("ada", await additions(candidates, embedder), store, embedder, crowd=crowd)
    for add in found:
        rows = await embedder.embed([cue.text for cue in add.candidate.cues])
        assert add.cue_vectors.tolist() == rows.tolist()
    return [[cue.text for cue in add.candidate.cues] for add in found]


async def test_a_cue_that_repeats_its_fact_is_left_out(store: SQLiteStore) -> None:
    assert await telling(store, told("ada eats no nuts", "ada eats no nuts at all", "booking a restaurant")) == [
        ["booking a restaurant"]
    ]


async def test_a_cue_that_stands_at_many_facts_is_left_out(store: SQLiteStore) -> None:
    await remember(store, *(told(f"fact {n}", "health") for n in "abc"))
    assert await telling(store, told("one more", "health", "booking a restaurant")) == [["booking a restaurant"]]
    assert await telling(store, told("one more", "health"), crowd=4) == [["health"]]
    assert await telling(store, told("one more", "health"), crowd=0) == [["health"]]


async def test_a_batch_is_a_crowd_too(store: SQLiteStore) -> None:
    facts = [told(f"fact {n}", "health") for n in "abcd"]
    assert await telling(store, *facts) == [[]] * 4
    assert await telling(store, *facts[:3]) == [["health"]] * 3
    assert await telling(store, told("fact", "health", "health care of all kinds", "health")) == [
        ["health", "health care of all kinds", "health"]
    ]  # twice at one fact is no crowd


async def test_facts_without_cues_are_left_as_they_are(store: SQLiteStore) -> None:
    assert await telling(store, told("one"), told("two", "a thing"), told("three")) == [[], ["a thing"], []]
    assert await telling(store) == []


async def backfill(
    store: SQLiteStore, model: ChatModel, budget: Budget | None = None, fids: list[str] | None = None
) -> CueBackfill:
    writing = CueWriting(
        user="ada",
        store=store,
        embedder=WordEmbedder(),
        model=MeteredChat(model, budget),
        settings=RememberSettings(cues_per_fact=2, cue_crowd=12),
    )
    return await writing.run(at=AT, fids=fids)


def written(*lines: tuple[int, list[str]]) -> dict[str, Any]:
    return {"facts": [{"fact": number, "cues": cues} for number, cues in lines]}


async def test_facts_without_cues_get_some(store: SQLiteStore) -> None:
    await remember(store, told("alpha"), told("beta", "has one"), told("gamma"))
    model = Script(cues=[written((1, ["first one", "second", "third"]), (2, ["other"]), (9, ["nobody's"]))])
    done = await backfill(store, model)
    assert (done.facts, done.left, done.partial, done.usage.calls) == (2, 0, None, 1)
    cues = [[cue.text for cue in fact.cues] for fact in await store.facts("ada")]
    assert cues == [["first one", "second"], ["has one"], ["other"]]
    assert "[1] alpha\n[2] gamma" in model.requests[0].user
    assert (await backfill(store, Script())).facts == 0


async def test_the_cues_of_named_facts_are_written_anew(store: SQLiteStore) -> None:
    await remember(store, told("alpha", "old"), told("beta", "has one"))
    done = await backfill(store, Script(cues=[written((1, ["new"]))]), fids=["f1"])
    assert done.facts == 1
    assert [[cue.text for cue in fact.cues] for fact in await store.facts("ada")] == [["new"], ["has one"]]


async def test_it_ends_at_a_ceiling_and_goes_on_later(store: SQLiteStore) -> None:
    await remember(store, *(told(f"number {n}") for n in range(BATCH + 2)))
    full = written(*((n, [f"w{n}x"]) for n in range(1, BATCH + 1)))
    model = Script(cues=[full, written((1, ["late"]))])
    first = await backfill(store, model, Budget(max_calls=1))
    assert (first.facts, first.left) == (BATCH, 2)
    assert "max_calls is 1" in (first.partial or "")
    second = await backfill(store, model)
    assert (second.facts, second.left, second.partial) == (1, 1, None)  # the model had nothing for the last one


async def test_what_was_stored_stays_when_the_model_goes_away(store: SQLiteStore) -> None:
    await remember(store, *(told(f"number {n}") for n in range(BATCH + 1)))
    full = written(*((n, [f"w{n}x"]) for n in range(1, BATCH + 1)))
    with pytest.raises(EndpointError):
        await backfill(store, Script(cues=[full, EndpointError("away")]))
    assert sum(bool(fact.cues) for fact in await store.facts("ada")) == BATCH


async def test_a_fact_that_is_removed_meanwhile_does_not_stop_the_others(store: SQLiteStore) -> None:
    class Meddling(Script):
        async def complete(self, request: Any) -> Any:
            await store.edit_facts("ada", [Close(fid="f1")], at=AT)
            return await super().complete(request)

    await remember(store, told("alpha"), told("beta"))
    done = await backfill(store, Meddling(cues=[written((1, ["one"]), (2, ["two"]))]))
    assert (done.facts, done.left) == (1, 1)
    assert [fact.cues for fact in await store.facts("ada")] == [(Cue(text="two"),)]
