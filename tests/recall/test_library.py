"""Policy `library` on the real encoder and the packaged goals."""

from __future__ import annotations

import pytest

from prospection.library.library import GoalLibrary
from prospection.models.encoders import open_encoder
from prospection.recall.policies.direct import Direct
from prospection.recall.policies.library import Library
from prospection.recall.retriever import MemoryRetriever
from prospection.recall.run import Run
from prospection.store.sqlite import SQLiteStore
from prospection.types import Add, Candidate, FactType, Message, SearchFilter, Session
from remembered import NOW, WordMemory, run_over

pytestmark = pytest.mark.anyio

FACTS = (
    "User's orthopaedist has forbidden jogging and jumping because of a torn meniscus.",
    "User takes bisoprolol and must stop when the pulse passes 115.",
    "User collects LPs and keeps them by decade.",
    "User buys printed books for home and keeps ebooks for train rides.",
    "User carries the shopping home in two bags from the market.",
    "User follows the weekly training of the local football club.",
    "User likes the flowing stream as an alarm tone.",
    "User reads two investment newsletters on Saturdays.",
)
QUERY = "Give me a weekly training plan that gets me fit again by the end of October."


async def run_on(*infos: str) -> tuple[Run, SQLiteStore]:
    embedder = await open_encoder("local")
    store = await SQLiteStore.open(":memory:", encoder=(embedder.id, embedder.dims))
    vectors = await embedder.embed(infos)
    session = Session(id="s1", at=NOW, messages=(Message(role="user", content="x"),))
    await store.put_session("ada", session)
    await store.claim_session("ada", "s1", now=NOW, lease=60)
    operations = [
        Add(candidate=Candidate(info=info, type=FactType.EVENT), vector=vector, cue_vectors=vector[None][:0])
        for info, vector in zip(infos, vectors, strict=True)
    ]
    await store.finish_session("ada", "s1", operations, extracted=1, now=NOW)
    retriever = MemoryRetriever(store, embedder, user="ada", where=SearchFilter())
    library = GoalLibrary(embedder)
    return Run(id="t", user="ada", query=QUERY, at=NOW, retriever=retriever, embedder=embedder, library=library), store


async def test_what_a_plan_has_to_respect_comes_before_what_shares_its_words() -> None:
    run, store = await run_on(*FACTS)
    ahead = await Library(limit=3).recall(QUERY, run)
    near = await Direct(limit=1).recall(QUERY, run)
    await store.close()
    assert {item.info for item in ahead.facts} > set(FACTS[:2])
    assert near.facts[0].info == FACTS[5]


async def test_the_trace_names_the_goal_and_the_imagined_fact_that_reached_a_memory() -> None:
    run, store = await run_on(*FACTS)
    ranking = await Library(limit=2).recall(QUERY, run)
    await store.close()
    trace = run.trace(policy="library", parameters={}, returned=ranking.facts, summary=None)
    meniscus = next(item.fid for item in ranking.facts if "meniscus" in item.info)
    (search,) = [found for found in trace.searches if found.probe.step and found.hits[0][0] == meniscus]
    (step,) = [step for step in trace.steps if step.sid == search.probe.step]
    assert "meniscus" in step.text or "knee" in step.text
    assert step.theme
    assert run.usage.calls == 0


async def test_a_request_about_a_stored_fact_is_answered_by_nearness() -> None:
    run, store = await run_on(*FACTS)
    ranking = await Library(limit=1).recall("Which alarm tone does the user like?", run)
    await store.close()
    assert ranking.facts[0].info == FACTS[6]


@pytest.mark.parametrize(
    ("query", "imagines"), [("*", False), ("???", False), ("🎉 🎂", False), ("42", True), ("生日", True)]
)
async def test_a_request_without_words_makes_nothing_imagined(query: str, imagines: bool) -> None:
    run, store = await run_on(*FACTS)
    ranking = await Library(limit=5).recall(query, run)
    await store.close()
    trace = run.trace(policy="library", parameters={}, returned=ranking.facts, summary=None)
    assert len(ranking.facts) == 5
    assert ("Nothing is imagined" in " ".join(trace.notes)) is not imagines
    assert imagines or trace.steps == ()


async def test_scores_fall_and_the_limit_holds() -> None:
    run, store = await run_on(*FACTS)
    ranking = await Library(limit=5).recall(QUERY, run)
    await store.close()
    scores = [item.score for item in ranking.facts]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)


async def test_a_memory_larger_than_the_candidates_is_narrowed_down_by_imagined_facts() -> None:
    run, store = await run_on(*FACTS)
    ranking = await Library(limit=2, candidates=4).recall(QUERY, run)
    await store.close()
    assert FACTS[0] in {item.info for item in ranking.facts}


async def test_an_empty_memory_has_nothing_to_say() -> None:
    ranking = await Library().recall(QUERY, run_over(WordMemory()))
    assert ranking.facts == ()
