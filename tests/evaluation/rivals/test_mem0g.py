"""Mem0g: what becomes of memories and relations, and what is found through them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from prospection.evaluation.rivals.mem0g.memories import Decision, usable
from prospection.evaluation.rivals.mem0g.system import Mem0g
from prospection.store.sqlite import SQLiteStore
from remembered import Script, WordEmbedder
from rivalry import ask, remember

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store() -> AsyncIterator[SQLiteStore]:
    async with await SQLiteStore.open(":memory:", encoder=(WordEmbedder.id, WordEmbedder.dims)) as opened:
        yield opened


def decide(*decisions: tuple[int, str, int | None, str | None]) -> dict[str, object]:
    return {"decisions": [{"fact": f, "event": e, "memory": m, "text": t} for f, e, m, t in decisions]}


def name(*entities: str) -> dict[str, object]:
    return {"entities": list(entities)}


def relate(*triples: tuple[str, str, str, int]) -> dict[str, object]:
    return {"relations": [{"source": s, "relation": r, "target": t, "fact": f} for s, r, t, f in triples]}


async def test_an_update_a_repeat_and_a_deletion_change_what_is_found(store: SQLiteStore) -> None:
    await remember(
        store,
        "ada keeps bees",
        "ada loves meat",
        "ada keeps three hives",
        "ada has bees",
        "ada eats no meat",
        sessions=[2, 3],
    )
    model = Script(
        rival_mem0g_decide=[
            decide((1, "ADD", None, None), (2, "ADD", None, None)),
            decide(
                (1, "UPDATE", 1, "ada keeps bees in three hives"),
                (2, "NONE", 1, None),
                (3, "DELETE", 2, None),
                (3, "ADD", None, None),
            ),
        ],
        rival_mem0g_entities=[name(), name(), name()],
        rival_mem0g_relations=[relate(), relate()],
    )
    system = Mem0g(store=store, embedder=WordEmbedder(), model=model)
    assert (await system.prepare("ada")).calls == 6  # three a session; the graph knew nothing to contradict
    found = await system.retrieve(ask("three hives"))
    assert found.llm_calls == 1
    assert found.fids == ("f4", "f3", "f1", "f5")  # one memory stands for three facts, latest first; f2 is deleted
    assert found.context == "Memories:\n- ada keeps bees in three hives\n- ada eats no meat"
    decided = model.requests[3].user
    assert "1. ada keeps bees\n2. ada loves meat" in decided
    assert "f1" not in decided


async def test_relations_are_found_from_entities_and_as_triples_and_not_once_contradicted(store: SQLiteStore) -> None:
    await remember(store, "mother is ill", "lives in rome", "lives in oslo now", sessions=[2, 1])
    model = Script(
        rival_mem0g_decide=[decide((1, "ADD", None, None), (2, "ADD", None, None)), decide((1, "ADD", None, None))],
        rival_mem0g_entities=[name("mother", "rome"), name("user", "oslo"), name("Mother")],
        rival_mem0g_relations=[
            relate(("mother", "has", "clinic days", 1), ("user", "lives in", "rome", 2), ("x", "y", "z", 9)),
            relate(("user", "lives in", "oslo", 1)),
        ],
        rival_mem0g_conflicts=[{"numbers": [1, 7]}],
    )
    system = Mem0g(store=store, embedder=WordEmbedder(), model=model, limit=2)
    assert (await system.prepare("ada")).calls == 7
    assert "1. user lives in rome" in model.requests[6].user
    found = await system.retrieve(ask("plan a trip around mother and clinic days"))
    assert found.fids[0] == "f1"
    assert found.context is not None
    relations = found.context.partition("Relations:\n")[2]
    assert relations.splitlines() == ["- mother has clinic days", "- user lives in oslo"]  # Rome was contradicted


def edge(source: str, label: str, target: str) -> dict[str, object]:
    return relate((source, label, target, 1))


async def test_what_is_scored_is_what_is_shown(store: SQLiteStore) -> None:
    infos = ["garden of ada", "hives of ada", "oboe by ivo", "trip to rome"]
    await remember(store, *infos, sessions=[1] * 4)
    model = Script(
        rival_mem0g_decide=[decide((1, "ADD", None, None))] * 4,
        rival_mem0g_entities=[name("ada"), name("ada"), name("ivo"), name("rome"), name("ada")],
        rival_mem0g_relations=[
            edge("ada", "digs", "garden"),
            edge("ada", "keeps", "hives"),
            edge("ivo", "plays", "oboe"),
            edge("trip", "to", "rome"),
        ],
        rival_mem0g_conflicts=[{"numbers": []}],
    )
    system = Mem0g(store=store, embedder=WordEmbedder(), model=model, limit=2)
    found = await system.retrieve(ask("trip to rome"))
    assert found.context is not None
    memories, _, relations = found.context.partition("\nRelations:\n")
    # Around ada: the garden, then the hives. By similarity: Rome, then any other. Two of these lines are shown.
    assert relations.splitlines() == ["- ada digs garden", "- trip to rome"]
    shown = [line.removeprefix("- ") for line in memories.splitlines()[1:]]
    assert len(shown) == 2
    assert set(found.fids) == {f"f{infos.index(text) + 1}" for text in shown} | {"f1", "f4"}


async def test_a_contradicted_relation_is_not_found_from_its_entity_and_words_decide_the_order(
    store: SQLiteStore,
) -> None:
    await remember(store, "one", "two", "three", sessions=[1] * 3)
    model = Script(
        rival_mem0g_decide=[decide((1, "NONE", None, None))] * 3,
        rival_mem0g_entities=[name("ada"), name("ada"), name("ada"), name("ada")],
        rival_mem0g_relations=[
            relate(("ada", "lives in", "rome", 1), ("ada", "owns", "boat", 1)),
            edge("ada", "keeps", "hives"),
            edge("ada", "lives in", "oslo"),
        ],
        rival_mem0g_conflicts=[{"numbers": []}, {"numbers": [1]}],
    )
    system = Mem0g(store=store, embedder=WordEmbedder(), model=model, limit=3)
    found = await system.retrieve(ask("will rome see hives"))
    assert found.context is not None
    relations = found.context.partition("Relations:\n")[2].splitlines()
    assert relations[0] == "- ada keeps hives"  # the only one around ada that shares a word with the request
    assert "- ada lives in rome" not in relations


async def test_a_new_fact_is_laid_beside_its_five_nearest_memories(store: SQLiteStore) -> None:
    await remember(store, *(f"bees note{n}" for n in range(7)), "bees again", sessions=[7, 1])
    model = Script(
        rival_mem0g_decide=[decide(*((n, "ADD", None, None) for n in range(1, 8))), decide()],
        rival_mem0g_entities=[name(), name()],
        rival_mem0g_relations=[relate(), relate()],
    )
    await Mem0g(store=store, embedder=WordEmbedder(), model=model).prepare("ada")
    shown = model.requests[3].user
    assert "5. bees note" in shown
    assert "6. bees note" not in shown


async def test_names_that_share_a_word_are_not_one_entity(store: SQLiteStore) -> None:
    await remember(store, "one")
    model = Script(
        rival_mem0g_decide=[decide((1, "ADD", None, None))],
        rival_mem0g_entities=[name("ada"), name("ada brown")],
        rival_mem0g_relations=[relate(("ada lovelace", "knows", "ada smith", 1), ("ada brown", "is", "ill", 1))],
    )
    system = Mem0g(store=store, embedder=WordEmbedder(), model=model)  # cosines of 0.5 between the names
    found = await system.retrieve(ask("how is ada brown"))
    assert found.context is not None
    assert "- ada lovelace knows ada smith" in found.context.splitlines()


def test_decisions_about_nothing_do_not_count_and_no_fact_is_lost() -> None:
    given = [
        Decision(fact=1, event="UPDATE", memory=9),
        Decision(fact=2, event="NONE", memory=9),
        Decision(fact=3, event="DELETE", memory=1),
        Decision(fact=8, event="ADD"),
    ]
    assert usable(given, facts=4, memories=1) == [
        Decision(fact=1, event="NONE"),
        Decision(fact=2, event="DELETE", memory=0),
        Decision(fact=0, event="ADD"),
        Decision(fact=3, event="ADD"),
    ]


async def test_nobody_known_gives_nothing(store: SQLiteStore) -> None:
    model = Script(rival_mem0g_entities=[name("bees")])
    found = await Mem0g(store=store, embedder=WordEmbedder(), model=model).retrieve(ask("where are the bees"))
    assert (found.fids, found.llm_calls) == ((), 1)
