"""The control arms `hyde`, `rewrite`, `recollect`, `scan`, and `auto`, which chooses."""

from __future__ import annotations

import pytest

from prospection.config import RecallSettings
from prospection.errors import BudgetExceededError, EndpointError
from prospection.recall.policies import build_policy, policy_names
from prospection.recall.policies.auto import Auto
from prospection.recall.policies.foresight import Foresight
from prospection.recall.policies.hyde import Hyde
from prospection.recall.policies.recollect import Recollect
from prospection.recall.policies.rewrite import Rewrite
from prospection.recall.policies.scan import Scan
from prospection.types import Budget
from remembered import Script, WordMemory, run_over

pytestmark = pytest.mark.anyio

FILLER = tuple(f"thing number {number} of which nothing follows at all" for number in range(40))


def selection(*ids: str, outlook: str = "") -> dict[str, object]:
    return {"selected": [{"id": fid, "why": f"because {fid}"} for fid in ids], "outlook": outlook}


async def test_every_policy_is_built_by_its_name() -> None:
    assert [build_policy(name, RecallSettings()).name for name in policy_names()] == list(policy_names())


async def test_hyde_searches_with_the_request_and_made_up_facts_in_one_batch() -> None:
    memory = WordMemory("mother dialysis monday", "likes tea", "italy trip", "passport lapsed april")
    model = Script(hyde=[{"facts": ["mother dialysis", "passport lapsed", "beyond the count"]}])
    ranking = await Hyde(limit=3, facts=2).recall("italy trip", run_over(memory, model))
    assert model.stages == ["hyde"]
    assert memory.batches == [["italy trip", "mother dialysis", "passport lapsed"]]
    assert [item.fid for item in ranking.facts] == ["f1", "f3", "f4"]  # each is some text's first


async def test_hyde_as_published_orders_by_the_mean_similarity() -> None:
    memory = WordMemory("a b", "a c", "d d")
    model = Script(hyde=[{"facts": ["a b"]}])
    ranking = await Hyde(merge="mean").recall("a c", run_over(memory, model))
    # f1: (1/2 + 1) / 2, f2: (1 + 1/2) / 2, f3: 0; a tie goes by id.
    assert [(item.fid, item.score) for item in ranking.facts] == [("f1", 0.75), ("f2", 0.75), ("f3", 0.0)]


async def test_rewrite_interleaves_the_lists() -> None:
    memory = WordMemory("cheap flights to rome", "mother dialysis", "trip notes")
    model = Script(rewrite=[{"queries": ["flights rome", "mother"]}])
    ranking = await Rewrite(limit=3).recall("trip", run_over(memory, model))
    assert {item.fid for item in ranking.facts} == {"f1", "f2", "f3"}
    assert [item.score for item in ranking.facts] == [1.0, 1.0, 1.0]


async def test_rewrite_by_reciprocal_ranks_asks_for_agreement() -> None:
    memory = WordMemory("rome flights", "mother dialysis", "trip to rome")
    model = Script(rewrite=[{"queries": ["rome", "to rome", "mother"]}])
    ranking = await Rewrite(merge="reciprocal").recall("trip", run_over(memory, model))
    assert [item.fid for item in ranking.facts] == ["f3", "f1", "f2"]


@pytest.mark.parametrize("policy", [Hyde(limit=2), Rewrite(limit=2), Scan(limit=2)])
async def test_a_ceiling_leaves_what_the_request_alone_finds(policy: Hyde | Rewrite | Scan) -> None:
    failure = BudgetExceededError("no call left")
    model = Script(hyde=[failure], rewrite=[failure], select=[failure])
    memory = WordMemory("passport lapsed", "likes tea", "passport photo")
    ranking = await policy.recall("passport", run_over(memory, model))
    assert ranking.partial is not None
    assert "no call left" in ranking.partial
    assert [item.fid for item in ranking.facts] == ["f1", "f3"]


@pytest.mark.parametrize("policy", [Hyde(), Rewrite(), Scan()])
async def test_a_model_that_fails_before_anything_was_found_is_an_error(policy: Hyde | Rewrite | Scan) -> None:
    failure = EndpointError("gone")
    model = Script(hyde=[failure], rewrite=[failure], select=[failure])
    with pytest.raises(EndpointError, match="gone"):
        await policy.recall("passport", run_over(WordMemory("passport lapsed"), model))


async def test_recollect_goes_on_from_what_was_found_first() -> None:
    memory = WordMemory("italy passport", "passport office closed", "likes tea", "italy wine")
    policy = Recollect(feedback=1, alpha=0.5, beta=0.5)
    run = run_over(memory)
    ranking = await policy.recall("italy passport", run)
    # f1: 1; f2: 0.5 * 1/2 + 0.5 * 1/2 = 0.5, f4 the same; nothing leads to f3.
    assert [(item.fid, item.score) for item in ranking.facts] == [("f1", 1.0), ("f2", 0.5), ("f4", 0.5), ("f3", 0.0)]
    trace = run.trace(policy="recollect", parameters={}, returned=ranking.facts, summary=None)
    assert [(search.probe.kind, search.probe.round) for search in trace.searches] == [("query", 0), ("feedback", 1)]
    assert (await policy.recall("x", run_over(WordMemory()))).facts == ()


async def test_scan_shows_every_fact_to_the_model_once_and_merges_the_choices() -> None:
    memory = WordMemory("passport lapsed in april", *FILLER)
    model = Script(select=[selection("f1", "f2", outlook="one")] + [selection("f9", outlook="two")] * 9)
    ranking = await Scan(slice_tokens=200, parallel=1).recall("passport", run_over(memory, model))
    shown = [request.user.partition("<candidates>")[2] for request in model.requests]
    assert len(shown) > 2
    assert all(sum(f"[{fact.fid}] " in part for part in shown) == 1 for fact in memory.facts)
    assert "[f1] " in shown[0]  # the nearest are read first
    assert ranking.facts[0].fid == "f1"
    assert ranking.facts[0].reason == "because f1"
    assert ranking.partial is None
    assert (ranking.summary or "").startswith("one\ntwo")
    subjects = [request.subject for request in model.requests]
    assert len(set(subjects)) == len(subjects)  # so that recordings tell the slices apart


async def test_scan_says_how_much_of_memory_was_not_read() -> None:
    model = Script(select=[selection("f1")] + [EndpointError("gone")] * 9)
    run = run_over(WordMemory("passport lapsed in april", *FILLER), model)
    ranking = await Scan(slice_tokens=400, parallel=1).recall("passport", run)
    assert [item.fid for item in ranking.facts] == ["f1"]
    assert ranking.partial == f"{len(model.requests) - 1} of {len(model.requests)} parts of memory were not read: gone"


async def chosen(model: Script | None, budget: Budget | None = None, *, memory: WordMemory, query: str = "q") -> str:
    run = run_over(memory, model, query=query, budget=budget)
    ranking = await Auto(foresight=Foresight(pool_tokens=100)).recall(query, run)
    (note, *_) = run.trace(policy="auto", parameters={}, returned=ranking.facts, summary=None).notes
    return note


async def test_auto_follows_its_rule_and_says_so() -> None:
    small, large = WordMemory("passport lapsed"), WordMemory(*FILLER)
    planning = "What do I do about waking up at 4am thinking about money?"  # one of the packaged goals
    future = {"branches": [{"theme": "t", "steps": [{"step": "sleep", "facts": ["thing number 3"]}]}]}
    model = Script(select=[selection("f1")] * 3, foresee=[future] * 3)
    assert await chosen(None, memory=large) == "auto chose library: there is no language model."
    assert "budget allows no call" in await chosen(model, Budget(max_calls=0), memory=large)
    assert "the deadline of 1 s" in await chosen(model, Budget(deadline=1), memory=large)
    assert "auto chose foresight: memory is small" in await chosen(model, memory=small)
    assert "auto chose hybrid" in await chosen(model, memory=large, query=FILLER[3])
    assert model.stages == ["select"]
    assert "auto chose foresight: one call is left" in await chosen(
        model, Budget(max_calls=1), memory=large, query=planning
    )
    assert model.stages == ["select", "foresee"]
    assert "auto chose foresight: the request is about" in await chosen(model, memory=large, query=planning)
    assert model.stages == ["select", "foresee", "foresee", "select"]
