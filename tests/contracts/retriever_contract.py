"""What every `Retriever` has to keep. A test module subclasses `RetrieverContract` and gives it a fixture `retriever`.

The memory behind it holds exactly `NOTES`. Similarities are only comparable within a memory, so the contract looks at
direction and order.
"""

from __future__ import annotations

from typing import ClassVar

import anyio
import pytest

from prospection.protocols import Retriever
from prospection.types import Over, Probe

NOTES = {
    "n1": "User's mother has dialysis every Monday.",
    "n2": "User's passport lapsed in April.",
    "n3": "User collects vinyl records of the seventies.",
    "n4": "La nonna del cliente vive a Torino e ama i gatti.",
    "n5": "User works night shifts at the bakery.",
}
"""What is remembered, by a name that says nothing."""


def probe(text: str, over: Over = "facts") -> Probe:
    return Probe(pid="p0", text=text, kind="query", over=over)


class RetrieverContract:
    """A memory of facts alone."""

    honours_k: ClassVar[bool] = True
    scored: ClassVar[bool] = True

    @pytest.mark.anyio
    async def test_the_same_words_come_first_and_higher_is_better(self, retriever: Retriever) -> None:
        lists = await retriever.retrieve([probe(text) for text in NOTES.values()], k=3)
        assert [hits[0].fact.info for hits in lists] == list(NOTES.values())
        for hits in lists:
            similarities = [hit.similarity for hit in hits]
            assert len(similarities) > 1
            assert similarities == sorted(similarities, reverse=True)
            assert similarities[0] > similarities[-1]

    @pytest.mark.anyio
    async def test_a_fact_appears_once_in_a_list_under_one_id(self, retriever: Retriever) -> None:
        first, second = await retriever.retrieve([probe("passport"), probe("User's passport")], k=5)
        ids = [hit.fact.fid for hit in first]
        assert len(ids) == len(set(ids))
        known = {hit.fact.fid: hit.fact.info for hit in first}
        assert all(known[hit.fact.fid] == hit.fact.info for hit in second if hit.fact.fid in known)

    @pytest.mark.anyio
    async def test_no_more_than_k(self, retriever: Retriever) -> None:
        if self.honours_k:
            (everything,) = await retriever.retrieve([probe("User")], k=99)
            assert len(everything) == len(NOTES)
        (two,) = await retriever.retrieve([probe("User")], k=2)
        assert len(two) == 2

    @pytest.mark.anyio
    async def test_what_the_memory_has_no_index_of_is_empty(self, retriever: Retriever) -> None:
        cues, facts, words = await retriever.retrieve(
            [probe("passport", "cues"), probe("passport"), probe("passport", "text")], k=2
        )
        assert (cues, words) == ([], [])
        assert facts

    @pytest.mark.anyio
    async def test_no_probes_bring_no_lists(self, retriever: Retriever) -> None:
        assert await retriever.retrieve([], k=5) == []

    @pytest.mark.anyio
    async def test_the_bound_acts(self, retriever: Retriever) -> None:
        (hits,) = await retriever.retrieve([probe(NOTES["n2"])], k=5)
        (near,) = await retriever.retrieve([probe(NOTES["n2"])], k=5, min_similarity=hits[0].similarity - 1e-6)
        assert [hit.fact for hit in near] == [hit.fact for hit in (hits[:1] if self.scored else hits)]

    @pytest.mark.anyio
    async def test_searches_at_the_same_time_do_not_mix(self, retriever: Retriever) -> None:
        found: dict[str, str] = {}

        async def search(text: str) -> None:
            (hits,) = await retriever.retrieve([probe(text)], k=2)
            found[text] = hits[0].fact.info

        async with anyio.create_task_group() as group:
            for text in NOTES.values():
                group.start_soon(search, text)
        assert found == {text: text for text in NOTES.values()}
