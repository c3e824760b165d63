"""GraphRAG: facts to a graph, communities, and a local context whose parts can be counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import combinations

import numpy as np
import pytest

from prospection.evaluation.rivals.graphrag.communities import find_communities
from prospection.evaluation.rivals.graphrag.extraction import Entity, KnowledgeGraph, Relationship
from prospection.evaluation.rivals.graphrag.index import GraphIndex, Report, table
from prospection.evaluation.rivals.graphrag.search import local_context, nearest_entities
from prospection.evaluation.rivals.graphrag.system import GraphRag
from prospection.store.sqlite import SQLiteStore
from remembered import Script, WordEmbedder
from rivalry import ask, remember

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store() -> AsyncIterator[SQLiteStore]:
    async with await SQLiteStore.open(":memory:", encoder=(WordEmbedder.id, WordEmbedder.dims)) as opened:
        yield opened


def entity(name: str, description: str, *facts: int) -> dict[str, object]:
    return {"name": name, "type": "person", "description": description, "facts": list(facts)}


def edge(source: str, target: str, *facts: int, description: str = "related") -> dict[str, object]:
    return {"source": source, "target": target, "description": description, "strength": 5, "facts": list(facts)}


def related(source: str, target: str, *fids: str, weight: float = 1.0) -> Relationship:
    return Relationship(source=source, target=target, description="", weight=weight, fids=fids)


async def test_a_user_is_indexed_once_and_searched_without_a_call(store: SQLiteStore) -> None:
    await remember(store, "mother has dialysis on monday", "mother lives in rome", "bees need winter feed")
    model = Script(
        rival_graphrag_extract=[
            {
                "entities": [entity("Mother", "has dialysis", 1), entity("Bees", "kept by the user", 3, 17)],
                "relationships": [edge("Mother", "Rome", 2), edge("Bees", "bees", 3)],
            }
        ],
        rival_graphrag_glean=[{"entities": [entity("MOTHER", "lives in rome", 2)], "relationships": []}],
        rival_graphrag_describe=[{"description": "mother with dialysis who lives in rome"}],
        rival_graphrag_report=[{"title": "Family", "summary": "Mother in Rome.", "rating": 8, "findings": []}],
    )
    system = GraphRag(store=store, embedder=WordEmbedder(), model=model)
    assert (await system.prepare("ada")).calls == 4
    found = await system.retrieve(ask("dialysis for mother"))
    assert (found.fids, found.llm_calls) == (("f2", "f1", "f3"), 0)  # of MOTHER first the fact with a relationship
    assert found.context is not None
    assert found.context.splitlines()[:3] == ["reports", "# Family", "Mother in Rome."]
    assert "MOTHER|mother with dialysis who lives in rome|1" in found.context
    assert "MOTHER|ROME|related" in found.context
    assert "f1" not in model.requests[0].user


def test_communities_are_the_dense_parts_and_large_ones_are_divided() -> None:
    assert find_communities([]) == []
    cliques = [[f"{letter}{n}" for n in range(8)] for letter in "abc"]
    edges = [related(one, two) for clique in cliques for one, two in combinations(clique, 2)]
    assert [list(one.members) for one in find_communities(edges)] == cliques
    assert find_communities([*edges, related("a0", "b0", weight=0.0)]) == find_communities(edges)
    chain = [related(f"n{n:02}", f"n{n + 1:02}", weight=9.0) for n in range(30)]
    found = find_communities(chain)
    assert {name for one in found if one.level == 0 for name in one.members} == {f"n{n:02}" for n in range(31)}


def index() -> GraphIndex:
    names = ["HUB", "NEAR", "FAR", "LONE"]
    graph = KnowledgeGraph(
        entities=tuple(
            Entity(name=name, type="", description=name.lower(), fids=(f"f{n}", f"f{n + 4}"))
            for n, name in enumerate(names, start=1)
        ),
        relationships=(related("HUB", "NEAR", "f5"), related("FAR", "HUB", "f3"), related("FAR", "NEAR")),
    )
    return GraphIndex(
        graph=graph,
        texts={f"f{n}": f"text {n}" for n in range(1, 9)},
        vectors=np.eye(4, dtype=np.float32),
        community={"HUB": 0, "NEAR": 0, "FAR": 1},
        reports={0: Report(text="report 0", rating=1.0), 1: Report(text="report 1", rating=9.0)},
    )


def test_local_context_takes_reports_graph_and_units_in_their_order() -> None:
    made = index()
    selected = nearest_entities(made, np.array([0.9, 0.5, 0.1, 0.3], np.float32))
    assert [one.name for one in selected] == ["HUB", "NEAR", "LONE", "FAR"]
    context = local_context(made, selected[:2])
    assert context.fids == ("f5", "f1", "f2", "f6")  # HUB's fact with a relationship first
    assert context.text == (
        "reports\nreport 0\n\n"
        "entity|description|number of relationships\nHUB|hub|2\nNEAR|near|2\n\n"
        "source|target|description\nHUB|NEAR|\nFAR|HUB|\nFAR|NEAR|\n\n"
        "source\ntext 5\ntext 1\ntext 2\ntext 6"
    )
    assert local_context(made, []).fids == ()


def test_half_of_the_budget_is_for_units() -> None:
    # "source\n" and each "text 5\n" are two tokens: of twelve tokens six are for units, four after the head.
    assert local_context(index(), index().graph.entities, tokens=12).fids == ("f5", "f1")


def test_a_table_holds_what_fits() -> None:
    assert table("head", ["1234567", "1234567"], tokens=4) == ("head\n1234567", 1)
    assert table("head", ["1234567"], tokens=3) == ("", 0)
    assert table("head", [], tokens=9) == ("", 0)
