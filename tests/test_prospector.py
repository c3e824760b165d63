"""Thinking ahead over a memory that is somebody else's."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from prospection import Prospector
from prospection.config import load_settings
from prospection.errors import ConfigError, InputError, NaiveTimeError, UnknownNameError
from prospection.types import Vectors
from remembered import CALIBRATION, NOW, Script, WordEmbedder, WordMemory

pytestmark = pytest.mark.anyio

NOTES = (
    "User's mother has dialysis every Monday.",
    "User's passport lapsed in April.",
    "User collects vinyl records of the seventies.",
    "User likes old trains and maps of Italy.",
)
QUERY = "Plan two weeks in Italy"


def foreseen(*facts: str) -> dict[str, object]:
    steps = [{"step": f"step about {fact}", "facts": [fact]} for fact in facts]
    return {"branches": [{"theme": "care", "steps": steps}], "rewrites": ["a trip"]}


async def test_with_a_model_two_calls_imagine_and_select() -> None:
    memory = WordMemory(*NOTES)
    model = Script(
        foresee=[foreseen("User's passport lapsed")],
        select=[{"selected": [{"id": "f2", "why": "renew it"}], "outlook": "Renew it."}],
        answer=["Renew your passport first [f2]."],
    )
    prospector = Prospector(memory, model=model, encoder=WordEmbedder())
    answer = await prospector.answer(QUERY, at=NOW)
    # Whether a short list is all that a foreign memory holds is not known, so the future is imagined all the same.
    assert model.stages == ["foresee", "select", "answer"]
    assert [(item.fid, item.reason) for item in answer.recall.facts] == [("f2", "renew it")]
    assert answer.citations == ("f2",)
    assert answer.recall.trace.at == NOW
    assert answer.usage.calls == 3


async def test_steps_search_where_no_facts_were_imagined() -> None:
    memory = WordMemory(*NOTES)
    future = {"branches": [{"theme": "papers", "steps": [{"step": "check the passport", "facts": []}]}]}
    model = Script(foresee=[future], select=[{"selected": []}])
    recall = await Prospector(memory, model=model, encoder=WordEmbedder()).recall(QUERY)
    over_facts = [search.probe.text for search in recall.trace.searches if search.probe.over == "facts"]
    assert over_facts == [QUERY, "check the passport"]


async def test_without_a_model_the_packaged_goals_reach_what_the_request_does_not() -> None:
    asked: list[str] = []

    def search(texts: list[str], k: int) -> list[list[str]]:
        asked.extend(texts)
        return [[note for note in NOTES if set(note.lower().split()) & set(text.lower().split())] for text in texts]

    recall = await Prospector(search).recall("Plan a journey abroad")
    assert recall.trace.policy == "library"
    assert len(asked) > 50
    assert NOTES[1] in [item.info for item in recall.facts]


async def test_thresholds_are_this_encoders_cosines() -> None:
    def search(texts: list[str], k: int) -> list[list[tuple[str, str, float]]]:
        return [[(str(n), note, 50.0 - n) for n, note in enumerate(NOTES)] for _ in texts]

    model = Script(
        augment=[{"query": "passport"}],
        simulate=[{"branches": [{"theme": "papers", "steps": ["passport lapsed"]}]}],
        summarise=["outlook"],
    )
    settings = load_settings(recall={"policy": "pgr", "pgr": {"iterative": False}})
    prospector = Prospector(search, model=model, encoder=WordEmbedder(), settings=settings)
    recall = await prospector.recall("zzz")
    step, *notes = await WordEmbedder().embed(["passport lapsed", *NOTES])
    expected = [(str(n), 50.0 - n) for n, note in enumerate(notes) if float(step @ note) >= CALIBRATION.tau]
    assert 0 < len(expected) < len(NOTES)
    reached = {search.probe.kind: [hit[:2] for hit in search.hits] for search in recall.trace.searches}
    assert reached == {"query": [], "step": expected}


async def test_vectors_of_another_encoder_are_not_used() -> None:
    class Wide(WordMemory):
        async def vectors(self, facts: object) -> Vectors:
            raise AssertionError

    recall = await Prospector(Wide(*NOTES), encoder=WordEmbedder()).recall(QUERY)
    assert recall.facts


@pytest.mark.parametrize("policy", ["direct", "hybrid", "library", "lexical"])
async def test_an_empty_memory_is_nothing_found(policy: str) -> None:
    prospector = Prospector(lambda texts, k: [[] for _ in texts], encoder=WordEmbedder())
    recall = await prospector.recall(QUERY, policy=policy)
    assert recall.facts == ()
    assert recall.context == ""


async def test_limit_and_policy_of_one_recall() -> None:
    recall = await Prospector(WordMemory(*NOTES), encoder=WordEmbedder()).recall("passport", policy="direct", limit=1)
    assert [item.info for item in recall.facts] == [NOTES[1]]
    assert recall.trace.policy == "direct"


async def test_what_cannot_be_done_is_said() -> None:
    prospector = Prospector(WordMemory(*NOTES), encoder=WordEmbedder())
    with pytest.raises(ConfigError, match="an answer needs a language model"):
        await prospector.answer(QUERY)
    with pytest.raises(InputError, match="query is empty"):
        await prospector.recall("  ")
    with pytest.raises(NaiveTimeError):
        await prospector.recall(QUERY, at=datetime(2025, 3, 1))  # noqa: DTZ001
    with pytest.raises(UnknownNameError, match="did you mean 'direct'"):
        await prospector.recall(QUERY, policy="direkt")
    with pytest.raises(InputError, match="is not a memory"):
        Prospector("memory.db")


def test_the_same_without_awaiting() -> None:
    model = Script(
        foresee=[foreseen("User's passport lapsed")] * 2,
        select=[{"selected": [{"id": "f2", "why": "renew it"}]}] * 2,
        answer=["Renew it [f2]."],
    )
    with Prospector(WordMemory(*NOTES), model=model, encoder=WordEmbedder()).sync() as prospector:
        assert [item.fid for item in prospector.recall(QUERY, at=datetime(2025, 3, 1, tzinfo=UTC)).facts] == ["f2"]
        assert prospector.answer(QUERY).citations == ("f2",)
    prospector.close()
