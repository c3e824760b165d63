"""A data set in a store, ready for scoring."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery, EvalUser
from prospection.evaluation.runs.rows import Case
from prospection.evaluation.runs.scored import Scored
from prospection.store.sqlite import SQLiteStore
from prospection.types import Usage
from remembered import WordEmbedder

AT = datetime(2025, 1, 1, tzinfo=UTC)


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
