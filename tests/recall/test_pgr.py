"""The published algorithm, step by step, on replies that are known beforehand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prospection.errors import BudgetExceededError, EndpointError
from prospection.evaluation.costs import phase_counts
from prospection.recall.policies.pgr import Pgr
from remembered import Script, WordMemory, run_over, tree

pytestmark = pytest.mark.anyio

ITALY = WordMemory(
    "mother dialysis monday",  # f1
    "passport lapsed april",  # f2
    "allergic to hazelnuts",  # f3
    "court date in october",  # f4
    "likes slow trains",  # f5
    "sister lives in turin",  # f6
)


async def test_first_phase_probes_with_the_query_and_every_step_in_one_batch() -> None:
    memory = WordMemory("italy trip", "mother dialysis monday", "passport lapsed april", "cat named miez")
    model = Script(
        augment=[{"query": "two weeks italy"}],
        simulate=[tree(care=["mother dialysis"], papers=["passport lapsed"])],
    )
    run = run_over(memory, model, query="italy trip")
    ranking = await Pgr(iterative=False, summary=False).recall("italy trip", run)

    assert model.stages == ["augment", "simulate"]
    assert memory.batches == [["italy trip"], ["italy trip", "mother dialysis", "passport lapsed"]]
    assert [item.fid for item in ranking.facts] == ["f1", "f2", "f3"]
    assert run.augmented == "two weeks italy"


async def test_augmentation_sees_only_near_certain_facts_and_counts_as_a_call() -> None:
    memory = WordMemory("trip to italy in may", "italy is warm")  # under "trip italy may": 1.0 and 0.33
    model = Script(augment=[{"query": "q"}], simulate=[tree(a=["x"])])
    run = run_over(memory, model)
    await Pgr(iterative=False, summary=False).recall("trip italy may", run)

    facts = model.requests[0].user.partition("<facts>")[2].partition("</facts>")[0]
    assert "[f1]" in facts
    assert "[f2]" not in facts
    assert run.usage.calls == 2


async def test_refinement_stops_when_fewer_than_delta_new_facts_come() -> None:
    memory = WordMemory(*(f"fact{number} word{number}" for number in range(1, 20)))
    model = Script(
        augment=[{"query": "q"}],
        simulate=[tree(a=["fact1", "fact2"])],
        refine=[tree(a=["fact3", "fact4"]), tree(a=["fact5", "fact1"]), tree(a=["fact6", "fact7"])],
        summarise=["the outlook"],
    )
    run = run_over(memory, model)
    ranking = await Pgr(k=1, delta=2).recall("nothing like it", run)

    # Round 1 brings two new facts, round 2 only one: fewer than delta, so there is no round 3.
    assert model.stages == ["augment", "simulate", "refine", "refine", "summarise"]
    assert sorted(item.fid for item in ranking.facts) == ["f1", "f2", "f3", "f4", "f5"]
    assert ranking.summary == "the outlook"
    assert run.usage.calls == 5


async def test_refinement_honours_the_largest_number_of_iterations() -> None:
    memory = WordMemory(*(f"fact{number}" for number in range(50)))
    model = Script(
        augment=[{"query": "q"}],
        simulate=[tree(a=["fact0"])],
        refine=[tree(a=[f"fact{number}"]) for number in range(1, 40)],
        summarise=["s"],
    )
    await Pgr(delta=1, max_iterations=3, k=1).recall("nothing", run_over(memory, model))
    assert model.stages.count("refine") == 3


async def test_refinement_is_given_the_facts_found_and_the_steps_before() -> None:
    model = Script(
        augment=[{"query": "italy"}],
        simulate=[tree(care=["mother dialysis"])],
        refine=[tree(care=["sister turin"])],
        summarise=["s"],
    )
    await Pgr().recall("italy", run_over(WordMemory(*(fact.info for fact in ITALY.facts)), model))
    refine = model.requests[2]
    assert "mother dialysis monday" in refine.user
    assert "- mother dialysis" in refine.user
    assert "care:" in refine.user


async def test_a_chain_asks_for_a_chain() -> None:
    model = Script(simulate=[{"steps": ["passport lapsed", "court october", "beyond the size asked for"]}])
    run = run_over(WordMemory(*(fact.info for fact in ITALY.facts)), model)
    policy = Pgr(shape="chain", chain_steps=2, augment=False, iterative=False, summary=False)
    ranking = await policy.recall("holiday", run)

    assert "a chain: 2 steps" in model.requests[0].user
    steps = run.trace(policy="pgr", parameters={}, returned=ranking.facts, summary=None).steps
    assert [(step.sid, step.theme, step.text) for step in steps] == [
        ("s0.1", None, "passport lapsed"),
        ("s0.2", None, "court october"),
    ]
    assert [item.fid for item in ranking.facts] == ["f2", "f4"]


async def test_a_hit_has_to_reach_the_threshold_and_the_bound_itself_does() -> None:
    memory = WordMemory("one two three zero", "one")  # of the four words of the probe: 0.75 and 0.25
    model = Script(simulate=[tree(a=["x"])])
    policy = Pgr(tau=0.75, augment=False, iterative=False, summary=False)
    ranking = await policy.recall("one two three four", run_over(memory, model))
    assert [item.fid for item in ranking.facts] == ["f1"]


async def test_the_tail_is_filled_behind_what_was_found_and_decides_nothing() -> None:
    infos = [f"fact{number} word{number}" for number in range(1, 10)] + ["fact1 zero", "fact2 fact3 zero zero"]

    def model() -> Script:
        return Script(
            augment=[{"query": "q"}],
            simulate=[tree(a=["fact1 word1", "fact2 word2"])],
            refine=[tree(a=["fact3 word3", "fact4 word4"]), tree(a=["fact5 word5", "fact1 word1"])],
            summarise=["the outlook"],
        )

    bare, filled = model(), model()
    published = await Pgr(k=1, delta=2, tau=0.5).recall("none", run_over(WordMemory(*infos), bare))
    found = [item.fid for item in published.facts]
    run = run_over(WordMemory(*infos), filled)
    ranking = await Pgr(k=1, delta=2, tau=0.5, fill=7).recall("none", run)

    assert filled.requests == bare.requests  # refined as often, and shown the same
    assert sorted(found) == ["f1", "f2", "f3", "f4", "f5"]
    fids = [item.fid for item in ranking.facts]
    assert fids[:5] == found
    assert sorted(fids[5:]) == ["f10", "f11"]  # below tau, and nearest to one of the probes
    assert [item.score for item in ranking.facts] == [1 / rank for rank in range(1, 8)]
    assert ranking.summary == "the outlook"
    trace = run.trace(policy="pgr", parameters={}, returned=ranking.facts, summary=None)
    assert phase_counts(trace) == (4, 3)  # f3, f4 and f5 came later, the tail counts as found at first
    few = await Pgr(k=1, delta=2, tau=0.5, fill=3).recall("none", run_over(WordMemory(*infos), model()))
    assert few == published


async def test_a_failing_model_after_the_first_phase_leaves_what_was_found() -> None:
    model = Script(
        augment=[{"query": "q"}], simulate=[tree(a=["mother dialysis"])], refine=[EndpointError("gone; try again")]
    )
    run = run_over(WordMemory(*(fact.info for fact in ITALY.facts)), model)
    ranking = await Pgr().recall("q", run)
    assert [item.fid for item in ranking.facts] == ["f1"]
    assert ranking.partial == "gone; try again"


async def test_a_failing_model_before_anything_was_found_is_an_error() -> None:
    model = Script(augment=[EndpointError("gone")])
    with pytest.raises(EndpointError, match="gone"):
        await Pgr().recall("q", run_over(ITALY, model))


async def test_a_ceiling_reached_at_once_leaves_what_the_query_alone_finds() -> None:
    model = Script(augment=[BudgetExceededError("no call left")])
    ranking = await Pgr().recall("passport", run_over(ITALY, model))
    assert [item.fid for item in ranking.facts] == ["f2"]
    assert ranking.partial == "no call left"


@settings(max_examples=40, deadline=None)
@given(
    simulated=st.lists(st.sampled_from([fact.info for fact in ITALY.facts]), min_size=1, max_size=9),
    refined=st.lists(
        st.lists(st.sampled_from([fact.info for fact in ITALY.facts]), min_size=1, max_size=5), min_size=4, max_size=4
    ),
    k=st.integers(1, 6),
)
async def test_no_fact_is_ever_returned_twice_and_scores_fall(
    simulated: list[str], refined: list[list[str]], k: int
) -> None:
    model = Script(simulate=[tree(a=simulated)], refine=[tree(a=steps) for steps in refined])
    policy = Pgr(k=k, steps=9, delta=1, max_iterations=4, tau=0.0, augment=False, summary=False)
    ranking = await policy.recall("likes trains", run_over(WordMemory(*(f.info for f in ITALY.facts)), model))
    fids = [item.fid for item in ranking.facts]
    scores = [item.score for item in ranking.facts]
    assert len(fids) == len(set(fids))
    assert scores == sorted(scores, reverse=True)
