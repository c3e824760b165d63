"""What each phase of a recall brought, and the table of it."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from loopback import Chat, Loopback
from prospection.config import RecallSettings
from prospection.errors import NotRecordedError
from prospection.evaluation.costs import costs_report, phase_counts
from prospection.evaluation.datasets import load_dataset
from prospection.evaluation.recall import measure_recall
from prospection.evaluation.results import RecallResult
from prospection.evaluation.systems import build_system
from prospection.library.library import GoalLibrary
from prospection.models.chat import PydanticAIChat
from prospection.models.open import build_model
from prospection.protocols import ChatModel
from prospection.store.sqlite import SQLiteStore
from prospection.types import Probe, ProbeHits, StageRecord, Trace, Usage
from remembered import NOW, WordEmbedder

QUEST = Path(__file__).parents[1] / "data" / "evaluation" / "quest"
QUERY = Probe(pid="p0", text="italy", kind="query")
LATER = Probe(pid="p1", text="mother", kind="step", round=1)
TRACE = Trace(
    id="t",
    user="ada",
    query="italy",
    policy="pgr",
    at=NOW,
    encoder="e",
    searches=(
        ProbeHits(probe=QUERY, hits=(("f1", 0.9, None),)),
        ProbeHits(probe=LATER, hits=(("f1", 0.9, None), ("f2", 0.5, None), ("f3", 0.4, None))),
    ),
    returned=(("f1", 1.0), ("f2", 1.0), ("f9", 0.5)),
)


def selection(round_: int, *fids: str) -> StageRecord:
    output = {"selected": [{"id": fid, "why": "w"} for fid in fids]}
    return StageRecord(
        stage="select", round=round_, model="m", prompt="p", inputs={}, output=output, usage=Usage(calls=1)
    )


def test_a_fact_belongs_to_the_first_round_that_reached_it() -> None:
    assert phase_counts(TRACE) == (2, 1)  # f2 is new in round 1; f9 was found by other means


def test_where_a_model_selects_a_fact_belongs_to_the_round_of_its_selection() -> None:
    failed = replace(selection(0), output=None, error="gone")
    stages = (failed, selection(0, "[f2]"), selection(1, "f1", "f2"))
    assert phase_counts(replace(TRACE, stages=stages)) == (2, 1)  # now f1 is the new one


async def measured(
    policies: tuple[str, ...], model: ChatModel | None, *, equal_budget: bool = False, delta: int = 5
) -> RecallResult:
    embedder = WordEmbedder()
    async with await SQLiteStore.open(":memory:", encoder=(embedder.id, embedder.dims)) as store:
        settings = RecallSettings.model_validate({"pgr": {"k": 1, "tau": 0.0, "delta": delta}, "limit": 2})
        library = GoalLibrary(embedder)
        systems = [
            build_system(
                name, settings, store=store, embedder=embedder, library=library, model=model, equal_budget=equal_budget
            )
            for name in policies
        ]
        return await measure_recall(load_dataset(QUEST), systems, store=store, embedder=embedder)


def answer(chat: Chat) -> dict[str, Any] | str:
    """A model that looks ahead to passports, and in the second round to hives."""
    if chat.schema is None:
        return "The outlook."
    if "query" in chat.schema["properties"]:
        return {"query": "leaving"}
    where = "User keeps bee hives" if "<previous_steps>" in chat.user else "User's passport ran out in May."
    return {"branches": [{"theme": "t", "steps": [where]}]}


@pytest.mark.anyio
async def test_policies_are_costed_as_they_serve() -> None:
    with Loopback(answer) as server:
        result = await measured(("direct", "pgr"), PydanticAIChat(build_model("tiny", server.url), name="tiny"))
    systems = result.to_json()["systems"]
    assert systems["direct"]["costs"]["facts_first_phase"] <= 2
    assert (systems["direct"]["llm_calls"], systems["direct"]["costs"]["tokens_in"]) == (0.0, 0.0)
    pgr = systems["pgr"]["costs"]
    assert systems["pgr"]["llm_calls"] == 4.0  # augment, simulate, one refinement, summary
    assert pgr["facts_first_phase"] >= 1
    assert pgr["facts_later"] > 0
    assert pgr["tokens_in"] > 100
    assert pgr["cost"] is None  # nobody knows what the tiny model costs
    out = io.StringIO()
    Console(file=out, width=110).print(costs_report(result))
    assert "new after" in out.getvalue()
    assert "unknown" in out.getvalue()


@pytest.mark.anyio
async def test_filling_the_budget_changes_no_call_of_the_published_algorithm() -> None:
    with Loopback(answer) as server:
        model = PydanticAIChat(build_model("tiny", server.url), name="tiny")
        served = (await measured(("pgr",), model, delta=1)).to_json()["systems"]["pgr"]
        asked = [chat.user for chat in server.chats]
        filled = (await measured(("pgr",), model, delta=1, equal_budget=True)).to_json()["systems"]["pgr"]
        assert [chat.user for chat in server.chats] == asked * 2
    assert filled["recall"]["100"] == 1.0 > served["recall"]["100"]
    assert filled["costs"]["facts_later"] == served["costs"]["facts_later"]


@pytest.mark.anyio
async def test_a_policy_whose_reply_was_not_recorded_says_what_is_missing() -> None:
    with pytest.raises(NotRecordedError, match="no recorded reply for stage 'hyde'"):
        await measured(("hyde",), None)
