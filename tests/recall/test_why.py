"""Why a fact was returned, or was not; and the same recall again without a model."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from prospection import AsyncMemory, Settings
from prospection.config import RecallSettings
from prospection.errors import InputError
from prospection.types import Budget
from remembered import NOW, Script, WordEmbedder, tree

pytestmark = pytest.mark.anyio

INFOS = ("mother has dialysis on mondays", "passport lapsed in april", "likes tea", "collects stamps")
PLAN: dict[str, list[object]] = {
    "simulate": [tree(care=["mother dialysis mondays"], papers=["passport lapsed"])],
    "augment": [{"query": "italy"}],
    "summarise": ["Mind the passport."],
}
SETTINGS = Settings(recall=RecallSettings.model_validate({"pgr": {"k": 1, "tau": 0.4, "iterative": False}}))


@pytest.fixture
async def memory() -> AsyncIterator[AsyncMemory]:
    select = {"selected": [{"id": "f2", "why": "renew it"}], "outlook": "Mind [f2]."}
    model = Script(**{stage: list(replies) for stage, replies in PLAN.items()}, select=[select])
    async with AsyncMemory(":memory:", model=model, encoder=WordEmbedder(), settings=SETTINGS) as opened:
        for info in INFOS:
            await opened.add_fact(info, user="ada", at=NOW)
        yield opened


async def test_a_returned_fact_has_its_chain(memory: AsyncMemory) -> None:
    recall = await memory.recall("italy", user="ada", policy="pgr")
    (way,) = recall.explain("f1")
    assert (way.probe.text, way.rank) == ("mother dialysis mondays", 1)
    assert way.step is not None
    assert way.step.theme == "care"
    found = await memory.explain("f1", user="ada")
    assert (found.verdict, found.place, found.ways) == ("returned", 1, (way,))
    assert "the step 'mother dialysis mondays': place 1" in found.sentence


async def test_a_fact_that_was_not_returned_has_a_reason_with_figures(memory: AsyncMemory) -> None:
    await memory.add_fact("passport of mother lapsed", user="ada", at=NOW)  # second place of a probe that brings one
    recall = await memory.recall("italy", user="ada", policy="pgr")
    assert {item.fid for item in recall.facts} == {"f1", "f2"}
    beyond = await memory.explain("f5", user="ada")
    assert beyond.verdict == "beyond k"
    assert beyond.nearest is not None
    assert beyond.nearest.rank == 2
    assert "place 2" in beyond.sentence
    assert "only the first 1" in beyond.sentence
    below = await memory.explain("f4", user="ada", trace_id=recall.trace.id)
    assert below.verdict == "below threshold"
    assert re.search(r"below the threshold of 0\.[46]0", below.sentence)
    assert (await memory.explain("f99", user="ada")).verdict == "unknown"


async def test_a_fact_that_the_model_saw_and_left_out(memory: AsyncMemory) -> None:
    await memory.recall("italy", user="ada", policy="foresight")
    assert (await memory.explain("f3", user="ada")).verdict == "not selected"
    chosen = await memory.explain("f2", user="ada")
    assert (chosen.verdict, chosen.place) == ("returned", 1)


async def test_a_fact_that_fell_behind_the_limit(memory: AsyncMemory) -> None:
    await memory.recall("passport lapsed", user="ada", policy="hybrid", limit=1)
    found = await memory.explain("f1", user="ada")
    assert found.verdict == "fell behind"
    assert "behind the 1 facts" in found.sentence


async def test_a_fact_that_was_not_in_memory_then(memory: AsyncMemory) -> None:
    edited = await memory.edit_fact("f3", "likes coffee", user="ada", at=NOW + timedelta(days=2))
    await memory.recall("drinks", user="ada", policy="direct", at=NOW + timedelta(days=1))
    assert (await memory.explain(edited.fid, user="ada")).verdict == "not yet known"
    await memory.recall("drinks", user="ada", policy="direct", at=NOW + timedelta(days=3))
    gone = await memory.explain("f3", user="ada")
    assert gone.verdict == "replaced"
    assert f"by {edited.fid}" in gone.sentence


async def test_without_a_recall_there_is_nothing_to_explain(memory: AsyncMemory) -> None:
    with pytest.raises(InputError, match="has no traces"):
        await memory.explain("f1", user="ada")
    with pytest.raises(InputError, match="no trace 'x'"):
        await memory.replay("x", user="ada")


async def test_a_replay_asks_no_model_and_stores_nothing(memory: AsyncMemory) -> None:
    recall = await memory.recall("italy", user="ada", policy="pgr")
    again = await memory.replay(user="ada")  # the script has no reply left
    assert again.recall.facts == recall.facts
    assert again.recall.summary == recall.summary
    assert again.changes.both == ("f1", "f2")
    assert (again.changes.first_only, again.changes.second_only, again.differences) == ((), (), ())
    assert len(await memory.traces(user="ada")) == 1


async def test_a_replay_shows_what_memory_has_learned_since(memory: AsyncMemory) -> None:
    await memory.recall("italy", user="ada", policy="pgr")
    await memory.add_fact("mother dialysis mondays", user="ada", at=NOW)
    again = await memory.replay(user="ada")
    assert again.changes.first_only == ("f1",)
    assert again.changes.second_only == ("f5",)
    assert again.differences == ("Stage summarise would be shown something else now than in round 0.",)


async def test_a_recall_without_a_model_is_replayed_too(memory: AsyncMemory) -> None:
    recall = await memory.recall("passport", user="ada", policy="hybrid", limit=2)
    again = await memory.replay(recall.trace.id, user="ada")
    assert again.recall.facts == recall.facts
    assert again.recall.trace.parameters["limit"] == 2


async def test_a_replay_ends_where_the_recall_ended(memory: AsyncMemory) -> None:
    model = Script(augment=[{"query": "italy"}], simulate=[tree(a=["passport lapsed"])])
    async with AsyncMemory(":memory:", model=model, encoder=WordEmbedder(), settings=SETTINGS) as other:
        await other.add_fact(INFOS[1], user="ada")
        recall = await other.recall("italy", user="ada", policy="pgr", budget=Budget(max_calls=2))
        assert recall.partial is not None
        again = await other.replay(user="ada")
    assert again.recall.partial == recall.partial
    assert [item.fid for item in again.recall.facts] == ["f1"]
