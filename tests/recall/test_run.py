"""A run records all that passes through it."""

from __future__ import annotations

import pytest

from prospection.errors import ConfigError, EndpointError
from prospection.recall.policies.direct import Direct
from prospection.recall.policies.pgr import Pgr
from prospection.recall.recall import recall
from prospection.serial import from_text, to_text
from prospection.types import Trace, Usage
from remembered import Script, WordMemory, run_over, tree

pytestmark = pytest.mark.anyio


async def test_the_trace_leads_from_every_fact_to_the_step_that_found_it() -> None:
    memory = WordMemory("mother dialysis monday", "passport lapsed")
    model = Script(augment=[{"query": "qa"}], simulate=[tree(care=["mother dialysis"])], summarise=["outlook"])
    policy = Pgr(iterative=False)
    result = await recall("italy", run_over(memory, model, query="italy"), policy, context_tokens=500)
    trace = result.trace

    (search,) = [item for item in trace.searches if item.hits and item.hits[0][0] == "f1"]
    (step,) = [step for step in trace.steps if step.sid == search.probe.step]
    assert (step.text, step.theme) == ("mother dialysis", "care")
    assert trace.returned == (("f1", 1.0),)
    assert trace.facts == {"f1": "mother dialysis monday"}
    assert [stage.stage for stage in trace.stages] == ["augment", "simulate", "summarise"]
    assert trace.stages[1].output == {"branches": [{"theme": "care", "steps": ["mother dialysis"]}]}
    assert trace.parameters["delta"] == 5
    assert result.summary == trace.summary == "outlook"
    assert result.usage.calls == 3
    assert from_text(Trace, to_text(trace)) == trace


async def test_a_failed_call_is_recorded_and_counted() -> None:
    failure = EndpointError("gone", usage=Usage(calls=3, failed_calls=3))
    run = run_over(WordMemory("x"), Script(summarise=[failure]))
    with pytest.raises(EndpointError):
        await run.ask("summarise", str, {"query": "q", "date": "d", "facts": "f", "steps": "s"})
    trace = run.trace(policy="p", parameters={}, returned=(), summary=None)
    assert trace.stages[0].error == "gone"
    assert trace.usage.failed_calls == 3


async def test_without_a_model_a_stage_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="name one, for example model='openai:gpt-4o'"):
        await recall("q", run_over(WordMemory("x")), Pgr(), context_tokens=100)


async def test_direct_search_asks_no_model() -> None:
    memory = WordMemory("passport lapsed", "likes tea", "passport photo")
    result = await recall("passport", run_over(memory, query="passport"), Direct(limit=2), context_tokens=300)
    assert [item.info for item in result.facts] == ["passport lapsed", "passport photo"]
    assert result.usage == Usage()
    assert "[f1]" in result.context
