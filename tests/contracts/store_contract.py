"""What every FactStore promises.

Subclass `StoreContract`, give it a fixture `store` that is an empty store for encoder ("contract", 8), and collect it.
Vectors are made of 0, 1 and 1/2, which every float format holds exactly, so that bounds can be tested to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import anyio
import numpy as np
import pytest

from prospection.errors import ConflictError, EncoderMismatchError, InputError, NaiveTimeError, StoreError
from prospection.protocols import FactStore
from prospection.types import (
    Add,
    Candidate,
    Cue,
    Erased,
    EventTime,
    Fact,
    FactType,
    Hit,
    Message,
    Operation,
    Over,
    Precision,
    Probe,
    ProbeHits,
    Recue,
    Reinforce,
    Revise,
    SearchFilter,
    SearchProbe,
    Session,
    SessionState,
    Source,
    StageRecord,
    Step,
    Trace,
    Usage,
    Vectors,
)

ENCODER = ("contract", 8)
DAY = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
CURRENT = SearchFilter()


def axis(*places: int) -> Vectors:
    """The unit vector with equal parts along one or four axes of eight."""
    vector = np.zeros(8, dtype=np.float32)
    vector[list(places)] = len(places) ** -0.5
    return vector


def said(*texts: str) -> tuple[Message, ...]:
    return tuple(Message(role="user", content=text) for text in texts)


def add(
    info: str,
    vector: Vectors | None = None,
    *,
    kind: FactType = FactType.EVENT,
    cues: Sequence[tuple[Cue, Vectors]] = (),
    sources: tuple[Source, ...] = (),
) -> Add:
    return Add(
        candidate=Candidate(info=info, type=kind, cues=tuple(cue for cue, _ in cues), provenance=sources),
        vector=axis(0) if vector is None else vector,
        cue_vectors=np.array([row for _, row in cues], dtype=np.float32).reshape(-1, 8),
    )


def revise(fids: tuple[str, ...], info: str, vector: Vectors | None = None) -> Revise:
    plain = add(info, vector)
    return Revise(fids=fids, candidate=plain.candidate, vector=plain.vector, cue_vectors=plain.cue_vectors)


def over(side: Over, vector: Vectors | None = None, text: str = "") -> SearchProbe:
    return SearchProbe(over=side, text=text, vector=vector)


async def remember(
    store: FactStore, user: str, session: str, *operations: Operation, at: datetime = DAY
) -> tuple[Fact, ...]:
    await store.put_session(user, Session(id=session, at=at, messages=said(f"message of {session}")))
    assert await store.claim_session(user, session, now=at, lease=60) is not None
    return await store.finish_session(user, session, operations, extracted=1, now=at)


async def ids(
    store: FactStore, user: str, probe: SearchProbe, *, k: int = 10, where: SearchFilter = CURRENT
) -> list[str]:
    (hits,) = await store.search(user, [probe], k=k, where=where)
    return [hit.fact.fid for hit in hits]


def trace(name: str, *, facts: dict[str, str] | None = None) -> Trace:
    probe = Probe(pid="p0", text="train to Rome", kind="step", step="s0.0")
    return Trace(
        id=name,
        user="ada",
        query="Plan two weeks in Italy",
        policy="pgr",
        at=DAY,
        encoder="contract",
        parameters={"k": 5, "tau": 0.3, "iterative": True},
        steps=(Step(sid="s0.0", text="train to Rome", theme="travel", needs=("The person gets sea-sick.",)),),
        searches=(ProbeHits(probe=probe, hits=(("f1", 0.5, None), ("f2", 0.25, "a crossing"))),),
        stages=(
            StageRecord(
                stage="simulate",
                round=0,
                model="loopback",
                prompt="0123456789ab",
                inputs={"query": "Plan"},
                output={"steps": [{"text": "train"}]},
                usage=Usage(calls=1, tokens_in=10, tokens_out=5, cost=None, seconds=0.25),
            ),
        ),
        facts={"f9": "…"} if facts is None else facts,
        returned=(("f1", 0.5),),
        notes=("The ceiling of calls was reached.",),
        usage=Usage(calls=1),
        seconds=1.5,
    )


class IntakeContract:
    """Sessions: durable, idempotent, leased."""

    @pytest.mark.anyio
    async def test_a_session_comes_back_as_it_was_given(self, store: FactStore) -> None:
        messages = (
            Message(role="system", content="You are kind."),
            Message(role="user", content="Guten Tag\n\x00 'quoted' \"twice\"", name="Ada", at=DAY),
            Message(role="assistant", content="", recalled=True),
        )
        record = await store.put_session("ada", Session(id="s", at=DAY, zone="Europe/Zurich", messages=messages))
        assert record.session == Session(id="s", at=DAY, zone="Europe/Zurich", messages=messages)
        assert (record.state, record.extracted, record.attempts) == (SessionState.PENDING, 0, 0)
        assert await store.session("ada", "s") == record
        assert await store.session("ada", "other") is None
        assert await store.session("bob", "s") is None

    @pytest.mark.anyio
    async def test_instants_are_kept_to_the_microsecond_in_utc(self, store: FactStore) -> None:
        odd = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
        await store.put_session("ada", Session(id="s", at=odd, messages=said("hello")))
        record = await store.session("ada", "s")
        assert record is not None
        assert record.session.at == odd
        assert record.session.at.utcoffset() == timedelta(0)
        with pytest.raises(NaiveTimeError):
            await store.put_session("ada", Session(id="t", at=datetime(2025, 1, 1), messages=()))  # noqa: DTZ001

    @pytest.mark.anyio
    async def test_an_empty_user_is_refused(self, store: FactStore) -> None:
        with pytest.raises(InputError, match="user ''"):
            await store.put_session("", Session(id="s", at=DAY, messages=said("hello")))
        assert await store.users() == []

    @pytest.mark.parametrize(
        ("again", "held"),
        [
            (("a", "b"), ("a", "b")),  # the same
            (("a", "b", "c"), ("a", "b", "c")),  # grown
            (("b",), ("a", "b")),  # a part
            ((), ("a", "b")),
            (("c",), ("a", "b", "c")),  # only the new
            (("b", "c"), ("a", "b", "b", "c")),  # neither a part nor a continuation: nothing may be lost
        ],
    )
    @pytest.mark.anyio
    async def test_the_same_id_again_holds_nothing_twice(
        self, store: FactStore, again: tuple[str, ...], held: tuple[str, ...]
    ) -> None:
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a", "b")))
        record = await store.put_session("ada", Session(id="s", at=DAY, messages=said(*again)))
        assert record.session.messages == said(*held)
        assert await store.session("ada", "s") == record

    @pytest.mark.anyio
    async def test_new_messages_put_a_finished_session_back_to_pending(self, store: FactStore) -> None:
        await remember(store, "ada", "s", add("One."))
        again = Session(id="s", at=DAY, messages=said("message of s"))
        assert (await store.put_session("ada", again)).state is SessionState.DONE
        more = Session(id="s", at=DAY, messages=said("message of s", "and more"))
        record = await store.put_session("ada", more)
        assert (record.state, record.extracted) == (SessionState.PENDING, 1)

    @pytest.mark.anyio
    async def test_messages_that_come_during_extraction_are_left_for_the_next(self, store: FactStore) -> None:
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a")))
        await store.claim_session("ada", "s", now=DAY, lease=60)
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a", "b")))
        assert await store.claim_session("ada", "s", now=DAY, lease=60) is None
        await store.finish_session("ada", "s", [], extracted=1, now=DAY)
        record = await store.claim_session("ada", "s", now=DAY, lease=60)
        assert record is not None
        assert (record.extracted, record.attempts, len(record.session.messages)) == (1, 1, 2)

    @pytest.mark.anyio
    async def test_a_lease_holds_until_it_expires(self, store: FactStore) -> None:
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a")))
        first = await store.claim_session("ada", "s", now=DAY, lease=60)
        assert first is not None
        assert (first.state, first.attempts) == (SessionState.EXTRACTING, 1)
        assert await store.claim_session("ada", "s", now=DAY + timedelta(seconds=59), lease=60) is None
        second = await store.claim_session("ada", "s", now=DAY + timedelta(seconds=60), lease=60)
        assert second is not None
        assert second.attempts == 2
        await store.finish_session("ada", "s", [], extracted=1, now=DAY)
        assert await store.claim_session("ada", "s", now=DAY + timedelta(days=1), lease=60) is None
        assert await store.claim_session("ada", "unknown", now=DAY, lease=60) is None
        assert await store.claim_session("nobody", "s", now=DAY, lease=60) is None

    @pytest.mark.anyio
    async def test_only_one_of_many_gets_the_claim(self, store: FactStore) -> None:
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a")))
        got: list[bool] = []

        async def claim() -> None:
            got.append(await store.claim_session("ada", "s", now=DAY, lease=60) is not None)

        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(claim)
        assert sorted(got) == [False] * 9 + [True]

    @pytest.mark.anyio
    async def test_a_failed_session_is_kept_and_can_be_taken_again(self, store: FactStore) -> None:
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a")))
        await store.claim_session("ada", "s", now=DAY, lease=60)
        await store.fail_session("ada", "s", reason="The reply did not parse.", raw="{oops")
        record = await store.session("ada", "s")
        assert record is not None
        assert (record.state, record.reason, record.raw) == (SessionState.FAILED, "The reply did not parse.", "{oops")
        assert record.session.messages == said("a")
        taken = await store.claim_session("ada", "s", now=DAY, lease=60)
        assert taken is not None
        assert (taken.reason, taken.raw, taken.attempts) == (None, None, 2)
        await store.finish_session("ada", "s", [], extracted=1, now=DAY)
        await store.fail_session("ada", "s", reason="A worker that comes too late.")
        record = await store.session("ada", "s")
        assert record is not None
        assert record.state is SessionState.DONE

    @pytest.mark.anyio
    async def test_a_session_is_finished_once(self, store: FactStore) -> None:
        await remember(store, "ada", "s", add("One."))
        with pytest.raises(ConflictError, match="'s'"):
            await store.finish_session("ada", "s", [add("Two.")], extracted=1, now=DAY)
        with pytest.raises(StoreError, match="'t'"):
            await store.finish_session("ada", "t", [], extracted=0, now=DAY)
        assert [fact.info for fact in await store.facts("ada")] == ["One."]

    @pytest.mark.anyio
    async def test_sessions_page_in_the_order_of_arrival(self, store: FactStore) -> None:
        for name in ("z", "b", "y", "a"):
            await store.put_session("ada", Session(id=name, at=DAY, messages=said(name)))
        await store.put_session("bob", Session(id="z", at=DAY, messages=said("other")))
        first = await store.sessions("ada", limit=3)
        rest = await store.sessions("ada", after=first[-1].session.id, limit=3)
        assert [record.session.id for record in [*first, *rest]] == ["z", "b", "y", "a"]
        await store.claim_session("ada", "y", now=DAY, lease=60)
        extracting = await store.sessions("ada", states=frozenset({SessionState.EXTRACTING}))
        assert [record.session.id for record in extracting] == ["y"]
        assert await store.sessions("ada", states=frozenset()) == []
        assert await store.sessions("nobody") == []


class FactsContract:
    """Facts: ids, versions, sources."""

    @pytest.mark.anyio
    async def test_a_fact_comes_back_whole(self, store: FactStore) -> None:
        event = EventTime(start=DAY, end=DAY + timedelta(days=1), precision=Precision.DAY)
        source = Source(session="s", message=0, quote="message")
        candidate = Candidate(
            info="Ada's shoulder is operated on.",
            type=FactType.EVENT,
            related_entities=("Dr. Ōta", "Zürich"),
            provenance=(source,),
            event_time=event,
            cues=(Cue(text="carrying luggage", weight=0.5), Cue(text="swimming")),
        )
        operation = Add(candidate=candidate, vector=axis(0), cue_vectors=np.stack([axis(1), axis(2)]))
        (fact,) = await remember(store, "ada", "s", operation)
        expected = Fact(
            fid="f1",
            info="Ada's shoulder is operated on.",
            type=FactType.EVENT,
            related_entities=("Dr. Ōta", "Zürich"),
            provenance=(source,),
            said_at=DAY,
            event_time=event,
            valid_from=DAY,
            cues=candidate.cues,
        )
        assert fact == expected
        assert await store.facts("ada") == [expected]

    @pytest.mark.anyio
    async def test_an_exact_repeat_reinforces(self, store: FactStore) -> None:
        later = DAY + timedelta(days=2)
        (first,) = await remember(store, "ada", "s1", add("She likes tea."))
        again, new = await remember(store, "ada", "s2", add(" SHE likes\u3000tea"), add("He does not."), at=later)
        assert (again.fid, again.frequency, again.said_at, again.info) == ("f1", 2, later, "She likes tea.")
        assert [source.session for source in again.provenance] == ["s1", "s2"]
        assert (first.fid, new.fid) == ("f1", "f2")
        (old,) = await remember(store, "ada", "s0", add("she likes tea!"), at=DAY - timedelta(days=9))
        assert (old.frequency, old.said_at, old.valid_from) == (3, later, DAY)

    @pytest.mark.anyio
    async def test_a_session_counts_once(self, store: FactStore) -> None:
        twice = await remember(
            store,
            "ada",
            "s",
            add("She likes tea.", sources=(Source(session="s", message=0, quote="tea"),)),
            add("she likes tea", sources=(Source(session="s", message=0, quote="Tea!"),)),
            Reinforce(fid="f1"),
        )
        assert [(fact.fid, fact.frequency, len(fact.provenance)) for fact in twice] == [("f1", 1, 2)] * 3

    @pytest.mark.anyio
    async def test_a_revision_closes_the_old_version(self, store: FactStore) -> None:
        later = DAY + timedelta(days=1)
        await remember(store, "ada", "s1", add("She works at A."))
        (new,) = await remember(store, "ada", "s2", revise(("f1",), "She works at B."), at=later)
        assert (new.fid, new.supersedes, new.valid_from, new.valid_until) == ("f2", ("f1",), later, None)
        assert await store.facts("ada") == [new]
        old, same = await store.facts("ada", history=True)
        assert (old.superseded_by, old.valid_from, old.valid_until) == ("f2", DAY, later)
        assert same == new
        assert await store.facts("ada", fids=["f2", "f9", "f1", "nonsense"]) == [new, old]

    @pytest.mark.anyio
    async def test_several_facts_merge_into_one(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("One."), add("Two."), add("Three."))
        (merged,) = await remember(store, "ada", "s2", revise(("f1", "f3"), "One and three."))
        assert merged.supersedes == ("f1", "f3")
        assert [fact.fid for fact in await store.facts("ada")] == ["f2", "f4"]

    @pytest.mark.parametrize("operation", [Reinforce(fid="f1"), revise(("f2", "f1"), "New."), Reinforce(fid="f77")])
    @pytest.mark.anyio
    async def test_only_current_facts_change_and_a_refused_write_leaves_nothing(
        self, store: FactStore, operation: Operation
    ) -> None:
        await remember(store, "ada", "s1", add("She works at A."))
        await remember(store, "ada", "s2", revise(("f1",), "She works at B."))
        before = await store.facts("ada", history=True)
        with pytest.raises(ConflictError, match=r"f1|f77"):
            await remember(store, "ada", "s3", add("Unrelated."), operation)
        assert await store.facts("ada", history=True) == before
        record = await store.session("ada", "s3")
        assert record is not None
        assert record.state is SessionState.EXTRACTING
        assert await ids(store, "ada", over("text", text="unrelated")) == []

    @pytest.mark.anyio
    async def test_a_replaced_text_can_be_said_anew(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("She works at A."))
        await remember(store, "ada", "s2", revise(("f1",), "She works at B."))
        (fact,) = await remember(store, "ada", "s3", add("She works at A."))
        assert fact.fid == "f3"

    @pytest.mark.anyio
    async def test_facts_page_in_the_order_of_ids(self, store: FactStore) -> None:
        await remember(store, "ada", "s", *[add(f"Fact {n}.") for n in range(1, 13)])
        seen: list[str] = []
        while page := await store.facts("ada", after=seen[-1] if seen else None, limit=5):
            seen += [fact.fid for fact in page]
        assert seen == [f"f{n}" for n in range(1, 13)]
        assert await store.facts("ada", fids=[]) == []


class SearchContract:
    """Search: direction, bounds, filters, isolation."""

    @pytest.mark.anyio
    async def test_higher_is_better_and_bounds_are_inclusive(self, store: FactStore) -> None:
        vectors = [axis(4), axis(0, 1, 2, 3), axis(0), -axis(0)]
        await remember(store, "ada", "s", *[add(f"Fact {n}.", vector) for n, vector in enumerate(vectors)])
        (hits,) = await store.search("ada", [over("facts", axis(0))], k=10)
        assert [(hit.fact.fid, hit.similarity) for hit in hits] == [("f3", 1.0), ("f2", 0.5), ("f1", 0.0), ("f4", -1.0)]
        (hits,) = await store.search("ada", [over("facts", axis(0))], k=10, min_similarity=0.5)
        assert [hit.fact.fid for hit in hits] == ["f3", "f2"]
        (hits,) = await store.search("ada", [over("facts", axis(0))], k=10, min_similarity=0.501)
        assert [hit.fact.fid for hit in hits] == ["f3"]

    @pytest.mark.anyio
    async def test_ties_go_by_id_as_a_number(self, store: FactStore) -> None:
        await remember(store, "ada", "s", *[add(f"Same {n}", axis(0)) for n in range(12)])
        assert await ids(store, "ada", over("facts", axis(0)), k=11) == [f"f{n}" for n in range(1, 12)]
        assert await ids(store, "ada", over("text", text="same"), k=11) == [f"f{n}" for n in range(1, 12)]

    @pytest.mark.anyio
    async def test_a_batch_answers_each_probe_in_its_place(self, store: FactStore) -> None:
        await remember(
            store,
            "ada",
            "s",
            add("Tea in the morning.", axis(0), cues=[(Cue(text="breakfast"), axis(5))]),
            add("A bad shoulder.", axis(1), cues=[(Cue(text="luggage"), axis(6))]),
        )
        probes = [
            over("text", text="shoulder"),
            over("cues", axis(5)),
            over("facts", axis(1)),
            over("cues", axis(6)),
            over("facts", axis(0)),
        ]
        found = await store.search("ada", probes, k=1, min_similarity=0.5)
        assert [[(hit.fact.fid, hit.cue) for hit in hits] for hits in found] == [
            [("f2", None)],
            [("f1", "breakfast")],
            [("f2", None)],
            [("f2", "luggage")],
            [("f1", None)],
        ]
        assert await store.search("ada", [], k=3) == []
        assert await store.search("ada", probes, k=0) == [[]] * 5

    @pytest.mark.anyio
    async def test_over_cues_a_fact_appears_once_with_its_best_weighted_cue(self, store: FactStore) -> None:
        close, far = (Cue(text="close but weak", weight=0.25), axis(0)), (Cue(text="far but strong"), axis(0, 1, 2, 3))
        await remember(store, "ada", "s", add("No cue."), add("Both.", cues=[close, far]), add("Weak.", cues=[close]))
        (hits,) = await store.search("ada", [over("cues", axis(0))], k=10)
        assert [(hit.fact.fid, hit.similarity, hit.cue) for hit in hits] == [
            ("f2", 0.5, "far but strong"),
            ("f3", 0.25, "close but weak"),
        ]

    @pytest.mark.parametrize("side", ["facts", "cues", "text"])
    @pytest.mark.anyio
    async def test_filters_act_before_the_limit(self, store: FactStore, side: Over) -> None:
        cue = [(Cue(text="cue"), axis(0))]
        noise = [add(f"walk {n}", axis(0), cues=cue) for n in range(30)]
        wanted = add("a walk that is longer than others", axis(0, 1, 2, 3), kind=FactType.GOAL, cues=cue)
        await remember(store, "ada", "s1", *noise, at=DAY)
        await remember(store, "ada", "s2", wanted, at=DAY + timedelta(days=1))
        probe = over(side, axis(0), "walk")
        for where in (
            SearchFilter(types=frozenset({FactType.GOAL})),
            SearchFilter(said_from=DAY + timedelta(days=1)),
            SearchFilter(exclude=frozenset(f"f{n}" for n in range(1, 31)) | {"foreign"}),
        ):
            assert await ids(store, "ada", probe, k=1, where=where) == ["f31"]
        assert await ids(store, "ada", probe, k=99, where=SearchFilter(said_until=DAY)) == []
        assert len(await ids(store, "ada", probe, k=99, where=SearchFilter(said_until=DAY + timedelta(days=1)))) == 30
        assert await ids(store, "ada", probe, where=SearchFilter(types=frozenset())) == []

    @pytest.mark.parametrize("side", ["facts", "cues", "text"])
    @pytest.mark.anyio
    async def test_memory_as_of_an_instant(self, store: FactStore, side: Over) -> None:
        later = DAY + timedelta(days=1)
        cue = [(Cue(text="cue"), axis(0))]
        await remember(store, "ada", "s1", add("She works at A.", cues=cue))
        before = await ids(store, "ada", over(side, axis(0), "works"))
        new = add("She works at B.", cues=cue)
        revision = Revise(fids=("f1",), candidate=new.candidate, vector=new.vector, cue_vectors=new.cue_vectors)
        await remember(store, "ada", "s2", revision, at=later)
        found = {
            at: await ids(store, "ada", over(side, axis(0), "works"), where=SearchFilter(at=at))
            for at in (None, DAY - timedelta(microseconds=1), DAY, later - timedelta(microseconds=1), later)
        }
        assert before == ["f1"]
        assert list(found.values()) == [["f2"], [], ["f1"], ["f1"], ["f2"]]

    @pytest.mark.anyio
    async def test_a_search_sees_every_write_before_it(self, store: FactStore) -> None:
        for n in range(1, 6):
            await remember(store, "ada", f"s{n}", add(f"Fact {n}.", axis(n), cues=[(Cue(text=f"cue {n}"), axis(n))]))
            assert (await ids(store, "ada", over("facts", axis(n)), k=1)) == [f"f{n}"]
            assert (await ids(store, "ada", over("cues", axis(n)), k=1)) == [f"f{n}"]
            assert (await ids(store, "ada", over("text", text=str(n)), k=1)) == [f"f{n}"]
        (hits,) = await store.search("ada", [over("facts", axis(1))], k=1)
        (again,) = await remember(store, "ada", "s6", Reinforce(fid="f1"))
        (renewed,) = await store.search("ada", [over("facts", axis(1))], k=1)
        assert (hits[0].fact.frequency, renewed[0].fact) == (1, again)

    @pytest.mark.anyio
    async def test_relevance_over_text(self, store: FactStore) -> None:
        texts = ["the dog and the cat", "the cat", "the dog", "the bird", "the fish of the sea"]
        await remember(store, "ada", "s", *[add(text) for text in texts])
        (hits,) = await store.search("ada", [over("text", text="The dog & the CAT?")], k=5)
        assert [hit.fact.fid for hit in hits] == ["f1", "f2", "f3", "f4", "f5"]
        assert all(hit.similarity > 0 for hit in hits)
        assert hits == sorted(hits, key=lambda hit: -hit.similarity)
        (bounded,) = await store.search("ada", [over("text", text="dog")], k=5, min_similarity=0.99)
        assert [hit.fact.fid for hit in bounded] == ["f3", "f1"]

    @pytest.mark.parametrize(
        ("info", "query"),
        [
            ("Ich fahre im März nach Zürich.", "zurich"),
            ("Живу в Йошкар-Оле с детства.", "ЖИВУ"),
            ("أحبّ القهوة في الصباح", "القهوة"),
            ("我每个周末都去爬山", "爬山"),
            ("ฉันแพ้ถั่วลิสง", "ถั่ว"),
            ("मैं दिल्ली में रहता हूँ", "दिल्ली"),
            ("週末は猫と過ごす", "猫"),
            ("서울에서 일한다", "서울"),
        ],
    )
    @pytest.mark.anyio
    async def test_words_are_found_in_any_script(self, store: FactStore, info: str, query: str) -> None:
        await remember(store, "ада-アダ", "s", add("Something else."), add(info))
        assert await ids(store, "ада-アダ", over("text", text=query)) == ["f2"]
        (fact,) = await store.facts("ада-アダ", fids=["f2"])
        assert fact.info == info

    @pytest.mark.parametrize("text", ["", "?!", '"', "a OR b", "NEAR(x", "col:x*", "'; DROP TABLE facts; --", "\x00"])
    @pytest.mark.anyio
    async def test_a_query_is_never_syntax(self, store: FactStore, text: str) -> None:
        await remember(store, "ada", "s", add("Quiet."))
        assert await ids(store, "ada", over("text", text=text)) == []

    @pytest.mark.anyio
    async def test_users_never_see_each_other(self, store: FactStore) -> None:
        hostile = ["ada", "ad", "ada ", "ADA", "*", "%", "_", "' OR '1'='1", "1", "\x00"]
        for user in hostile:
            cue = [(Cue(text=f"cue of {user}"), axis(0))]
            await remember(store, user, "s", add(f"shared secret of {user}", axis(0), cues=cue))
        for user in hostile:
            probes = [over("facts", axis(0)), over("cues", axis(0)), over("text", text="shared secret of ada")]
            for hits in await store.search(user, probes, k=99):
                assert [hit.fact.info for hit in hits] == [f"shared secret of {user}"]
            assert [fact.info for fact in await store.facts(user, history=True)] == [f"shared secret of {user}"]
        assert await store.search("nobody", [over("facts", axis(0)), over("text", text="secret")], k=9) == [[], []]

    @pytest.mark.anyio
    async def test_other_users_do_not_move_a_score(self, store: FactStore) -> None:
        await remember(store, "ada", "s", add("the dog"), add("the old cat"), add("the cat and the dog"))
        probe = over("text", text="old dog the cat")
        (before,) = await store.search("ada", [probe], k=9)
        await remember(store, "bob", "s", *[add(f"dog {n} of a very long pack of dogs") for n in range(50)])
        (after,) = await store.search("ada", [probe], k=9)
        assert before == after

    @pytest.mark.anyio
    async def test_vectors_come_back_in_the_order_asked(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("tea", axis(0)), add("soup", axis(1)))
        rows = await store.vectors("ada", ["f2", "f1"])
        assert rows.shape == (2, 8)
        assert rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
        (hits,) = await store.search("ada", [SearchProbe(over="facts", text="", vector=rows[0])], k=1)
        assert hits[0].fact.fid == "f2"
        assert (await store.vectors("ada", [])).shape == (0, 8)

    @pytest.mark.anyio
    async def test_vectors_of_what_is_not_there_are_refused(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("tea"))
        with pytest.raises(StoreError, match="f7"):
            await store.vectors("ada", ["f7"])
        with pytest.raises(StoreError, match="f1"):
            await store.vectors("eve", ["f1"])

    @pytest.mark.anyio
    async def test_probes_must_fit(self, store: FactStore) -> None:
        with pytest.raises(StoreError, match=r"\(8,\)"):
            await store.search("ada", [over("facts", np.ones(3, dtype=np.float32))], k=1)
        with pytest.raises(StoreError, match="None"):
            await store.search("ada", [over("cues")], k=1)
        with pytest.raises(StoreError, match="shape"):
            await remember(store, "ada", "s", add("Odd.", np.ones(3, dtype=np.float32)))

    @pytest.mark.anyio
    async def test_many_tasks_at_once(self, store: FactStore) -> None:
        async def live(user: str) -> None:
            for n in range(1, 6):
                await remember(store, user, f"s{n}", add(f"{user} says {n}", axis(n)))
                (hits,) = await store.search(user, [over("facts", axis(n))], k=1)
                assert hits[0].fact.info == f"{user} says {n}"

        async def crowd(n: int) -> None:
            await remember(store, "crowd", f"s{n}", add(f"voice {n}", axis(n % 8)))
            found: list[Hit] = (await store.search("crowd", [over("text", text=f"voice {n}")], k=1))[0]
            assert found[0].fact.info == f"voice {n}"

        async with anyio.create_task_group() as group:
            for n in range(4):
                group.start_soon(live, f"user {n}")
            for n in range(20):
                group.start_soon(crowd, n)
        assert [fact.fid for fact in await store.facts("crowd")] == [f"f{n}" for n in range(1, 21)]


class QueueContract:
    """The queue over all users: turns, order, leases, retries."""

    @pytest.mark.anyio
    async def test_users_take_turns_and_their_sessions_come_in_the_order_of_arrival(self, store: FactStore) -> None:
        for name in ("a1", "a2", "a3", "b1", "c1", "c2"):
            user = {"a": "zoe", "b": "bob", "c": "ada"}[name[0]]
            await store.put_session(user, Session(id=name, at=DAY, messages=said(name)))
        order: list[str] = []
        after: str | None = None
        while (found := await store.claim_next(now=DAY, lease=60, after=after)) is not None:
            after, record = found
            assert record.state is SessionState.EXTRACTING
            assert record.session.messages == said(record.session.id)
            order.append(record.session.id)
            await store.finish_session(after, record.session.id, [], extracted=1, now=DAY)
        assert sorted(order[:3]) == ["a1", "b1", "c1"]
        assert sorted(order[3:5]) == ["a2", "c2"]
        assert order[5] == "a3"

    @pytest.mark.anyio
    async def test_a_user_is_worked_on_once_at_a_time(self, store: FactStore) -> None:
        for name in ("s1", "s2"):
            await store.put_session("ada", Session(id=name, at=DAY, messages=said(name)))
        first = await store.claim_next(now=DAY, lease=60)
        assert first is not None
        assert (first[0], first[1].session.id) == ("ada", "s1")
        for after in (None, "ada", "nobody"):
            assert await store.claim_next(now=DAY + timedelta(seconds=59), lease=60, after=after) is None
        again = await store.claim_next(now=DAY + timedelta(seconds=60), lease=60)
        assert again is not None
        assert (again[1].session.id, again[1].attempts) == (
            "s1",
            2,
        )  # a lease that ran out comes before what came later

    @pytest.mark.anyio
    async def test_users_can_be_passed_over(self, store: FactStore) -> None:
        for user in ("ada", "bob"):
            await store.put_session(user, Session(id="s", at=DAY, messages=said(user)))
        found = await store.claim_next(now=DAY, lease=60, skip=frozenset({"ada"}))
        assert found is not None
        assert found[0] == "bob"
        assert await store.claim_next(now=DAY, lease=60, skip=frozenset({"ada"})) is None

    @pytest.mark.anyio
    async def test_only_one_of_many_workers_gets_a_session(self, store: FactStore) -> None:
        for n in range(5):
            await store.put_session(f"user {n}", Session(id="s", at=DAY, messages=said("a")))
        got: list[str] = []

        async def work() -> None:
            while (found := await store.claim_next(now=DAY, lease=60)) is not None:
                got.append(found[0])

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(work)
        assert sorted(got) == [f"user {n}" for n in range(5)]

    @pytest.mark.anyio
    async def test_a_failed_session_comes_back_when_it_is_due(self, store: FactStore) -> None:
        for name in ("s1", "s2"):
            await store.put_session("ada", Session(id=name, at=DAY, messages=said(name)))
            await store.claim_session("ada", name, now=DAY, lease=60)
        due = DAY + timedelta(minutes=5)
        await store.fail_session("ada", "s1", reason="busy", retry_at=due)
        await store.fail_session("ada", "s2", reason="hopeless")
        first, second = await store.sessions("ada")
        assert (first.state, first.retry_at) == (SessionState.FAILED, due)
        assert (second.state, second.retry_at) == (SessionState.FAILED, None)
        assert await store.claim_next(now=due - timedelta(microseconds=1), lease=60) is None
        found = await store.claim_next(now=due, lease=60)
        assert found is not None
        assert (found[1].session.id, found[1].attempts, found[1].retry_at) == ("s1", 2, None)
        await store.finish_session("ada", "s1", [], extracted=1, now=due)
        assert await store.claim_next(now=due + timedelta(days=365), lease=60) is None
        assert await store.claim_session("ada", "s2", now=due, lease=60) is not None

    @pytest.mark.anyio
    async def test_new_messages_give_a_session_a_new_chance(self, store: FactStore) -> None:
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a")))
        await store.claim_session("ada", "s", now=DAY, lease=60)
        await store.fail_session("ada", "s", reason="hopeless")
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a", "b")))
        found = await store.claim_next(now=DAY, lease=60)
        assert found is not None
        assert found[1].attempts == 1

    @pytest.mark.anyio
    async def test_a_released_session_waits_as_before(self, store: FactStore) -> None:
        record = await store.put_session("ada", Session(id="s", at=DAY, messages=said("a")))
        await store.claim_next(now=DAY, lease=60)
        await store.release_session("ada", "s")
        assert await store.session("ada", "s") == record
        await store.claim_session("ada", "s", now=DAY, lease=60)
        await store.finish_session("ada", "s", [], extracted=1, now=DAY)
        await store.release_session("ada", "s")
        assert (await store.sessions("ada"))[0].state is SessionState.DONE
        await store.release_session("nobody", "s")

    @pytest.mark.anyio
    async def test_whose_lease_ran_out_stores_nothing_twice(self, store: FactStore) -> None:
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a")))
        slow = await store.claim_session("ada", "s", now=DAY, lease=60)
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a", "b")))
        quick = await store.claim_session("ada", "s", now=DAY + timedelta(hours=1), lease=60)
        assert slow is not None
        assert quick is not None
        await store.finish_session("ada", "s", [add("A.")], extracted=1, since=slow.extracted, now=DAY)
        with pytest.raises(ConflictError, match="nothing was stored twice"):
            await store.finish_session("ada", "s", [add("A, again.")], extracted=2, since=quick.extracted, now=DAY)
        assert [fact.info for fact in await store.facts("ada")] == ["A."]
        rest = await store.claim_next(now=DAY, lease=60)
        assert rest is not None
        assert (rest[1].extracted, len(rest[1].session.messages)) == (1, 2)

    @pytest.mark.anyio
    async def test_what_is_forgotten_is_not_worked_on(self, store: FactStore) -> None:
        for user in ("ada", "bob"):
            await store.put_session(user, Session(id="s", at=DAY, messages=said("a")))
        await store.claim_session("ada", "s", now=DAY, lease=60)
        await store.forget("ada")
        await store.forget("bob", session="s")
        assert await store.claim_next(now=DAY + timedelta(days=1), lease=60) is None
        with pytest.raises(StoreError, match="'s'"):
            await store.finish_session("ada", "s", [add("Too late.")], extracted=1, since=0, now=DAY)
        assert await store.users() == ["bob"]


class UsageContract:
    """What work has cost, by user and day."""

    @pytest.mark.anyio
    async def test_usage_adds_up_by_user_and_day(self, store: FactStore) -> None:
        today, before = date(2025, 3, 1), date(2025, 2, 28)
        one = Usage(calls=2, failed_calls=1, tokens_in=100, tokens_out=10, cost=0.5, seconds=1.5)
        for user in ("ada", "bob"):
            await store.put_session(user, Session(id="s", at=DAY, messages=said("a")))
        await store.add_usage("ada", one, day=before)
        await store.add_usage("ada", one, day=today)
        await store.add_usage("ada", one, day=today)
        await store.add_usage("bob", one, day=today)
        assert await store.usage("ada", since=today) == one + one
        assert await store.usage("ada", since=before) == one + one + one
        assert await store.usage(since=today) == one + one + one
        assert await store.usage("nobody", since=before) == Usage()
        await store.add_usage("bob", Usage(calls=1, cost=None), day=today)
        assert (await store.usage(since=today)).cost is None
        assert (await store.usage("ada", since=today)).cost == 1.0

    @pytest.mark.anyio
    async def test_what_a_forgotten_user_spent_is_nobodys(self, store: FactStore) -> None:
        one = Usage(calls=1, tokens_in=10, cost=0.25)
        await store.put_session("ada", Session(id="s", at=DAY, messages=said("a")))
        await store.add_usage("ada", one, day=DAY.date())
        await store.forget("ada")
        await store.add_usage("ada", one, day=DAY.date())  # a call that was under way
        assert await store.users() == []
        assert await store.usage("ada", since=DAY.date()) == Usage()
        assert await store.usage(since=DAY.date()) == one + one


class EncodersContract:
    """Another encoder: gathered beside the one in use, complete before it takes over, never mixed."""

    @staticmethod
    async def embed(store: FactStore, encoder: tuple[str, int], *, limit: int = 3) -> list[str]:
        """Give every text without a vector one along axis 1; return the texts."""
        done: list[str] = []
        place: tuple[int, int] | None = None
        while texts := await store.unembedded(encoder, after=place, limit=limit):
            await store.put_vectors(encoder, texts, np.eye(encoder[1], dtype=np.float32)[[1] * len(texts)])
            done += [text.text for text in texts]
            place = texts[-1].place
        return done

    @pytest.mark.anyio
    async def test_texts_are_embedded_anew_while_searches_go_on(self, store: FactStore) -> None:
        new = ("new", 4)
        cues = [(Cue(text="cue one"), axis(5)), (Cue(text="cue two"), axis(6))]
        await remember(store, "ada", "s1", add("She works at A.", axis(0), cues=cues))
        await remember(store, "ada", "s2", revise(("f1",), "She works at B.", axis(2)))
        await remember(store, "bob", "s1", add("He sings.", axis(3)))
        assert await store.prepare_encoder(new) == 5
        assert not await store.use_encoder(new)
        assert sorted(await self.embed(store, new)) == sorted(
            ["She works at A.", "cue one", "cue two", "She works at B.", "He sings."]
        )
        (hits,) = await store.search("ada", [over("facts", axis(2))], k=5)
        assert [(hit.fact.fid, hit.similarity) for hit in hits] == [("f2", 1.0)]
        await remember(store, "bob", "s2", add("He came late.", axis(4)))
        assert await ids(store, "bob", over("facts", axis(4)), k=1) == ["f2"]
        assert not await store.use_encoder(new)
        assert await store.prepare_encoder(new) == 1
        assert await self.embed(store, new) == ["He came late."]
        assert await store.use_encoder(new)
        assert await store.use_encoder(new)
        for search in (over("facts", axis(0)), over("text", text="sings")):
            with pytest.raises(EncoderMismatchError, match="'new'"):
                await store.search("bob", [search], k=5)
        with pytest.raises(EncoderMismatchError, match="'new'"):
            await remember(store, "bob", "s3", add("With the old one."))
        with pytest.raises(EncoderMismatchError, match="'new'"):
            await store.vectors("bob", ["f1"])
        assert await store.drop_unused_vectors() == 6
        assert await store.drop_unused_vectors() == 0
        assert (await store.statistics())["vectors"] == 6

    @pytest.mark.anyio
    async def test_what_changes_meanwhile_gets_no_stale_vector(self, store: FactStore) -> None:
        new = ("new", 4)
        cue = [(Cue(text="cue"), axis(5))]
        await remember(store, "ada", "s1", add("Forgotten.", cues=cue), add("Given other cues.", axis(1), cues=cue))
        await store.prepare_encoder(new)
        texts = await store.unembedded(new)
        recue = Recue(fid="f2", cues=(Cue(text="another cue"),), cue_vectors=np.stack([axis(6)]))
        await store.edit_facts("ada", [recue], at=DAY)
        await store.forget("ada", fid="f1")
        await store.put_vectors(new, texts, np.eye(4, dtype=np.float32))
        assert [text.text for text in await store.unembedded(new)] == ["another cue"]
        await self.embed(store, new)
        await store.edit_facts("ada", [replace(recue, cues=(Cue(text="a third cue"),))], at=DAY)
        assert [text.text for text in await store.unembedded(new)] == ["a third cue"]

    @pytest.mark.anyio
    async def test_one_encoder_at_a_time_is_on_its_way(self, store: FactStore) -> None:
        first, second = ("first", 4), ("second", 4)
        await remember(store, "ada", "s1", add("One."), add("Two."))
        await store.prepare_encoder(first)
        texts = await store.unembedded(first, limit=1)
        await store.put_vectors(first, texts, np.eye(4, dtype=np.float32)[:1])
        assert await store.prepare_encoder(first) == 1
        assert await store.prepare_encoder(second) == 2
        with pytest.raises(ConflictError, match="'first'"):
            await store.put_vectors(first, texts, np.eye(4, dtype=np.float32)[:1])
        assert not await store.use_encoder(first)
        assert await store.drop_unused_vectors() == 1
        await self.embed(store, second)
        assert await store.use_encoder(second)
        assert await store.drop_unused_vectors() == 2

    @pytest.mark.anyio
    async def test_the_encoder_in_use_and_an_empty_store(self, store: FactStore) -> None:
        assert await store.prepare_encoder(("new", 4)) == 0
        assert await store.use_encoder(("new", 4))
        assert await store.prepare_encoder(ENCODER) == 0
        assert await store.use_encoder(ENCODER)
        await remember(store, "ada", "s1", add("One."))
        assert await store.prepare_encoder(ENCODER) == 0
        assert await store.use_encoder(ENCODER)
        assert await store.drop_unused_vectors() == 0
        assert await ids(store, "ada", over("facts", axis(0))) == ["f1"]


class TracesContract:
    """Traces: data, newest first."""

    @pytest.mark.anyio
    async def test_a_trace_comes_back_as_it_was_given(self, store: FactStore) -> None:
        await remember(store, "ada", "s")
        await store.put_trace("ada", trace("t"))
        assert await store.trace("ada", "t") == trace("t")
        assert await store.trace("bob", "t") is None

    @pytest.mark.anyio
    async def test_a_trace_of_what_was_forgotten_meanwhile_is_not_kept(self, store: FactStore) -> None:
        await remember(store, "ada", "s", add("She likes tea."), add("She sings."))
        both = trace("t", facts={"f1": "She likes tea.", "f2": "She sings."})
        await store.put_trace("ada", both)
        await store.forget("ada", fid="f1")
        await store.put_trace("ada", both)
        assert await store.traces("ada") == []
        await store.forget("ada")
        await store.put_trace("ada", both)
        assert await store.users() == []
        await remember(store, "ada", "s", add("A new life."))
        await store.put_trace("ada", trace("t", facts={"f1": "She likes tea."}))
        assert await store.traces("ada") == []

    @pytest.mark.anyio
    async def test_traces_page_newest_first(self, store: FactStore) -> None:
        for user in ("ada", "bob"):
            await remember(store, user, "s")
        for n in range(5):
            await store.put_trace("ada", trace(f"t{n}"))
        await store.put_trace("bob", trace("t9"))
        first = await store.traces("ada", limit=2)
        rest = await store.traces("ada", before=first[-1].id)
        assert [one.id for one in [*first, *rest]] == ["t4", "t3", "t2", "t1", "t0"]
        with pytest.raises(InputError, match="'gone'"):
            await store.traces("ada", before="gone")


class ErasureContract:
    """Forgetting: what is named goes, the rest stays, the counts are true."""

    @pytest.mark.anyio
    async def test_forget_a_user(self, store: FactStore) -> None:
        cues = [(Cue(text="one"), axis(1)), (Cue(text="two"), axis(2))]
        for user in ("ada", "bob"):
            await remember(store, user, "s1", add("She works at A.", cues=cues))
            await remember(store, user, "s2", revise(("f1",), "She works at B."))
            await store.put_trace(user, trace("t"))
        erased = await store.forget("ada")
        assert erased == Erased(sessions=2, messages=2, facts=2, cues=2, vectors=4, traces=1)
        assert await store.users() == ["bob"]
        assert await store.facts("ada", history=True) == []
        assert await store.sessions("ada") == []
        assert await store.traces("ada") == []
        assert await ids(store, "ada", over("text", text="works")) == []
        assert await ids(store, "bob", over("text", text="works")) == ["f2"]
        assert set((await store.statistics("ada")).values()) == {0}
        assert await store.forget("ada") == Erased()
        (fact,) = await remember(store, "ada", "s1", add("A new life."))
        assert fact.fid == "f1"
        assert await ids(store, "ada", over("facts", axis(0))) == ["f1"]

    @pytest.mark.anyio
    async def test_forget_a_session(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("Shared.", axis(0)), add("Only here.", axis(1)))
        await remember(store, "ada", "s2", add("Shared."), at=DAY + timedelta(days=1))
        await remember(store, "ada", "s3", add("Elsewhere.", axis(2)))
        await store.put_trace("ada", trace("saw it", facts={"f2": "Only here."}))
        await store.put_trace("ada", trace("did not", facts={"f1": "Shared."}))
        await ids(store, "ada", over("facts", axis(1)))
        erased = await store.forget("ada", session="s1")
        assert erased == Erased(sessions=1, messages=1, facts=1, vectors=1, traces=1)
        shared, elsewhere = await store.facts("ada")
        assert (shared.frequency, [source.session for source in shared.provenance]) == (1, ["s2"])
        assert elsewhere.info == "Elsewhere."
        (shared,) = await remember(store, "ada", "s4", add("Shared."))
        assert [source.session for source in shared.provenance] == ["s2", "s4"]
        assert (await store.forget("ada", session="s4")).facts == 0
        assert [one.id for one in await store.traces("ada")] == ["did not"]
        assert await ids(store, "ada", over("facts", axis(1))) == ["f1", "f3"]
        erased = await store.forget("ada", session="s3")
        assert erased.facts == 1
        (shared,) = await store.facts("ada")
        erased = await store.forget("ada", session="s2")
        assert (erased.facts, await store.facts("ada")) == (1, [])

    @pytest.mark.anyio
    async def test_a_fact_was_last_said_in_the_sessions_that_are_left(self, store: FactStore) -> None:
        await remember(store, "ada", "s1", add("Shared."))
        await remember(store, "ada", "s2", add("Shared."), at=DAY + timedelta(days=1))
        await store.forget("ada", session="s2")
        (fact,) = await store.facts("ada")
        assert fact.said_at == DAY

    @pytest.mark.anyio
    async def test_forget_a_fact_with_the_versions_before_it(self, store: FactStore) -> None:
        source = Source(session="s1", message=0, quote="of s1")
        await remember(store, "ada", "s1", add("She works at A.", sources=(source,)), add("She sings.", axis(1)))
        await remember(store, "ada", "s2", revise(("f1",), "She works at B."))
        await remember(store, "ada", "s3", revise(("f3",), "She works at C."))
        await store.put_trace("ada", trace("t", facts={"f9": "quotes She works at A. somewhere"}))
        assert await store.forget("ada", fid="f3") == Erased(facts=2, vectors=2, messages=1, traces=1)
        sings, works = await store.facts("ada", history=True)
        assert (sings.fid, works.fid, works.supersedes) == ("f2", "f4", ())
        assert await ids(store, "ada", over("facts", axis(0))) == ["f4", "f2"]
        assert await ids(store, "ada", over("text", text="works"), where=SearchFilter(at=DAY)) == ["f4"]
        assert await store.forget("ada", fid="f3") == Erased()
        assert await store.forget("ada", fid="nonsense") == Erased()
        assert await store.forget("nobody", fid="f1") == Erased()

    @pytest.mark.anyio
    async def test_a_forgotten_message_keeps_its_place_and_does_not_come_back(self, store: FactStore) -> None:
        session = Session(id="s", at=DAY, messages=said("hello", "my PIN is 1234", "bye"))
        await store.put_session("ada", session)
        await store.claim_session("ada", "s", now=DAY, lease=60)
        pin = add("Her PIN is 1234.", sources=(Source(session="s", message=1, quote="PIN is 1234"),))
        other = add("She has a PIN.", sources=(Source(session="s", message=1, quote="my PIN is 1234"),))
        await store.finish_session("ada", "s", [pin, other], extracted=3, now=DAY)
        assert await store.forget("ada", fid="f1") == Erased(facts=1, vectors=1, messages=1)
        record = await store.put_session("ada", session)
        assert [message.content for message in record.session.messages] == ["hello", "", "bye"]
        assert record.state is SessionState.DONE
        (left,) = await store.facts("ada")
        assert left.provenance == (Source(session="s", message=1),)

    @pytest.mark.anyio
    async def test_one_thing_at_a_time(self, store: FactStore) -> None:
        with pytest.raises(InputError, match="not both"):
            await store.forget("ada", session="s", fid="f1")

    @pytest.mark.anyio
    async def test_statistics_and_users(self, store: FactStore) -> None:
        await remember(store, "bob", "s1", add("One.", cues=[(Cue(text="cue"), axis(0))]))
        await remember(store, "ada", "s2", add("Two."))
        await store.put_session("ada", Session(id="s3", at=DAY, messages=said("a", "b")))
        counts = await store.statistics()
        assert (counts["users"], counts["sessions"], counts["messages"]) == (2, 3, 4)
        assert (counts["facts"], counts["cues"], counts["vectors"], counts["traces"]) == (2, 1, 3, 0)
        assert (counts["sessions_done"], counts["sessions_pending"], counts["sessions_failed"]) == (2, 1, 0)
        assert (await store.statistics("ada"))["sessions"] == 2
        assert await store.users() == ["ada", "bob"]
        assert await store.users(after="ada") == ["bob"]
        assert await store.users(limit=1) == ["ada"]

    @pytest.mark.anyio
    async def test_close_is_idempotent_and_final(self, store: FactStore) -> None:
        await store.close()
        await store.close()
        with pytest.raises(StoreError, match="closed"):
            await store.users()


class StoreContract(
    IntakeContract,
    QueueContract,
    FactsContract,
    SearchContract,
    EncodersContract,
    UsageContract,
    TracesContract,
    ErasureContract,
):
    """All of it."""
