"""TaciTree: near-duplicates, clusters, the tree over them and the descent, worked out by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import numpy as np
import pytest

from prospection.errors import EndpointError
from prospection.evaluation.rivals import build_rival
from prospection.evaluation.rivals.tacitree.clusters import clusters, distinct
from prospection.evaluation.rivals.tacitree.system import TaciTree
from prospection.store.sqlite import SQLiteStore
from prospection.types import Usage
from remembered import Script, WordEmbedder
from rivalry import ask, remember

pytestmark = pytest.mark.anyio

YES, NO = {"answer": "yes"}, {"answer": "no"}
TOPICS = ("bees hives honey garden", "violin lessons practice orchestra", "dialysis clinic mother monday")


@pytest.fixture
async def store() -> AsyncIterator[SQLiteStore]:
    async with await SQLiteStore.open(":memory:", encoder=(WordEmbedder.id, WordEmbedder.dims)) as opened:
        yield opened


def facts(a_topic: int) -> list[str]:
    return [f"{topic} {topic} note{number}" for topic in TOPICS for number in range(a_topic)]


def test_of_a_near_pair_the_earlier_goes() -> None:
    a, b, c = np.array([1.0, 0.0]), np.array([0.95, 0.3122]), np.array([0.0, 1.0])
    assert distinct(np.stack([a, b, c]), above=0.9) == [1, 2]
    assert distinct(np.stack([b, c, a]), above=0.9) == [1, 2]
    assert distinct(np.stack([a, a, a]), above=0.9) == [2]
    assert distinct(np.stack([a, b, c]), above=0.99) == [0, 1, 2]
    assert distinct(np.empty((0, 2)), above=0.9) == []


async def test_clusters_follow_topics_and_are_the_same_again() -> None:
    vectors = await WordEmbedder().embed(facts(6))
    found = clusters(vectors)
    assert found == [list(range(6)), list(range(6, 12)), list(range(12, 18))]
    assert clusters(vectors) == found


async def test_many_topics_are_told_apart() -> None:
    vectors = await WordEmbedder().embed([f"{topic} {topic} note{n}" for topic in WORDS[:8] for n in range(6)])
    assert clusters(vectors) == [list(range(start, start + 6)) for start in range(0, 48, 6)]


async def test_the_authors_own_reduction(store: SQLiteStore) -> None:
    pytest.importorskip("umap", reason="pip install 'prospection[umap]'")
    await remember(store, *facts(6))
    model = Script(rival_tacitree_summarise=[{"summary": topic} for topic in TOPICS])
    tree = build_rival("tacitree", store=store, embedder=WordEmbedder(), model=model, parameters={"reduction": "umap"})
    assert isinstance(tree, TaciTree)
    assert 1 <= (await tree.prepare("ada")).calls <= 3  # one a cluster that got anything
    vectors = await WordEmbedder().embed(facts(6))
    found = clusters(vectors, reduction="umap")
    assert sorted(place for group in found for place in group) == list(range(18))
    assert clusters(vectors, reduction="umap") == found


async def test_a_small_memory_has_no_tree_and_is_returned_whole(store: SQLiteStore) -> None:
    await remember(store, "violin on monday", "bees in the garden")
    model = Script()
    found = await TaciTree(store=store, embedder=WordEmbedder(), model=model).retrieve(ask("where are the bees"))
    assert found.fids == ("f2", "f1")  # nearest to the query first
    assert (found.llm_calls, model.requests) == (0, [])
    assert "no tree" in found.notes[0]


async def test_nobody_known_gives_nothing(store: SQLiteStore) -> None:
    found = await TaciTree(store=store, embedder=WordEmbedder(), model=Script()).retrieve(ask("anything"))
    assert found.fids == ()


async def test_only_what_stands_under_accepted_nodes_is_found(store: SQLiteStore) -> None:
    await remember(store, *facts(6))
    summaries = [{"summary": f"about {topic}"} for topic in TOPICS]
    model = Script(rival_tacitree_summarise=summaries, rival_tacitree_judge=[NO, NO, YES])
    tree = TaciTree(store=store, embedder=WordEmbedder(), model=model)
    assert (await tree.prepare("ada")).calls == 3
    assert len(model.requests) == 3
    found = await tree.retrieve(ask("a trip on monday"))
    assert set(found.fids) == {f"f{number}" for number in range(13, 19)}
    assert (found.llm_calls, found.usage.calls) == (3, 3)  # one a node of the top level; facts are not judged
    assert "about dialysis" in model.requests[-1].user
    assert len({request.subject for request in model.requests}) == 6
    assert (await tree.prepare("ada")).calls == 3  # built once


async def test_the_descent_asks_the_children_of_accepted_nodes_only(store: SQLiteStore) -> None:
    await remember(store, *(f"{topic} {topic} {topic} t{n} note{n}" for n in range(8) for topic in (*TOPICS, *WORDS)))
    model = Script(
        rival_tacitree_summarise=[{"summary": f"summary {n}"} for n in range(40)],
        rival_tacitree_judge=[YES, *[NO] * 40],
    )
    tree = TaciTree(store=store, embedder=WordEmbedder(), model=model)
    summaries = (await tree.prepare("ada")).calls
    found = await tree.retrieve(ask("anything"))
    asked = Counter(request.subject.split(": ")[-1].partition(",")[0] for request in model.requests[summaries:])
    assert asked["level 2"] == summaries // 7  # 22 summaries of 136 facts, then 3 of those
    assert 0 < asked["level 1"] < summaries - asked["level 2"]
    assert found.llm_calls == asked.total()
    assert found.fids == ()  # no leaf was accepted


async def test_a_failing_call_fails_the_build_and_the_next_attempt_builds_anew(store: SQLiteStore) -> None:
    await remember(store, *facts(6))
    down = EndpointError("the endpoint is down", usage=Usage(calls=1, failed_calls=1))
    summaries = [{"summary": topic} for topic in TOPICS]
    model = Script(rival_tacitree_summarise=[down, *summaries, *summaries], rival_tacitree_judge=[NO, NO, NO])
    tree = build_rival("tacitree", store=store, embedder=WordEmbedder(), model=model)
    with pytest.raises(EndpointError, match="down"):
        await tree.retrieve(ask("anything"))
    assert (await tree.retrieve(ask("anything"))).fids == ()


WORDS = (
    "passport embassy renewal", "marathon training knee", "bakery sourdough oven", "chess club openings",
    "lease landlord flat", "allergy peanuts epipen", "thesis supervisor draft", "guitar amplifier band",
    "puppy vet vaccines", "pottery kiln glaze", "tax refund letter", "sailing knots harbour",
    "choir concert alto", "solar panels roof",
)  # fmt: skip
