"""What becomes of new facts beside stored ones: a real SQLite file, a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from prospection.config import RememberSettings
from prospection.errors import EndpointError, ReplyError
from prospection.protocols import ChatModel
from prospection.remember.remember import Remembering
from prospection.remember.upsert import additions, distinct, similarity_at
from prospection.store.sqlite import SQLiteStore
from prospection.types import (
    Candidate,
    Cue,
    Fact,
    FactType,
    Failed,
    Message,
    Nothing,
    Pin,
    Revise,
    Session,
    Source,
    Stored,
)
from remembered import Script, WordEmbedder

pytestmark = pytest.mark.anyio

AT = datetime(2025, 3, 1, 9, tzinfo=UTC)
SIEMENS = "Ada works at Siemens."
BOSCH = "Ada works at Bosch."


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    embedder = WordEmbedder()
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(embedder.id, embedder.dims)) as opened:
        yield opened


def extracted(*infos: str, cues: Sequence[str] = ()) -> dict[str, Any]:
    return {"facts": [{"info": info, "type": "Identity", "cues": list(cues)} for info in infos]}


def proposed(*proposals: dict[str, Any]) -> dict[str, Any]:
    return {"proposals": list(proposals)}


def revise(new: int, stored: int, statement: str | None, **more: Any) -> dict[str, Any]:
    return {"new": new, "action": "revise", "stored": stored, "statement": statement, **more}


class Life:
    """Remembers sessions one day after the other."""

    def __init__(self, store: SQLiteStore, model: ChatModel | None, **settings: Any) -> None:
        self.store = store
        self.remembering = Remembering(store, WordEmbedder(), model, RememberSettings(**settings))
        self.days = 0

    async def add(self, *texts: str, days: int | None = None) -> Stored:
        self.days = self.days + 1 if days is None else days
        session = Session(
            id=f"s{self.days}",
            at=AT + timedelta(days=self.days),
            messages=tuple(Message(role="user", content=text) for text in texts or ("I talk about myself.",)),
        )
        outcome = await self.remembering.add("ada", session, now=AT)
        assert isinstance(outcome, Stored), outcome
        return outcome

    async def current(self) -> list[str]:
        return [fact.info for fact in await self.store.facts("ada")]

    async def history(self) -> list[Fact]:
        return await self.store.facts("ada", history=True)


def sessions(fact: Fact) -> list[str]:
    return [source.session for source in fact.provenance]


# --- by a model


async def test_a_contradiction_replaces_and_never_deletes_without_adding(store: SQLiteStore) -> None:
    model = Script(
        extract=[extracted(SIEMENS), extracted(BOSCH, cues=["writing her a reference"])],
        upsert=[proposed(revise(1, 1, BOSCH))],
    )
    path = Life(store, model)
    await path.add()
    outcome = await path.add()
    old, new = await path.history()
    assert (old.info, old.superseded_by, old.valid_until) == (SIEMENS, new.fid, AT + timedelta(days=2))
    assert (new.info, new.supersedes, sessions(new), new.frequency) == (BOSCH, (old.fid,), ["s1", "s2"], 2)
    assert new.cues == (Cue(text="writing her a reference"),)
    assert outcome.facts == (new,)
    assert outcome.usage.calls == 2


async def test_two_tastes_are_two_facts(store: SQLiteStore) -> None:
    cortado, white = "Ada's favourite coffee is a cortado.", "Ada's favourite coffee is a flat white."
    model = Script(extract=[extracted(cortado), extracted(white)], upsert=[proposed({"new": 1, "action": "add"})])
    path = Life(store, model)
    await path.add()
    await path.add()
    assert await path.current() == [cortado, white]


async def test_the_same_in_other_words_reinforces_and_what_is_covered_is_skipped(store: SQLiteStore) -> None:
    model = Script(
        extract=[
            extracted(SIEMENS, "Ada has a dog named Rex."),
            extracted("Ada works for Siemens.", "Ada has a dog.", "Ada sings."),
        ],
        upsert=[
            proposed(
                {"new": 1, "action": "Reinforce", "stored": 1},
                {"new": 2, "action": "skip", "stored": 2},
                {"new": 3, "action": "add"},
            )
        ],
    )
    path = Life(store, model)
    await path.add()
    outcome = await path.add()
    assert await path.current() == [SIEMENS, "Ada has a dog named Rex.", "Ada sings."]
    assert [fact.frequency for fact in await path.history()] == [2, 1, 1]
    assert [fact.fid for fact in outcome.facts] == ["f1", "f3"]


async def test_a_joined_statement_keeps_both_as_history(store: SQLiteStore) -> None:
    dog, rex, both = "Ada has a dog.", "Ada's dog is named Rex.", "Ada has a dog named Rex."
    model = Script(
        extract=[extracted(dog), extracted(rex, cues=["a"])],
        upsert=[proposed(revise(1, 1, both, cues=["booking a hotel for two and a half"]))],
    )
    path = Life(store, model)
    await path.add()
    await path.add()
    assert await path.current() == [both]
    first, said, joined = await path.history()
    assert [first.info, said.info] == [dog, rex]
    assert joined.supersedes == (first.fid, said.fid)
    assert sessions(joined) == ["s1", "s2"]
    assert joined.cues == (Cue(text="booking a hotel for two and a half"),)
    await store.forget("ada", session="s1")
    assert await path.current() == [rex]


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("Ada works at Bosch in Stuttgart.", BOSCH),  # a place that nobody named
        ("Ada works.", BOSCH),  # what she said just now is lost
        (f"  {BOSCH} ", BOSCH),
    ],
)
async def test_a_statement_that_does_not_hold_gives_way_to_what_was_said(
    store: SQLiteStore, statement: str, kept: str
) -> None:
    path = Life(
        store,
        Script(extract=[extracted(SIEMENS), extracted(BOSCH)], upsert=[proposed(revise(1, 1, statement))]),
    )
    await path.add()
    await path.add()
    assert await path.current() == [kept]
    assert len(await path.history()) == 2


@pytest.mark.parametrize(
    "reply",
    [
        proposed(),  # no word about it
        proposed(revise(1, 9, BOSCH)),  # a number that was not shown
        proposed(revise(1, 0, BOSCH)),
        proposed(revise(1, 1, None)),  # no statement
        proposed(revise(1, 1, "  ")),
        proposed(revise(7, 1, BOSCH)),  # an unknown candidate
        proposed({"new": 1, "action": "skip"}),  # covered by nothing
        proposed({"new": 1, "action": "reinforce", "stored": 4}),
    ],
)
async def test_a_judgement_that_does_not_hold_up_adds(store: SQLiteStore, reply: dict[str, Any]) -> None:
    path = Life(store, Script(extract=[extracted(SIEMENS), extracted(BOSCH)], upsert=[reply]))
    await path.add()
    await path.add()
    assert await path.current() == [SIEMENS, BOSCH]


async def test_a_fact_is_revised_once_and_the_first_word_counts(store: SQLiteStore) -> None:
    miele = "Ada works at Miele."
    model = Script(
        extract=[extracted(SIEMENS), extracted(BOSCH, miele)],
        upsert=[proposed(revise(1, 1, BOSCH), revise(1, 1, "Nonsense."), revise(2, 1, miele))],
    )
    path = Life(store, model)
    await path.add()
    await path.add()
    assert await path.current() == [BOSCH, miele]


async def test_one_reinforces_what_another_revises(store: SQLiteStore) -> None:
    model = Script(
        extract=[extracted(SIEMENS), extracted(BOSCH, "Ada worked at Siemens.")],
        upsert=[proposed(revise(1, 1, BOSCH), {"new": 2, "action": "reinforce", "stored": 1})],
    )
    path = Life(store, model)
    await path.add()
    await path.add()
    old, new = await path.history()
    assert (old.frequency, new.info, new.frequency) == (2, BOSCH, 2)


async def test_an_older_conversation_revises_nothing_that_was_said_later(store: SQLiteStore) -> None:
    path = Life(store, Script(extract=[extracted(BOSCH), extracted(SIEMENS)], upsert=[proposed(revise(1, 1, SIEMENS))]))
    await path.add(days=9)
    await path.add(days=2)
    assert await path.current() == [BOSCH, SIEMENS]


async def test_no_model_revises_what_is_pinned(store: SQLiteStore) -> None:
    path = Life(store, Script(extract=[extracted(SIEMENS), extracted(BOSCH)], upsert=[proposed(revise(1, 1, BOSCH))]))
    await path.add()
    await store.edit_facts("ada", [Pin(fid="f1")], at=AT)
    await path.add()
    assert await path.current() == [SIEMENS, BOSCH]


# --- what reaches the model


async def test_exact_repeats_and_facts_without_neighbours_cost_no_call(store: SQLiteStore) -> None:
    model = Script(extract=[extracted(SIEMENS), extracted("ada works at  SIEMENS", "Rain in Bergen all year.")])
    path = Life(store, model)
    await path.add()
    await path.add()
    assert model.stages == ["extract", "extract"]
    assert [fact.frequency for fact in await path.history()] == [2, 1]


async def test_the_model_sees_numbers_and_days_and_no_id(store: SQLiteStore) -> None:
    model = Script(extract=[extracted("Ada works at <Siemens>."), extracted(BOSCH)], upsert=[proposed()])
    path = Life(store, model)
    await path.add()
    await path.add()
    request = model.requests[-1]
    assert "[1] (2025-03-02) Ada works at &lt;Siemens&gt;." in request.user
    assert "[1] Ada works at Bosch. (near stored 1)" in request.user
    assert "<date>2025-03-03</date>" in request.user
    assert "f1" not in request.user
    assert request.subject == "s2"


async def test_a_model_that_cannot_judge_leaves_it_to_rules(store: SQLiteStore) -> None:
    model = Script(
        extract=[extracted(SIEMENS), extracted("Ada also works at Siemens.", BOSCH)],
        upsert=[ReplyError("no JSON", raw="hm")],
    )
    path = Life(store, model)
    await path.add()
    await path.add()
    assert await path.current() == [SIEMENS, BOSCH]
    assert (await path.history())[0].frequency == 2


async def test_a_model_that_is_away_leaves_the_session_for_later(store: SQLiteStore) -> None:
    model = Script(extract=[extracted(SIEMENS), extracted(BOSCH)], upsert=[EndpointError("away")])
    path = Life(store, model)
    await path.add()
    session = Session(id="s2", at=AT, messages=(Message(role="user", content="I moved on."),))
    assert isinstance(await path.remembering.add("ada", session, now=AT), Failed)
    assert await path.current() == [SIEMENS]


# --- when somebody else writes at the same time


class Meddling(Script):
    """Somebody replaces the fact while the model thinks."""

    def __init__(self, store: SQLiteStore, times: int, **replies: Sequence[object]) -> None:
        super().__init__(**replies)
        self._store, self._times = store, times

    async def complete(self, request: Any) -> Any:
        if request.stage == "upsert" and self._times:
            self._times -= 1
            (fact,) = await self._store.facts("ada")
            (new,) = await additions([Candidate(info=f"{fact.info[:-1]} again.", type=FactType.EVENT)], WordEmbedder())
            edit = Revise(fids=(fact.fid,), candidate=new.candidate, vector=new.vector, cue_vectors=new.cue_vectors)
            await self._store.edit_facts("ada", [edit], at=AT)
        return await super().complete(request)


@pytest.mark.parametrize(
    ("times", "current"),
    [(1, [BOSCH]), (2, ["Ada works at Siemens again again.", BOSCH])],
)
async def test_a_conflict_is_thought_over_once_and_then_added(
    store: SQLiteStore, times: int, current: list[str]
) -> None:
    reply = proposed(revise(1, 1, BOSCH))
    model = Meddling(store, times, extract=[extracted(SIEMENS), extracted(BOSCH)], upsert=[reply, reply])
    path = Life(store, model)
    await path.add()
    await path.add()
    assert model.stages == ["extract", "extract", "upsert", "upsert"]
    assert await path.current() == current


async def test_a_session_that_somebody_else_finished_is_not_stored_twice(store: SQLiteStore) -> None:
    class Racing(Script):
        async def complete(self, request: Any) -> Any:
            await store.finish_session("ada", "s1", [], extracted=1, now=AT)
            return await super().complete(request)

    session = Session(id="s1", at=AT, messages=(Message(role="user", content="I work at Siemens."),))
    remembering = Remembering(store, WordEmbedder(), Racing(extract=[extracted(SIEMENS)]), RememberSettings())
    assert isinstance(await remembering.add("ada", session, now=AT), Nothing)
    assert await store.facts("ada") == []


# --- by rules


async def test_rules_join_repeats_and_keep_everything_else_apart(store: SQLiteStore) -> None:
    path = Life(store, None)
    await path.add("I work at Siemens as an engineer.")
    await path.add("I also work at Siemens as an engineer.")
    await path.add("I work at Bosch as an engineer.")
    await path.add("I don't work at Bosch as an engineer.")
    assert await path.current() == [
        "I work at Siemens as an engineer.",
        "I work at Bosch as an engineer.",
        "I don't work at Bosch as an engineer.",
    ]
    assert (await path.history())[0].frequency == 2


async def test_rules_can_be_chosen_where_there_is_a_model(store: SQLiteStore) -> None:
    model = Script(extract=[extracted(SIEMENS), extracted(BOSCH)])
    path = Life(store, model, upsert="rules")
    await path.add()
    await path.add()
    assert await path.current() == [SIEMENS, BOSCH]


# --- pieces


def candidate(info: str, *cues: str, message: int = 0) -> Candidate:
    return Candidate(
        info=info,
        type=FactType.IDENTITY,
        provenance=(Source(session="s", message=message),),
        cues=tuple(Cue(text=text) for text in cues),
    )


def test_repeats_are_joined_with_their_sources() -> None:
    kept = distinct([candidate("I am Ada."), candidate("I sing."), candidate("i  am ADA", message=3)])
    assert [each.info for each in kept] == ["I am Ada.", "I sing."]
    assert [source.message for source in kept[0].provenance] == [0, 3]
    assert distinct([]) == []


async def test_each_candidate_gets_its_own_vectors() -> None:
    embedder = WordEmbedder()
    found = await additions([candidate("a", "a1", "a2"), candidate("b"), candidate("c", "c1")], embedder)
    rows = await embedder.embed(["a", "b", "c", "a1", "a2", "c1"])
    assert [each.vector.tolist() for each in found] == rows[:3].tolist()
    assert [each.cue_vectors.tolist() for each in found] == [rows[3:5].tolist(), [], rows[5:].tolist()]
    assert found[1].cue_vectors.shape == (0, 64)
    assert await additions([], embedder) == []


def test_thresholds_are_in_units_of_the_encoders_noise() -> None:
    calibration = WordEmbedder.calibration
    assert similarity_at(calibration, 2.0) == pytest.approx(0.3)
    assert similarity_at(calibration, 50) == 0.99
