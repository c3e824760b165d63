"""Mem0g's write path: the facts of M in the order they were said, in; memories and graph, out.

Extraction of facts is given: M is what it would have brought. Each batch of a session's facts costs three calls, and a
fourth when the graph knows something about its entities: decide on memories, name entities, name relations, and find
relations that are contradicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from prospection.evaluation.rivals.mem0g.graph import Graph
from prospection.evaluation.rivals.mem0g.memories import Decisions, Memories, Remembered, usable
from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import SharedMemory
from prospection.models.reply import Line
from prospection.protocols import Embedder
from prospection.types import Fact, Vectors

__all__ = ["Entities", "Mem0gIndex", "build_mem0g"]

BATCH = 10
"""Facts that are decided upon in one call; a session with more is taken in parts."""

SIMILAR = 5
"""Memories shown beside each new fact (mem0ai 1.0.11)."""

NEIGHBOURS = 100
"""Relations at most that are checked for contradictions (mem0ai 1.0.11)."""


class Entities(BaseModel):
    """Entities that a text is about."""

    entities: list[Line]


class _Triple(BaseModel):
    source: Line
    relation: Line
    target: Line
    fact: int


class _Triples(BaseModel):
    relations: list[_Triple]


class _Contradicted(BaseModel):
    numbers: list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mem0gIndex:
    """What is searched.

    Attributes:
        memories: Those that were not deleted.
        triples: (t, d) float32 unit rows of the triples in words, one for each relation, valid or not.
    """

    memories: tuple[Remembered, ...]
    graph: Graph
    triples: Vectors


async def build_mem0g(
    memory: SharedMemory, questions: Questions, *, embedder: Embedder, similarity: float
) -> Mem0gIndex:
    """Build a user's index.

    Args:
        similarity: Cosine from which two entities are one.

    Raises:
        ModelError: A call failed.
    """
    memories, graph = Memories(), Graph(similarity=similarity)
    for number, batch in enumerate(memory.batches(BATCH), start=1):
        facts = [memory.facts[place] for place in batch]
        await _decide(facts, memory.vectors[batch], memories, questions, embedder, f"batch {number}")
        await _relate(facts, graph, questions, embedder, f"batch {number}")
    texts = [graph.triple(place) for place in range(len(graph.relations))]
    return Mem0gIndex(memories=tuple(memories.current()), graph=graph, triples=await embedder.embed(texts))


async def _decide(
    facts: Sequence[Fact], vectors: Vectors, memories: Memories, questions: Questions, embedder: Embedder, item: str
) -> None:
    shown = memories.similar(vectors, k=SIMILAR)
    inputs = {
        "memories": numbered(memories.text(place) for place in shown) or "(none)",
        "facts": numbered(fact.info for fact in facts),
    }
    reply = await questions.ask("rival_mem0g_decide", Decisions, inputs, item=item)
    for decision in usable(reply.decisions, facts=len(facts), memories=len(shown)):
        fact, vector = facts[decision.fact], vectors[decision.fact]
        place = None if decision.memory is None else shown[decision.memory]
        match decision.event:
            case "ADD":
                memories.add(fact, vector)
            case "UPDATE" if place is not None:
                text = decision.text or fact.info
                (row,) = await embedder.embed([text])
                memories.update(place, fact, text, row)
            case "DELETE" if place is not None:
                memories.delete(place)
            case _ if place is not None:
                memories.repeat(place, fact)


async def _relate(facts: Sequence[Fact], graph: Graph, questions: Questions, embedder: Embedder, item: str) -> None:
    text = numbered(fact.info for fact in facts)
    named = await questions.ask("rival_mem0g_entities", Entities, {"text": text}, item=item)
    entities = list(dict.fromkeys(named.entities))
    inputs = {"facts": text, "entities": "\n".join(f"- {name}" for name in entities) or "(none)"}
    related = await questions.ask("rival_mem0g_relations", _Triples, inputs, item=item)
    triples = [triple for triple in related.relations if 1 <= triple.fact <= len(facts)]

    rows = await embedder.embed(entities)
    known = graph.incident({place for row in rows for place in graph.near(row)})[:NEIGHBOURS]
    if known:
        inputs = {"relations": numbered(graph.triple(place) for place in known), "facts": text}
        reply = await questions.ask("rival_mem0g_conflicts", _Contradicted, inputs, item=item)
        for number in set(reply.numbers):
            if 1 <= number <= len(known):
                graph.contradict(known[number - 1])

    names = list(dict.fromkeys(name for triple in triples for name in (triple.source, triple.target)))
    places = {name: graph.entity(name, row) for name, row in zip(names, await embedder.embed(names), strict=True)}
    for triple in triples:
        label = "_".join(triple.relation.lower().split())
        graph.relate(places[triple.source], label, places[triple.target], [facts[triple.fact - 1].fid])


def numbered(texts: Iterable[str]) -> str:
    """Return texts as lines with numbers from 1."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))
