"""A data set in a store, ready for scoring, and cut to its first part."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery, EvalUser
from prospection.evaluation.runs.rows import Case
from prospection.evaluation.runs.scored import Scored, first_part
from prospection.store.sqlite import SQLiteStore
from prospection.types import Usage
from remembered import WordEmbedder

AT = datetime(2025, 1, 1, tzinfo=UTC)


def dataset(*asked_by: tuple[str, str | None]) -> Dataset:
    users = dict.fromkeys(user for user, _ in asked_by)
    fact = EvalFact(id="f", text="They ski.", session="s", at=AT)
    return Dataset(
        name="cut",
        users=tuple(EvalUser(id=user, facts=(fact,)) for user in users),
        queries=tuple(
            EvalQuery(id=f"q{n}", user=user, person=person, text="?", at=AT, references=(frozenset({"f"}),))
            for n, (user, person) in enumerate(asked_by)
        ),
    )


def ids(cut: Dataset) -> list[str]:
    return [query.id for query in cut.queries]


def test_queries_each_are_of_each_person_in_the_order_of_the_data() -> None:
    whole = dataset(("ada", None), ("bo", None), ("ada", None), ("ada", None), ("bo", None), ("cy", None))

    cut = first_part(whole, users=2, queries=None, queries_each=2)

    assert ids(cut) == ["q0", "q1", "q2", "q4"]
    assert [user.id for user in cut.users] == ["ada", "bo"]
    assert cut.notes == ("Cut to the first 4 of 6 queries, at most 2 of each person.",)


def test_several_memories_of_one_person_are_one_person() -> None:
    whole = dataset(("ada-1", "ada"), ("ada-2", "ada"), ("bo-1", "bo"))

    assert ids(first_part(whole, users=1, queries=None)) == ["q0", "q1"]
    assert ids(first_part(whole, users=None, queries=None, queries_each=1)) == ["q0", "q2"]


def test_queries_count_over_all_and_nothing_cut_says_nothing() -> None:
    whole = dataset(("ada", None), ("bo", None))

    assert ids(first_part(whole, users=None, queries=1, queries_each=1)) == ["q0"]
    assert first_part(whole, users=None, queries=None) == whole


@pytest.mark.anyio
async def test_a_reference_is_as_near_as_the_nearest_fact_that_counts_for_it() -> None:
    facts = tuple(
        EvalFact(id=fid, text=text, session="s", at=AT)
        for fid, text in (("far", "Dogs bark"), ("half", "Ski holidays"), ("near", "They ski in winter"))
    )
    query = EvalQuery(
        id="q",
        user="ada-2",
        person="ada",
        text="They ski in winter",
        at=AT,
        references=(frozenset({"far", "near"}), frozenset({"far"}), frozenset({"half"})),
    )
    whole = Dataset(name="near", users=(EvalUser(id="ada-2", facts=facts),), queries=(query,))
    async with await SQLiteStore.open(":memory:", encoder=(WordEmbedder.id, WordEmbedder.dims)) as store:
        scored = await Scored.fill(whole, store=store, embedder=WordEmbedder())
    near, far, half = scored.similarities["q"]
    assert near == pytest.approx(1.0, abs=1e-3)
    assert far == 0.0
    assert half == pytest.approx(1 / 8**0.5, abs=1e-3)  # one of four words, and of two

    case = Case(dataset="near", system="direct", seed=0, query=query, attempt=2)
    row = scored.failed(case, usage=Usage(), seconds=0.0, error="gone")
    assert (row.person, row.user, row.similarities, row.attempt) == ("ada", "ada-2", (near, far, half), 2)
