"""What every FactStore promises of changes that come from no conversation, and of what was merged.

Subclass `EditsContract` as `StoreContract`.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from contracts.store_contract import CURRENT, DAY, add, axis, ids, over, remember, revise
from prospection.errors import ConflictError, InputError
from prospection.protocols import FactStore
from prospection.types import (
    BY_HAND,
    Add,
    Candidate,
    Close,
    Consolidated,
    Cue,
    Fact,
    FactType,
    Pin,
    Recue,
    Reinforce,
    Revise,
    SearchFilter,
    Session,
    Source,
    Unmerge,
)

LATER = DAY + timedelta(days=1)


def of(session: str, quote: str | None = None) -> tuple[Source, ...]:
    return (Source(session=session, message=0, quote=quote),)


def sessions(fact: Fact) -> list[str]:
    return [source.session for source in fact.provenance]


def pinned(info: str) -> Add:
    plain = add(info)
    candidate = Candidate(info=info, type=FactType.EVENT, pinned=True)
    return Add(candidate=candidate, vector=plain.vector, cue_vectors=plain.cue_vectors)


async def merged(store: FactStore) -> Fact:
    """f1 of s1 and f2 of s2, merged into f3."""
    await remember(store, "ada", "s1", add("One.", axis(0), sources=of("s1", "one")))
    await remember(store, "ada", "s2", add("Two.", axis(1), sources=of("s2", "two")), at=LATER)
    (fact,) = await store.edit_facts("ada", [revise(("f1", "f2"), "One and two.", axis(2))], at=LATER)
    return fact


class EditsContract:
    """Facts by hand, merges and how they come apart."""

    @pytest.mark.anyio
    async def test_a_fact_by_hand_names_no_conversation(self, store: FactStore) -> None:
        (fact,) = await store.edit_facts("ada", [add("By hand.")], at=DAY)
        assert (fact.fid, fact.said_at, fact.valid_from, fact.frequency) == ("f1", DAY, DAY, 1)
        assert fact.provenance == (Source(session=BY_HAND),)
        assert await store.facts("ada", session=BY_HAND) == [fact]
        assert await store.sessions("ada") == []
        with pytest.raises(InputError, match="by hand"):
            await store.put_session("ada", Session(id=BY_HAND, at=DAY, messages=()))
        erased = await store.forget("ada", session=BY_HAND)
        assert (erased.facts, await store.facts("ada", history=True)) == (1, [])

    @pytest.mark.anyio
    async def test_a_closed_fact_stays_as_history(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("Gone."))
        (closed,) = await store.edit_facts("ada", [Close(fid="f1")], at=LATER)
        assert (closed.valid_until, closed.superseded_by) == (LATER, None)
        assert await store.facts("ada") == []
        assert await store.facts("ada", history=True) == [closed]
        assert await ids(store, "ada", over("facts", axis(0))) == []
        assert await ids(store, "ada", over("facts", axis(0)), where=SearchFilter(at=DAY)) == ["f1"]
        with pytest.raises(ConflictError, match="removed"):
            await store.edit_facts("ada", [Close(fid="f1")], at=LATER)
        (again,) = await remember(store, "ada", "s2", add("Gone."), at=LATER)
        assert again.fid == "f2"

    @pytest.mark.anyio
    async def test_only_a_person_replaces_what_is_pinned(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("Pinned."), add("Other."))
        (fact,) = await store.edit_facts("ada", [Pin(fid="f1")], at=DAY)
        assert fact.pinned
        assert [one.fid for one in await store.facts("ada", pinned=True)] == ["f1"]
        for write in (
            remember(store, "ada", "s2", revise(("f1",), "New.")),
            store.edit_facts("ada", [revise(("f1", "f2"), "Merged.")], at=DAY),
        ):
            with pytest.raises(ConflictError, match="'f1' is pinned"):
                await write
        assert [one.fid for one in await store.facts("ada", history=True)] == ["f1", "f2"]
        new = pinned("Corrected.")
        edit = Revise(fids=("f1",), candidate=new.candidate, vector=new.vector, cue_vectors=new.cue_vectors)
        (corrected,) = await store.edit_facts("ada", [edit], at=LATER)
        assert (corrected.pinned, corrected.supersedes, sessions(corrected)) == (True, ("f1",), ["s1", BY_HAND])
        (free,) = await store.edit_facts("ada", [Pin(fid=corrected.fid, pinned=False)], at=LATER)
        assert not free.pinned
        assert await store.facts("ada", pinned=True) == []

    @pytest.mark.anyio
    async def test_pinning_what_is_written_again_pins_it(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("Twice."))
        (fact,) = await store.edit_facts("ada", [pinned("twice")], at=DAY)
        assert (fact.fid, fact.pinned, fact.frequency) == ("f1", True, 2)

    @pytest.mark.anyio
    async def test_a_revision_inherits_where_it_was_said(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("She works at A.", sources=of("s1", "A")))
        await remember(store, "ada", "s2", Reinforce(fid="f1", provenance=of("s2")))
        (new,) = await remember(store, "ada", "s3", revise(("f1",), "She works at B."), at=LATER)
        assert (sessions(new), new.frequency) == (["s1", "s2", "s3"], 3)
        assert [fact.fid for fact in await store.facts("ada", session="s3", history=True)] == ["f2"]
        assert [fact.fid for fact in await store.facts("ada", session="s1", history=True)] == ["f1"]

    @pytest.mark.anyio
    async def test_a_revision_to_what_is_known_already_joins_it(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("She works at A."), add("She works at B."))
        (new,) = await remember(store, "ada", "s2", revise(("f1",), "she works at b"))
        assert new.supersedes == ("f1", "f2")
        assert [fact.fid for fact in await store.facts("ada")] == ["f3"]

    @pytest.mark.anyio
    async def test_a_merge_takes_the_place_of_its_facts_on_the_time_line(self, store: FactStore) -> None:
        fact = await merged(store)
        assert (fact.fid, fact.supersedes, sessions(fact), fact.frequency) == ("f3", ("f1", "f2"), ["s1", "s2"], 2)
        assert (fact.said_at, fact.valid_from) == (LATER, LATER)
        assert [one.fid for one in await store.facts("ada")] == ["f3"]
        assert await ids(store, "ada", over("facts", axis(0)), where=SearchFilter(at=DAY)) == ["f1"]

    @pytest.mark.anyio
    async def test_a_merge_can_be_taken_back(self, store: FactStore) -> None:
        before = await merged(store)
        await remember(store, "ada", "s3", Reinforce(fid="f3", provenance=of("s3")), at=LATER + timedelta(days=1))
        assert await ids(store, "ada", over("facts", axis(2)), where=CURRENT) == ["f3"]
        first, second = await store.edit_facts("ada", [Unmerge(fid="f3")], at=LATER)
        assert (first.valid_until, first.superseded_by, first.valid_from) == (None, None, DAY)
        assert (sessions(first), sessions(second)) == (["s1", "s3"], ["s2", "s3"])
        assert second.said_at == LATER + timedelta(days=1)
        assert await store.facts("ada", history=True) == [first, second]
        assert await ids(store, "ada", over("facts", axis(2))) == ["f1", "f2"]
        assert await ids(store, "ada", over("text", text="two")) == ["f2"]
        for fid in ("f1", before.fid):
            with pytest.raises(ConflictError):
                await store.edit_facts("ada", [Unmerge(fid=fid)], at=LATER)

    @pytest.mark.anyio
    async def test_parts_of_a_merge_are_history_from_the_first(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("She has a dog.", sources=of("s1")))
        plain = revise(("f1",), "She has a dog named Rex.")
        part = add("The dog is named Rex.", axis(3), sources=of("s2", "Rex"))
        joined = Revise(
            fids=("f1",),
            candidate=plain.candidate,
            vector=plain.vector,
            cue_vectors=plain.cue_vectors,
            parts=(part,),
        )
        (fact,) = await remember(store, "ada", "s2", joined, at=LATER)
        assert (fact.fid, fact.supersedes, sessions(fact)) == ("f3", ("f1", "f2"), ["s1", "s2"])
        assert await ids(store, "ada", over("facts", axis(3)), where=SearchFilter(at=LATER)) == ["f3"]
        await store.forget("ada", session="s1")
        (left,) = await store.facts("ada", history=True)
        assert (left.fid, left.info, left.valid_until) == ("f2", "The dog is named Rex.", None)

    @pytest.mark.parametrize("forgotten", ["session", "fact"])
    @pytest.mark.anyio
    async def test_forgetting_a_part_takes_the_merge_and_frees_the_rest(self, store: FactStore, forgotten: str) -> None:
        await merged(store)
        await remember(store, "ada", "s4", add("Three.", axis(3), sources=of("s4")), at=LATER)
        (outer,) = await store.edit_facts("ada", [revise(("f3", "f4"), "One, two and three.")], at=LATER)
        assert sessions(outer) == ["s1", "s2", "s4"]
        erased = await store.forget("ada", **({"session": "s1"} if forgotten == "session" else {"fid": "f1"}))
        assert (erased.facts, erased.messages) == (3, 1)
        left = await store.facts("ada", history=True)
        assert [(fact.fid, fact.info, fact.valid_until) for fact in left] == [
            ("f2", "Two.", None),
            ("f4", "Three.", None),
        ]
        assert await ids(store, "ada", over("facts", axis(1))) == ["f2", "f4"]

    @pytest.mark.anyio
    async def test_a_later_statement_is_not_undone_with_the_merge_it_replaced(self, store: FactStore) -> None:
        await merged(store)
        await remember(store, "ada", "s4", revise(("f3",), "Neither.", axis(4)), at=LATER)
        await store.forget("ada", session="s1")
        old, new = await store.facts("ada", history=True)
        assert (old.fid, old.superseded_by, new.fid, new.supersedes) == ("f2", "f4", "f4", ("f2",))
        assert [fact.fid for fact in await store.facts("ada")] == ["f4"]

    @pytest.mark.anyio
    async def test_new_cues_take_the_place_of_old_ones(self, store: FactStore) -> None:
        await remember(store, "ada", "s", add("Tea.", cues=[(Cue(text="old"), axis(1))]), add("Other.", axis(5)))
        assert await ids(store, "ada", over("cues", axis(1))) == ["f1"]
        cues = (Cue(text="new"), Cue(text="weak", weight=0.5))
        recue = Recue(fid="f1", cues=cues, cue_vectors=np.stack([axis(2), axis(3)]))
        (fact,) = await store.edit_facts("ada", [recue], at=DAY)
        assert fact.cues == cues
        (hits,) = await store.search("ada", [over("cues", axis(2))], k=5)
        assert [(hit.fact.fid, hit.cue, hit.similarity) for hit in hits] == [("f1", "new", 1.0)]
        (hits,) = await store.search("ada", [over("cues", axis(3))], k=5)
        assert hits[0].similarity == 0.5
        assert (await store.statistics("ada"))["cues"] == 2

    @pytest.mark.anyio
    async def test_what_was_looked_at_is_not_new(self, store: FactStore) -> None:
        await remember(store, "ada", "s", add("One."), add("Two."), add("Three."))
        assert (await store.statistics("ada"))["facts_new"] == 3
        assert await store.edit_facts("ada", [Consolidated(fid="f2")], at=DAY) == ()
        await store.edit_facts("ada", [Consolidated(fid="f1")], at=DAY)
        assert (await store.statistics("ada"))["facts_new"] == 1

    @pytest.mark.anyio
    async def test_a_refused_edit_leaves_nothing(self, store: FactStore) -> None:
        await merged(store)
        before = await store.facts("ada", history=True)
        with pytest.raises(ConflictError, match="f9"):
            await store.edit_facts("ada", [add("New."), Unmerge(fid="f3"), Close(fid="f9")], at=DAY)
        assert await store.facts("ada", history=True) == before
