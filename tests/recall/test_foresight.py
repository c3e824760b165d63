"""Policy `foresight`: what it asks, what it probes, what it returns, and how it stops."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.errors import BudgetExceededError, EndpointError
from prospection.recall.policies.foresight import Foresight, _interleave
from prospection.recall.policies.library import Library
from prospection.types import Hit, Probe
from remembered import Script, WordMemory, run_over

pytestmark = pytest.mark.anyio

FILLER = tuple(f"User owns a thing number {number} of which nothing follows at all" for number in range(40))
MEMORY = ("User's mother has dialysis on mondays", "User's passport lapsed in april", *FILLER)


def future(*facts: str) -> dict[str, object]:
    return {
        "branches": [{"theme": "care", "steps": [{"step": f"step {fact}", "facts": [fact]} for fact in facts]}],
        "rewrites": ["a trip"],
    }


def selection(*ids: str, needs: Sequence[str] = (), outlook: str = "") -> dict[str, object]:
    return {"selected": [{"id": fid, "why": f"because {fid}"} for fid in ids], "open_needs": needs, "outlook": outlook}


async def test_two_calls_imagine_and_select() -> None:
    memory = WordMemory(*MEMORY)
    model = Script(foresee=[future("User's mother has dialysis")], select=[selection("f1", outlook="Mind the [f1].")])
    run = run_over(memory, model, query="italy")
    ranking = await Foresight(pool_tokens=400).recall("italy", run)

    assert model.stages == ["foresee", "select"]
    assert [(item.fid, item.reason) for item in ranking.facts] == [("f1", "because f1")]
    assert ranking.summary == "Mind the [f1]."
    assert ranking.partial is None
    # One batch with the query and one with all that was imagined.
    assert memory.batches == [
        ["italy", "italy"],
        ["italy", "step User's mother has dialysis", "a trip", "User's mother has dialysis"],
    ]


async def test_a_small_memory_is_shown_whole_without_imagining() -> None:
    model = Script(select=[selection("[f2]")])
    run = run_over(WordMemory(*MEMORY[:2]), model)
    ranking = await Foresight().recall("italy", run)
    assert model.stages == ["select"]
    assert [item.fid for item in ranking.facts] == ["f2"]
    assert all(info in model.requests[0].user for info in MEMORY[:2])


async def test_only_ids_of_the_pool_count() -> None:
    model = Script(select=[selection("f99", "f1", "f1")])
    ranking = await Foresight().recall("q", run_over(WordMemory(*MEMORY[:2]), model))
    assert [item.fid for item in ranking.facts] == ["f1"]


async def test_open_needs_are_followed_up_once_among_what_is_new() -> None:
    memory = WordMemory("User owns a boat", *FILLER, "User's landlord forbids parties", "User fears lifts")
    model = Script(
        foresee=[future("User owns a boat")],
        select=[selection("f1", needs=["User's landlord forbids parties"]), selection("f42", outlook="both")],
    )
    ranking = await Foresight(pool_tokens=250, cautious=0).recall("boat", run_over(memory, model))
    assert model.stages == ["foresee", "select", "select"]
    shown = model.requests[2].user.partition("<candidates>")[2]
    assert "landlord" in shown
    assert "[f1]" not in shown
    assert "[f1]" in model.requests[2].user.partition("<already_chosen>")[2].partition("</already_chosen>")[0]
    assert [item.fid for item in ranking.facts] == ["f1", "f42"]
    assert ranking.summary == "both"


async def test_rounds_are_bounded() -> None:
    model = Script(foresee=[future("x")], select=[selection("f1", needs=["User owns a thing"])] * 9)
    await Foresight(pool_tokens=200, rounds=3).recall("User owns", run_over(WordMemory(*MEMORY), model))
    assert model.stages.count("select") <= 3


async def test_a_failing_selection_leaves_the_pool() -> None:
    model = Script(foresee=[future("User's passport lapsed")], select=[EndpointError("gone")])
    ranking = await Foresight(pool_tokens=300).recall("italy", run_over(WordMemory(*MEMORY), model))
    assert ranking.partial == "gone"
    assert "f2" in [item.fid for item in ranking.facts]


async def test_a_ceiling_reached_at_once_leaves_what_needs_no_model() -> None:
    model = Script(foresee=[BudgetExceededError("no call left")])
    ranking = await Foresight(pool_tokens=300).recall("passport", run_over(WordMemory(*MEMORY), model))
    assert ranking.partial == "no call left"
    assert ranking.facts


async def test_a_model_that_fails_before_anything_was_found_is_an_error() -> None:
    with pytest.raises(EndpointError):
        await Foresight().recall("q", run_over(WordMemory(*MEMORY[:2]), Script(select=[EndpointError("gone")])))


@given(size=st.integers(0, 30), cautious=st.integers(0, 3), seed=st.randoms())
def test_interleaving_keeps_every_fact_once(size: int, cautious: int, seed: object) -> None:
    first, second = list(range(size)), list(range(size))
    seed.shuffle(second)  # type: ignore[attr-defined]
    merged = _interleave(first, second, cautious=cautious)
    assert sorted(merged) == first


def test_of_three_places_one_goes_to_the_cautious_list() -> None:
    assert _interleave([0, 1, 2, 3, 4, 5], [9, 8, 7], cautious=1) == [0, 1, 9, 2, 3, 8, 4, 5, 7]


class Cueless(WordMemory):
    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float = -1.0) -> list[list[Hit]]:
        found = await super().retrieve(probes, k=k, min_similarity=min_similarity)
        return [[] if probe.over == "cues" else hits for probe, hits in zip(probes, found, strict=True)]


async def test_without_imagination_and_cues_the_pool_is_the_goal_librarys() -> None:
    memory = Cueless(*MEMORY)
    pool = await Foresight(imagine=False, select=False, fill=True).recall("passport", run_over(memory))
    alone = await Library(limit=1000).recall("passport", run_over(memory))
    assert [item.fid for item in pool.facts] == [item.fid for item in alone.facts]
