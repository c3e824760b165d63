"""Consolidation: what is merged, what is refused, how it comes apart. Real SQLite, scripted and real HTTP models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from loopback import Loopback
from prospection.config import RememberSettings
from prospection.errors import EndpointError, ReplyError
from prospection.models.chat import PydanticAIChat
from prospection.models.meter import MeteredChat
from prospection.models.open import build_model
from prospection.protocols import ChatModel
from prospection.remember.consolidation import Consolidating
from prospection.remember.remember import Remembering
from prospection.remember.upsert import additions
from prospection.store.sqlite import SQLiteStore
from prospection.types import (
    Budget,
    Candidate,
    Cue,
    EventTime,
    Fact,
    FactType,
    Message,
    Pin,
    Precision,
    Revise,
    Session,
    Source,
    Stored,
    Unmerge,
)
from remembered import Script, WordEmbedder

pytestmark = pytest.mark.anyio

AT = datetime(2025, 3, 1, 9, tzinfo=UTC)
DOG = "Ada has a dog named Rex."
OLD = "Ada has a dog named Rex, 9 years old."
BOTH = "Ada has a dog named Rex who is 9 years old."
ELSE = "Bergen rains all winter."


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    embedder = WordEmbedder()
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(embedder.id, embedder.dims)) as opened:
        yield opened


def told(info: str, *, kind: FactType = FactType.IDENTITY, when: EventTime | None = None) -> Candidate:
    return Candidate(info=info, type=kind, related_entities=("Rex",) if "Rex" in info else (), event_time=when)


async def remember(store: SQLiteStore, session: str, *candidates: Candidate, days: float = 0) -> tuple[Fact, ...]:
    at = AT + timedelta(days=days)
    await store.put_session("ada", Session(id=session, at=at, messages=(Message(role="user", content="Hello"),)))
    await store.claim_session("ada", session, now=at, lease=60)
    new = await additions(
        [
            Candidate(
                info=each.info,
                type=each.type,
                related_entities=each.related_entities,
                event_time=each.event_time,
                provenance=(Source(session=session, message=0),),
            )
            for each in candidates
        ],
        WordEmbedder(),
    )
    return await store.finish_session("ada", session, new, extracted=1, now=at)


def consolidating(
    store: SQLiteStore, model: ChatModel | None = None, budget: Budget | None = None, **settings: Any
) -> Consolidating:
    return Consolidating(
        user="ada",
        store=store,
        embedder=WordEmbedder(),
        model=None if model is None else MeteredChat(model, budget),
        settings=RememberSettings(**settings),
    )


def merges(*statements: str | None, cues: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "merges": [
            {"group": number, "statement": statement, "cues": list(cues)}
            for number, statement in enumerate(statements, start=1)
            if statement is not None
        ]
    }


async def current(store: SQLiteStore) -> list[str]:
    return [fact.info for fact in await store.facts("ada")]


async def test_facts_of_one_matter_become_one(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(ELSE))
    await remember(store, "s2", told(OLD), days=3)
    model = Script(consolidate=[merges(BOTH, cues=["leaving town for a week"])])
    done = await consolidating(store, model).run()
    (merge,) = done.merges
    assert (merge.statement, merge.refused, [fact.fid for fact in merge.sources]) == (BOTH, None, ["f1", "f3"])
    assert (done.facts, done.new, done.partial, done.usage.calls) == (3, 3, None, 1)
    assert merge.fact is not None
    assert merge.fact.cues == (Cue(text="leaving town for a week"),)
    assert (merge.fact.related_entities, merge.fact.said_at) == (("Rex",), AT + timedelta(days=3))
    assert [source.session for source in merge.fact.provenance] == ["s1", "s2"]
    assert await current(store) == [ELSE, BOTH]
    assert [fact.superseded_by for fact in await store.facts("ada", history=True)] == ["f4", None, "f4", None]
    assert "Group 1\n- (2025-03-01) Ada has a dog" in model.requests[0].user
    assert "f1" not in model.requests[0].user


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("Ada has a dog who is 9 years old.", "lacks Rex"),
        ("Ada has a dog named Rex, years old.", "lacks 9"),
        ("Ada has a dog named Rex, 9 years old, from Bergen.", "brings in Bergen"),
        ("Ada has a dog named Rex, 9 or 10 years old.", "brings in 10"),
        ("Ada has no dog named Rex, 9 years old.", "brings in not"),
        (None, "left them apart"),
        ("  ", "left them apart"),
    ],
)
async def test_what_loses_or_invents_is_refused(store: SQLiteStore, statement: str | None, why: str) -> None:
    await remember(store, "s1", told(DOG), told(OLD))
    done = await consolidating(store, Script(consolidate=[merges(statement)])).run()
    (merge,) = done.merges
    assert merge.fact is None
    assert why in (merge.refused or "")
    assert await current(store) == [DOG, OLD]
    assert (await consolidating(store, Script()).run()).merges == ()  # it was looked at; it is not asked again


def on(day: int) -> EventTime:
    start = AT + timedelta(days=day)
    return EventTime(start=start, end=start + timedelta(days=1), precision=Precision.DAY)


@pytest.mark.parametrize("order", ["published", "improved"])
async def test_no_date_is_lost(store: SQLiteStore, order: Any) -> None:
    await remember(store, "s1", told(DOG, when=on(1)), told(OLD, when=on(2)))
    done = await consolidating(store, Script()).run(order=order)
    assert all("2 different times" in (merge.refused or "") for merge in done.merges)
    assert len(done.merges) == (order == "published")


async def test_the_one_time_there_is_stays(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG, when=on(1)), told(OLD))
    done = await consolidating(store, Script(consolidate=[merges(BOTH)])).run()
    assert done.merges[0].fact is not None
    assert done.merges[0].fact.event_time == on(1)


async def test_kinds_windows_and_pins_keep_facts_apart(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(OLD, kind=FactType.EVENT))
    await remember(store, "s2", told("Ada has a dog named Rex, 9 years old now."), days=9)
    preview = await consolidating(store, Script()).run(preview=True, order="improved")
    assert preview.merges == ()
    preview = await consolidating(store, Script()).run(preview=True, order="published")
    assert [[fact.fid for fact in merge.sources] for merge in preview.merges] == [["f1", "f2"]]
    await store.edit_facts("ada", [Pin(fid="f1")], at=AT)
    preview = await consolidating(store, Script()).run(preview=True, order="published")
    assert preview.merges == ()


async def test_a_preview_asks_and_changes_nothing(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(OLD))
    model = Script()
    before = await store.facts("ada", history=True)
    done = await consolidating(store, model).run(preview=True)
    assert (done.preview, len(done.merges), done.merges[0].statement) == (True, 1, None)
    assert model.requests == []
    assert await store.facts("ada", history=True) == before
    assert (await store.statistics("ada"))["facts_new"] == 2


async def test_only_groups_with_something_new_are_looked_at(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(OLD))
    await consolidating(store, Script(consolidate=[merges(BOTH)])).run()
    assert (await store.statistics("ada"))["facts_new"] == 0  # nor is the merged fact new
    assert (await consolidating(store, Script()).run()).merges == ()
    await remember(store, "s2", told("Ada has a dog named Rex who barks."))
    done = await consolidating(store, Script(consolidate=[merges(None)])).run()
    assert [[fact.info for fact in merge.sources] for merge in done.merges] == [
        [BOTH, "Ada has a dog named Rex who barks."]
    ]


async def test_an_undone_merge_stays_undone(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(OLD))
    before = await store.facts("ada", history=True)
    await consolidating(store, Script(consolidate=[merges(BOTH)])).run()
    await store.edit_facts("ada", [Unmerge(fid="f3")], at=AT)
    assert await store.facts("ada", history=True) == before
    assert (await consolidating(store, Script()).run()).merges == ()


async def test_without_a_model_only_repeats_are_merged(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(OLD), told("Ada also has a dog named Rex."))
    done = await consolidating(store).run()
    (merge,) = done.merges
    assert [fact.info for fact in merge.sources] == [DOG, "Ada also has a dog named Rex."]
    assert await current(store) == [OLD, "Ada also has a dog named Rex."]
    assert (await consolidating(store).run()).merges == ()
    assert (await store.statistics("ada"))["facts_new"] == 2  # a model may still see more in them


async def test_nothing_to_consolidate(store: SQLiteStore) -> None:
    done = await consolidating(store, Script()).run()
    assert (done.facts, done.new, done.merges) == (0, 0, ())


async def test_a_ceiling_ends_the_run_and_the_next_goes_on(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(OLD))
    model = Script(consolidate=[merges(BOTH)])
    done = await consolidating(store, model, Budget(max_calls=0)).run()
    assert "max_calls is 0" in (done.partial or "")
    assert (await store.statistics("ada"))["facts_new"] == 2
    assert (await consolidating(store, model).run()).merges[0].fact is not None


async def test_a_reply_that_never_parses_leaves_the_groups_apart(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(OLD))
    done = await consolidating(store, Script(consolidate=[ReplyError("no JSON", raw="hm")])).run()
    assert "no JSON" in (done.merges[0].refused or "")
    await remember(store, "s2", told("Ada has a dog named Rex who barks."))
    with pytest.raises(EndpointError):
        await consolidating(store, Script(consolidate=[EndpointError("away")])).run()
    assert (await store.statistics("ada"))["facts_new"] == 1


async def test_what_somebody_changes_meanwhile_is_left_alone(store: SQLiteStore) -> None:
    class Meddling(Script):
        async def complete(self, request: Any) -> Any:
            (new,) = await additions([told("Ada's dog is gone.")], WordEmbedder())
            edit = Revise(fids=("f1",), candidate=new.candidate, vector=new.vector, cue_vectors=new.cue_vectors)
            await store.edit_facts("ada", [edit], at=AT)
            return await super().complete(request)

    await remember(store, "s1", told(DOG), told(OLD))
    done = await consolidating(store, Meddling(consolidate=[merges(BOTH)])).run()
    assert "'f1' has been replaced" in (done.merges[0].refused or "")
    assert await current(store) == [OLD, "Ada's dog is gone."]


async def test_over_http(store: SQLiteStore) -> None:
    await remember(store, "s1", told(DOG), told(OLD))
    with Loopback() as server:
        server.script(merges(BOTH))
        chat = PydanticAIChat(build_model("tiny", server.url), name="tiny", retries=1, backoff=0.001)
        done = await consolidating(store, chat).run()
    assert done.merges[0].fact is not None
    assert done.usage.tokens_in > 0
    assert await current(store) == [BOTH]


async def test_it_follows_a_conversation_when_enough_has_gathered(store: SQLiteStore) -> None:
    def extracted(*infos: str) -> dict[str, Any]:
        return {"facts": [{"info": info, "type": "Identity"} for info in infos]}

    async def add(name: str, model: Script, **settings: Any) -> Stored:
        session = Session(id=name, at=AT, messages=(Message(role="user", content=f"This is {name}."),))
        remembering = Remembering(
            store, WordEmbedder(), model, RememberSettings(consolidate_after=2, upsert="rules", **settings)
        )
        outcome = await remembering.add("ada", session, now=AT)
        assert isinstance(outcome, Stored)
        return outcome

    assert (await add("s1", Script(extract=[extracted(DOG)]), consolidate=True)).consolidated is None
    model = Script(extract=[extracted(ELSE)])
    assert (await add("s2", model)).consolidated is None  # not by default
    model = Script(extract=[extracted(OLD)], consolidate=[EndpointError("away")])
    outcome = await add("s3", model, consolidate=True)
    assert outcome.consolidated is not None
    assert outcome.consolidated.partial == "away"
    model = Script(extract=[extracted("Oslo too.")], consolidate=[merges(BOTH)])
    outcome = await add("s4", model, consolidate=True)
    assert outcome.consolidated is not None
    assert outcome.consolidated.merges[0].fact is not None
    assert outcome.usage.calls == 2
