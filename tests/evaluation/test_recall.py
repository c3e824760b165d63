"""A whole measurement over a real store: facts in, queries to systems, figures out."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import pytest

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset, EvalQuery
from prospection.evaluation.datasets import load_dataset
from prospection.evaluation.recall import Retrieved, measure_recall
from prospection.evaluation.stored import store_dataset
from prospection.protocols import Progress, TextRole
from prospection.store.sqlite import SQLiteStore
from prospection.types import Calibration, Message, Over, SearchProbe, Session, Vectors
from remembered import WordEmbedder

SAMPLES = Path(__file__).parents[1] / "data" / "evaluation"


class Words(WordEmbedder):
    """Counts a word as often as it stands there, and its batches."""

    id = "words-64"
    calibration = Calibration(noise_mean=0.0, noise_sd=0.1, tau=0.1, tau_o=0.5)

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        self.batches.append(len(texts))
        if progress is not None and texts:
            progress(len(texts), len(texts))
        return await super().embed(texts, role=role)

    def counted(self, text: str) -> list[int]:
        return [crc32(word.encode()) for word in text.lower().split()]


class Dense:
    """Similarity to the query alone, over facts or over cues."""

    def __init__(self, name: str, store: SQLiteStore, over: Over = "facts") -> None:
        self.name = name
        self._store = store
        self._over: Over = over

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        (vector,) = await Words().embed([query.text], role="query")
        (hits,) = await self._store.search(
            query.user, [SearchProbe(over=self._over, text=query.text, vector=vector)], k=100
        )
        recorded = ("Has recorded steps.",) if query.recorded and query.recorded.steps else ()
        return Retrieved(fids=tuple(hit.fact.fid for hit in hits), llm_calls=2, notes=("No model ran.", *recorded))


@pytest.fixture
async def store() -> AsyncIterator[SQLiteStore]:
    opened = await SQLiteStore.open(":memory:", encoder=(Words.id, Words.dims))
    yield opened
    await opened.close()


@pytest.fixture
def quest() -> Dataset:
    return load_dataset(SAMPLES / "quest")


@pytest.mark.anyio
async def test_facts_stand_in_the_store_as_the_data_has_them(store: SQLiteStore, quest: Dataset) -> None:
    embedder = Words()
    stored = await store_dataset(quest, store=store, embedder=embedder)
    assert embedder.batches == [8, 1]  # one batch a user: five facts and three cues; one fact
    assert stored.fids["user2"] == {"f0001": "f1", "f0002": "f2", "f0003": "f3", "f0004": "f2", "f0005": "f4"}
    assert stored.facts == 5
    first, hives, *_ = await store.facts("user2")
    assert (first.info, first.related_entities) == ("User's passport ran out in May.", ("passport",))
    assert [cue.text for cue in first.cues] == ["booking a trip abroad", "proving one's identity"]
    assert first.said_at == quest.users[0].facts[0].at
    assert [source.session for source in hives.provenance] == ["s001", "s002"]
    assert hives.frequency == 2


@pytest.mark.anyio
async def test_two_wordings_of_one_fact_count_for_each_other(store: SQLiteStore, quest: Dataset) -> None:
    stored = await store_dataset(quest, store=store, embedder=Words())
    assert stored.references(quest.queries[0]) == (frozenset({"f1"}), frozenset({"f3"}), frozenset({"f2"}))


@pytest.mark.anyio
async def test_cues_are_searched_with_their_own_vectors(store: SQLiteStore, quest: Dataset) -> None:
    await store_dataset(quest, store=store, embedder=Words())
    (vector,) = await Words().embed(["being away for several days"])
    (hits,) = await store.search("user2", [SearchProbe(over="cues", text="", vector=vector)], k=1)
    assert [(hit.fact.fid, hit.cue) for hit in hits] == [("f3", "being away for several days")]
    assert hits[0].similarity == pytest.approx(1.0, abs=1e-3)


@pytest.mark.anyio
async def test_a_whole_measurement(store: SQLiteStore, quest: Dataset) -> None:
    storing: list[tuple[int, int]] = []
    asking: list[tuple[int, int]] = []
    result = await measure_recall(
        quest,
        [Dense("facts", store), Dense("cues", store, "cues")],
        store=store,
        embedder=Words(),
        storing=lambda done, total: storing.append((done, total)),
        asking=lambda done, total: asking.append((done, total)),
    )
    assert (result.data, result.encoder, result.facts, result.queries) == ("quest", "words-64", 5, 3)
    data = result.to_json()["systems"]
    # Every memory holds fewer than five facts: all are found over facts. Cues lead to two of three, none and none.
    assert data["facts"]["recall"]["5"] == data["facts"]["exact"]["5"] == 1.0
    assert data["cues"]["recall"]["5"] == pytest.approx((2 / 3 + 0 + 0) / 3)
    assert data["cues"]["exact"]["100"] == 0.0
    assert data["cues"]["llm_calls"] == 2.0
    assert data["cues"]["seconds"] > 0.0
    assert storing == [(8, 9), (9, 9)]
    assert asking == [(done, 6) for done in range(1, 7)]


@pytest.mark.anyio
async def test_who_asked_is_kept_beside_whose_memory_it_is(store: SQLiteStore, quest: Dataset) -> None:
    queries = tuple(replace(query, person="ada" if query.id == "user2-q1" else None) for query in quest.queries)
    result = await measure_recall(
        replace(quest, queries=queries), [Dense("facts", store)], store=store, embedder=Words()
    )
    assert [row.person for row in result.systems["facts"]] == [query.person or query.user for query in queries]
    assert [row.user for row in result.systems["facts"]] == [query.user for query in queries]


@pytest.mark.anyio
async def test_notes_of_data_and_systems_are_gathered(store: SQLiteStore, quest: Dataset) -> None:
    result = await measure_recall(quest, [Dense("dense", store)], store=store, embedder=Words())
    assert result.notes == (
        *quest.notes,
        "1 of 3 queries are older than some of the person's facts; all facts are in memory.",
        "dense: No model ran.",
        "dense: Has recorded steps. (1 of 3 queries)",
    )


@pytest.mark.anyio
async def test_turns_are_measured_like_facts(store: SQLiteStore, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "common", tmp_path / "set")
    dataset = load_dataset(tmp_path / "set")
    result = await measure_recall(dataset, [Dense("dense", store)], store=store, embedder=Words())
    assert (result.facts, result.queries) == (3, 2)
    assert result.to_json()["systems"]["dense"]["recall"]["5"] == 1.0


@pytest.mark.anyio
async def test_nobodys_memory_is_measured_in(store: SQLiteStore, quest: Dataset) -> None:
    said = Session(id="s1", at=quest.queries[0].at, messages=(Message(role="user", content="I am Eve."),))
    await store.put_session("eve", said)
    with pytest.raises(InputError, match="already holds somebody's memory"):
        await measure_recall(quest, [Dense("dense", store)], store=store, embedder=Words())


@pytest.mark.anyio
@pytest.mark.parametrize("names", [[], ["dense", "dense"]])
async def test_systems_are_told_apart_by_name(store: SQLiteStore, quest: Dataset, names: list[str]) -> None:
    with pytest.raises(InputError, match="name at least one, and each once"):
        await measure_recall(quest, [Dense(name, store) for name in names], store=store, embedder=Words())
