"""Facts by hand, and the review of a conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prospection.config import RememberSettings
from prospection.errors import ConflictError, InputError
from prospection.remember.by_hand import ByHand
from prospection.remember.remember import Remembering
from prospection.remember.review import review
from prospection.store.sqlite import SQLiteStore
from prospection.types import BY_HAND, Cue, FactType, Message, Session, Source
from remembered import Script, WordEmbedder

pytestmark = pytest.mark.anyio

AT = datetime(2025, 3, 1, 9, tzinfo=UTC)
LATER = AT + timedelta(days=1)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    embedder = WordEmbedder()
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(embedder.id, embedder.dims)) as opened:
        yield opened


@pytest.fixture
def hand(store: SQLiteStore) -> ByHand:
    return ByHand(user="ada", store=store, embedder=WordEmbedder())


async def test_what_a_person_writes_is_stored_as_it_stands(hand: ByHand, store: SQLiteStore) -> None:
    fact = await hand.add("I'm allergic to\n nuts, says Dr. Weber.", at=AT, cues=["booking a table"], pinned=True)
    assert (fact.info, fact.pinned, fact.said_at) == ("I'm allergic to nuts, says Dr. Weber.", True, AT)
    assert (fact.provenance, fact.cues) == ((Source(session=BY_HAND),), (Cue(text="booking a table"),))
    assert fact.related_entities == ("Dr. Weber",)
    again = await hand.add("I'm allergic to nuts, says Dr. Weber", at=LATER)
    assert (again.fid, again.frequency, again.said_at) == (fact.fid, 1, LATER)
    with pytest.raises(InputError, match="empty"):
        await hand.add("  ", at=AT)


async def test_an_edit_is_a_new_version_that_keeps_what_is_not_said(hand: ByHand, store: SQLiteStore) -> None:
    old = await hand.add("Ada works at Siemens.", at=AT, kind=FactType.IDENTITY, cues=["a reference"], pinned=True)
    new = await hand.edit(old.fid, "Ada works at Bosch.", at=LATER)
    assert (new.supersedes, new.type, new.cues, new.pinned) == ((old.fid,), FactType.IDENTITY, old.cues, True)
    assert new.related_entities == ("Bosch",)
    assert [fact.info for fact in await store.facts("ada")] == ["Ada works at Bosch."]
    assert len(await store.facts("ada", history=True)) == 2
    other = await hand.edit(new.fid, "Ada paints.", at=LATER, kind=FactType.INTEREST, cues=[])
    assert (other.type, other.cues) == (FactType.INTEREST, ())
    with pytest.raises(ConflictError, match="replaced by"):
        await hand.edit(old.fid, "Anything.", at=LATER)
    with pytest.raises(InputError, match="no fact 'f99'"):
        await hand.edit("f99", "Anything.", at=LATER)


async def test_correcting_a_full_stop_is_an_edit_as_well(hand: ByHand) -> None:
    old = await hand.add("ada sings", at=AT)
    new = await hand.edit(old.fid, "Ada sings.", at=LATER)
    assert (new.info, new.supersedes) == ("Ada sings.", (old.fid,))


async def test_removing_and_pinning(hand: ByHand, store: SQLiteStore) -> None:
    fact = await hand.add("Ada sings.", at=AT)
    assert (await hand.pin(fact.fid, at=LATER)).pinned
    assert not (await hand.pin(fact.fid, at=LATER, pinned=False)).pinned
    removed = await hand.remove(fact.fid, at=LATER)
    assert removed.valid_until == LATER
    assert await store.facts("ada") == []
    for change in (hand.remove(fact.fid, at=LATER), hand.pin(fact.fid, at=LATER)):
        with pytest.raises(ConflictError, match="removed"):
            await change
    with pytest.raises(InputError, match="no fact"):
        await hand.remove("nonsense", at=LATER)


async def test_a_review_says_what_a_conversation_did(store: SQLiteStore) -> None:
    def extracted(*pairs: tuple[str, str]) -> dict[str, object]:
        return {"facts": [{"info": info, "type": "Identity", "message": 0, "quote": quote} for info, quote in pairs]}

    dog, rex, both = "Ada has a dog.", "Ada's dog is named Rex.", "Ada has a dog named Rex."
    model = Script(
        extract=[
            extracted(("Ada works at Siemens.", "at Siemens"), ("Ada sings.", "sing"), (dog, "a dog")),
            extracted(("Ada works at Bosch.", "at Bosch"), ("Ada sings.", "sing"), (rex, "Rex"), ("Oslo.", "Oslo")),
        ],
        upsert=[
            {
                "proposals": [
                    {"new": 1, "action": "revise", "stored": 1, "statement": "Ada works at Bosch."},
                    {"new": 2, "action": "revise", "stored": 3, "statement": both},
                ]
            }
        ],
    )
    remembering = Remembering(store, WordEmbedder(), model, RememberSettings(neighbour_sd=3.5))
    for day, text in enumerate(("I work at Siemens, I sing, I have a dog.", "Now at Bosch. I sing. Rex. Oslo.")):
        session = Session(id=f"s{day}", at=AT + timedelta(days=day), messages=(Message(role="user", content=text),))
        await remembering.add("ada", session, now=AT)
    found = await review("ada", "s1", store)
    shown = {each.fact.info: each for each in found.facts}
    assert {info: each.change for info, each in shown.items()} == {
        "Ada sings.": "reinforced",
        "Ada works at Bosch.": "revised",
        rex: "added",
        "Oslo.": "added",
    }
    assert [old.info for old in shown["Ada works at Bosch."].replaced] == ["Ada works at Siemens."]
    assert shown["Ada works at Bosch."].sources == (Source(session="s1", message=0, quote="at Bosch"),)
    joined = shown[rex].now
    assert joined is not None
    assert joined.info == both
    assert found.session.session.id == "s1"
    first = {each.fact.info: each for each in (await review("ada", "s0", store)).facts}
    assert {each.change for each in first.values()} == {"added"}
    siemens = first["Ada works at Siemens."]
    assert siemens.now is not None
    assert siemens.now.info == "Ada works at Bosch."
    with pytest.raises(InputError, match="no session 'nope'"):
        await review("ada", "nope", store)
