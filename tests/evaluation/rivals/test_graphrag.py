"""GraphRAG: facts to a graph, communities, and a local context whose parts can be counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from prospection.evaluation.rivals.graphrag.communities import find_communities
from prospection.evaluation.rivals.graphrag.extraction import Entity, KnowledgeGraph, Relationship, extract_graph
from prospection.evaluation.rivals.graphrag.index import GraphIndex, Report, Table, table
from prospection.evaluation.rivals.graphrag.search import local_context, nearest_entities
from prospection.evaluation.rivals.graphrag.system import GraphRag
from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import read_memory
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
    assert table("head", ["1234567", "1234567"], tokens=4) == Table(text="head\n1234567", rows=1, tokens=4)
    assert table("head", ["1234567"], tokens=3) == table("head", [], tokens=9) == Table(text="", rows=0, tokens=0)


def test_relationships_get_what_entities_leave_and_heads_count() -> None:
    made = index()  # of 60 tokens 21 are for the graph: entities take 13, and the head of relationships 7
    context = local_context(made, made.graph.entities[:1], tokens=60).text
    assert "HUB|hub|2" in context
    assert "FAR|HUB" not in context
    assert "FAR|HUB" in local_context(made, made.graph.entities[:1], tokens=80).text


def test_reports_are_kept_to_their_share() -> None:
    made = replace(index(), reports={0: Report(text="r" * 70, rating=1.0), 1: Report(text="", rating=1.0)})
    # "reports\n" takes two tokens and the report 18: they fit into 15 % of 140 tokens, and not of 120.
    assert "rrr" in local_context(made, made.graph.entities[:1], tokens=140).text
    assert "rrr" not in local_context(made, made.graph.entities[:1], tokens=120).text


def test_twenty_entities_are_looked_at() -> None:
    names = [f"E{n:02}" for n in range(25)]
    graph = KnowledgeGraph(
        entities=tuple(Entity(name=name, type="", description="", fids=()) for name in names), relationships=()
    )
    made = replace(index(), graph=graph, vectors=np.eye(25, dtype=np.float32))
    assert [one.name for one in nearest_entities(made, np.linspace(1, 0, 25, dtype=np.float32))] == names[:20]


async def test_chunks_overlap_and_what_they_share_counts_once(store: SQLiteStore) -> None:
    infos = [f"fact{n:02} {'word ' * 30}end" for n in range(45)]  # 41 tokens each, so 29 a chunk and two shared
    await remember(store, *infos)
    first = {"entities": [], "relationships": [edge("Ada", "Rome", 29), edge("Ada", "Bees", 1)]}
    second = {
        "entities": [entity("Rome", "a city", 2)],
        "relationships": [edge("Ada", "Rome", 2), edge("Ada", "Bees", 2, 3), edge("Ada", "Oslo", 1)],
    }
    nothing: dict[str, object] = {"entities": [], "relationships": []}
    model = Script(rival_graphrag_extract=[first, second], rival_graphrag_glean=[nothing, nothing])
    memory = await read_memory(store, "ada")
    graph = await extract_graph(memory, Questions(model, about="test", at_once=1))
    shown = [[line.split()[1] for line in request.user.splitlines() if " fact" in line] for request in model.requests]
    assert shown[0] == [f"fact{n:02}" for n in range(29)]
    assert shown[1] == [f"fact{n:02}" for n in range(27, 45)]
    found = {one.source + one.target: one for one in graph.relationships}
    assert (found["ADAROME"].weight, found["ADAROME"].fids) == (5.0, ("f29",))
    assert (found["ADABEES"].weight, found["ADABEES"].fids) == (10.0, ("f1", "f29", "f30"))
    assert (found["ADAOSLO"].weight, found["ADAOSLO"].fids) == (5.0, ("f28",))
    (rome,) = [one for one in graph.entities if one.name == "ROME"]
    assert rome.fids == ("f29",)


async def test_a_fact_that_fills_a_chunk_is_not_repeated(store: SQLiteStore) -> None:
    await remember(store, "short", "word " * 1000, "last")
    nothing: dict[str, object] = {"entities": [], "relationships": []}
    model = Script(rival_graphrag_extract=[nothing] * 3, rival_graphrag_glean=[nothing] * 3)
    await extract_graph(await read_memory(store, "ada"), Questions(model, about="test", at_once=1))
    assert len(model.requests) == 6
    assert "short" not in model.requests[1].user
    assert "word" not in model.requests[2].user


async def test_a_report_is_asked_for_with_the_whole_community(store: SQLiteStore) -> None:
    await remember(store, "ada knows many people")
    names = [f"Person{n}" for n in range(9)]
    extracted = {
        "entities": [entity(one, f"about {one}, at some length, so that much is to be read", 1) for one in names],
        "relationships": [edge(one, other, 1) for one, other in combinations(names, 2)],
    }
    nothing: dict[str, object] = {"entities": [], "relationships": []}
    model = Script(
        rival_graphrag_extract=[extracted],
        rival_graphrag_glean=[nothing],
        rival_graphrag_report=[{"title": "t", "summary": "s", "rating": 1, "findings": []}],
    )
    await GraphRag(store=store, embedder=WordEmbedder(), model=model).prepare("ada")
    report = model.requests[-1].user
    assert all(f"about {one}" in report for one in names)
    assert "PERSON7|PERSON8|related" in report
