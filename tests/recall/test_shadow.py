"""A second policy in the shadow: recorded, never served, and harmless."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from prospection import AsyncMemory, Settings
from prospection.config import RecallSettings
from prospection.errors import EndpointError
from prospection.recall.compare import compare
from prospection.recall.policies.direct import Direct
from prospection.recall.policies.lexical import Lexical
from prospection.recall.policies.pgr import Pgr
from prospection.recall.policies.rewrite import Rewrite
from prospection.recall.policy import Ranking
from prospection.recall.recall import recall
from prospection.recall.run import Run
from prospection.serial import from_text, to_text
from prospection.types import Trace
from remembered import Script, WordEmbedder, WordMemory, run_over

pytestmark = pytest.mark.anyio

MEMORY = WordMemory("passport lapsed", "likes tea", "passport photo")


class Broken:
    """A policy with a bug."""

    name = "broken"
    parameters: Mapping[str, Any] = {}

    async def recall(self, query: str, run: Run) -> Ranking:
        raise ZeroDivisionError("a bug")


async def test_both_are_recorded_and_one_is_served() -> None:
    model = Script(rewrite=[{"queries": ["likes tea"]}])
    served = await recall(
        "passport",
        run_over(MEMORY),
        Direct(limit=2),
        context_tokens=300,
        shadow=(Rewrite(limit=3), run_over(MEMORY, model)),
    )
    assert [item.fid for item in served.facts] == ["f1", "f3"]
    assert served.usage.calls == 0
    shadow = served.trace.shadow
    assert shadow is not None
    assert (shadow.policy, shadow.usage.calls) == ("rewrite", 1)
    found = compare(served.trace, shadow)
    assert (found.both, found.first_only, found.second_only) == (("f1", "f3"), (), ("f2",))
    assert found.overlap == pytest.approx(2 / 3)
    assert served.trace.facts["f2"] == "likes tea"  # so that forgetting f2 finds this trace
    assert from_text(Trace, to_text(served.trace)) == served.trace


@pytest.mark.parametrize(
    ("policy", "model", "said"),
    [
        (Broken(), None, "Shadow policy broken failed: ZeroDivisionError: a bug"),
        (Pgr(), None, "Shadow policy pgr failed: ConfigError"),
        (Rewrite(), Script(rewrite=[EndpointError("gone")]), "Shadow policy rewrite failed: EndpointError: gone"),
    ],
)
async def test_its_failure_is_a_note(policy: Broken | Pgr | Rewrite, model: Script | None, said: str) -> None:
    served = await recall(
        "passport", run_over(MEMORY), Direct(limit=1), context_tokens=300, shadow=(policy, run_over(MEMORY, model))
    )
    assert [item.fid for item in served.facts] == ["f1"]
    assert served.trace.shadow is None
    assert served.trace.notes[-1].startswith(said)


async def test_a_failing_policy_fails_as_without_a_shadow() -> None:
    with pytest.raises(EndpointError, match="gone"):
        await recall(
            "passport",
            run_over(MEMORY, Script(rewrite=[EndpointError("gone")])),
            Rewrite(),
            context_tokens=300,
            shadow=(Lexical(), run_over(MEMORY)),
        )


async def test_settings_or_an_argument_ask_for_it_and_forgetting_a_fact_erases_it() -> None:
    settings = Settings(recall=RecallSettings(shadow="direct", limit=1))
    async with AsyncMemory(":memory:", encoder=WordEmbedder(), settings=settings) as memory:
        for fact in MEMORY.facts:
            await memory.add_fact(fact.info, user="ada")
        found = await memory.recall("passport photo", user="ada", policy="lexical")
        assert found.trace.shadow is not None
        assert found.trace.shadow.policy == "direct"
        other = await memory.recall("likes tea", user="ada", policy="lexical", shadow="hybrid")
        assert other.trace.shadow is not None
        assert other.trace.shadow.policy == "hybrid"
        (latest, _) = await memory.traces(user="ada")
        assert latest == other.trace
        await memory.forget(user="ada", fid="f3")
        left = await memory.traces(user="ada")
        assert all("photo" not in to_text(trace) for trace in left)


def test_two_recalls_that_found_nothing_agree() -> None:
    empty = Trace(id="t", user="ada", query="q", policy="p", at=MEMORY.facts[0].said_at or _never(), encoder=None)
    assert compare(empty, empty).overlap == 1.0


def _never() -> Any:
    raise AssertionError
