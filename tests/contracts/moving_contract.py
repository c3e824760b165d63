"""What every FactStore promises about moving a user: `dump` and `restore`.

Subclass `MovingContract`, give it the fixtures `store` and `other`, two empty stores for encoder ("contract", 8), and
collect it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from contracts.store_contract import DAY, add, axis, over, remember, revise, said, trace
from prospection.errors import ConflictError, InputError, StoreError
from prospection.protocols import FactStore
from prospection.types import (
    BY_HAND,
    Close,
    Consolidated,
    Cue,
    FactRecord,
    Pin,
    Record,
    Reinforce,
    SearchFilter,
    Session,
    SessionRecord,
    SessionState,
    Source,
    Trace,
    UserRecord,
    Vectors,
)

NUTS = "I am allergic to nuts."
CUE = Cue(text="choosing a restaurant", weight=0.5)


async def live(store: FactStore, user: str = "ada") -> None:
    """A life of everything a store can hold."""
    await remember(store, user, "s1", add(NUTS, axis(0), cues=[(CUE, axis(4))]), add("I work at A.", axis(1)))
    source = Source(session="s2", message=0, quote="message of s2")
    await remember(
        store,
        user,
        "s2",
        Reinforce(fid="f1"),
        revise(("f2",), "I work at B.", axis(2)),
        add("I run.", axis(3), sources=(source,)),
        at=DAY + timedelta(days=1),
    )
    merge = revise(("f3", "f4"), "I work at B and run.", axis(2, 3, 4, 5))
    at = DAY + timedelta(days=2)
    await store.edit_facts(user, [merge, Pin(fid="f1"), add("I sing.", axis(6)), Consolidated(fid="f5")], at=at)
    await store.edit_facts(user, [Close(fid="f6"), add("I paint.", axis(7))], at=at)
    await store.put_session(user, Session(id="s3", at=at, messages=said("waiting"), zone="Europe/Zurich"))
    await store.put_session(user, Session(id="s4", at=at, messages=said("failing")))
    await store.claim_session(user, "s4", now=at, lease=60)
    await store.fail_session(user, "s4", reason="it did not parse", raw="{", retry_at=at + timedelta(hours=1))
    await store.put_trace(user, trace("t1", facts={"f1": NUTS}))
    await store.put_trace(user, trace("t2"))
    await store.forget(user, fid="f7")
    await store.put_session(user, Session(id="s5", at=at, messages=said("I have a secret.", "I also ski.")))
    await store.claim_session(user, "s5", now=at, lease=60)
    secret = add("I have a secret.", axis(7), sources=(Source(session="s5", message=0, quote="I have a secret."),))
    await store.finish_session(user, "s5", [secret], extracted=2, now=at)
    await store.forget(user, fid="f8")


async def everything(store: FactStore, user: str = "ada", *, page: int = 100) -> list[Record]:
    found: list[Record] = []
    while records := await store.dump(user, after=found[-1] if found else None, limit=page):
        found += records
    return found


def embedded(records: Sequence[Record], vectors: dict[str, Vectors]) -> list[Record]:
    return [
        replace(record, vectors=vectors[record.fact.fid]) if isinstance(record, FactRecord) else record
        for record in records
    ]


async def vectors_of(store: FactStore, records: Sequence[Record], user: str = "ada") -> dict[str, Vectors]:
    found = {}
    for record in records:
        if isinstance(record, FactRecord):
            own = await store.vectors(user, [record.fact.fid])
            found[record.fact.fid] = np.concatenate([own, *(axis(4)[np.newaxis] for _ in record.fact.cues)])
    return found


async def seen(store: FactStore, user: str = "ada") -> list[object]:
    """Everything that can be read of a user."""
    sessions = await store.sessions(user)
    probes = [over(side, axis(place), NUTS) for side in ("facts", "cues", "text") for place in range(8)]
    as_of = SearchFilter(at=DAY + timedelta(hours=1))
    facts = await store.facts(user, history=True)
    return [
        sessions,
        facts,
        await store.facts(user),
        await store.facts(user, pinned=True),
        [await store.facts(user, session=name) for name in [BY_HAND, *(record.session.id for record in sessions)]],
        (await store.vectors(user, [fact.fid for fact in facts])).tolist(),
        await store.search(user, probes, k=10),
        await store.search(user, probes, k=10, where=as_of),
        await store.traces(user),
        await store.statistics(user),
        await everything(store, user),
    ]


@pytest.mark.anyio
class MovingContract:
    async def test_everything_comes_over(self, store: FactStore, other: FactStore) -> None:
        await live(store)
        await remember(other, "eve", "s1", add("Eve's own."))
        records = await everything(store)
        await other.restore("ada", embedded(records, await vectors_of(store, records)))
        assert await seen(other) == await seen(store)
        assert len(await other.facts("eve")) == 1

    async def test_life_goes_on_alike(self, store: FactStore, other: FactStore) -> None:
        await live(store)
        records = await everything(store)
        await other.restore("ada", embedded(records, await vectors_of(store, records)))
        for each in (store, other):
            (new,) = await remember(each, "ada", "s9", add("I swim.", axis(5)), at=DAY + timedelta(days=9))
            assert new.fid == "f9"  # also that of a forgotten fact is not given again
            again = Session(id="s5", at=DAY, messages=said("I have a secret.", "I also ski."))
            assert (await each.put_session("ada", again)).state == SessionState.DONE
            erased = await each.forget("ada", session="s2")
            assert erased.facts
        assert await seen(other) == await seen(store)

    async def test_pages_of_any_size_give_the_same(self, store: FactStore) -> None:
        await live(store)
        whole = await everything(store)
        assert await everything(store, page=1) == whole
        kinds = [type(record) for record in whole]
        assert kinds == sorted(kinds, key=[UserRecord, SessionRecord, FactRecord, Trace].index)
        assert await everything(store, "nobody") == []
        with pytest.raises(InputError):
            await store.dump("ada", after=trace("gone"))

    async def test_what_was_cut_short_can_be_done_again(self, store: FactStore, other: FactStore) -> None:
        await live(store)
        records = embedded(await everything(store), await vectors_of(store, await everything(store)))
        for end in range(0, len(records) + 1, 3):
            await other.restore("ada", records[:end])
        await other.restore("ada", records)
        assert await seen(other) == await seen(store)

    async def test_what_is_held_otherwise_is_refused_whole(self, store: FactStore, other: FactStore) -> None:
        await live(store)
        records = embedded(await everything(store), await vectors_of(store, await everything(store)))
        await remember(other, "ada", "s1", add("Something else."), at=DAY + timedelta(hours=1))
        before = await seen(other)
        for kind in (UserRecord, SessionRecord, FactRecord):
            with pytest.raises(ConflictError, match="user 'ada' already has"):
                await other.restore("ada", [record for record in records if isinstance(record, kind)])
        assert await seen(other) == before

    async def test_a_session_at_work_waits_again(self, store: FactStore, other: FactStore) -> None:
        await store.put_session("ada", Session(id="s1", at=DAY, messages=said("x")))
        await store.claim_session("ada", "s1", now=DAY, lease=60)
        await other.restore("ada", await everything(store))
        assert await other.claim_session("ada", "s1", now=DAY, lease=60) is not None

    async def test_facts_need_their_vectors(self, store: FactStore, other: FactStore) -> None:
        await live(store)
        facts = [record for record in await everything(store) if isinstance(record, FactRecord)]
        with pytest.raises(StoreError, match="needs 2 vectors"):
            await other.restore("ada", [replace(facts[0], vectors=axis(0)[np.newaxis])])
        foreign = replace(facts[0].fact, fid="x7", cues=())
        with pytest.raises(InputError, match="fact 'x7' cannot be stored"):
            await other.restore("ada", [FactRecord(fact=foreign, own=(), vectors=axis(0)[np.newaxis])])
        assert await other.facts("ada", history=True) == []
