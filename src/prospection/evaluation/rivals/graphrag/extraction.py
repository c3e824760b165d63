"""Facts to a graph: entities and relationships with descriptions, and the facts that each came from.

Facts are shown in chunks of up to 1,200 tokens and asked about twice, the second time for what was missed (one
gleaning). A chunk begins with the last facts of the one before, up to 100 tokens. What has the same name is one entity;
what was described several times gets one description by a further call. In the package each document has chunks of its
own; here the chunk is one call and the fact is the text unit, which costs a fortieth and says of each entity exactly
which facts speak of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, Field

from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import SharedMemory
from prospection.models.reply import Line
from prospection.types import Fact, count_tokens

__all__ = ["Entity", "KnowledgeGraph", "Relationship", "extract_graph"]

CHUNK_TOKENS = 1200
OVERLAP_TOKENS = 100
ENTITY_TYPES = ("organization", "person", "geo", "event")


class _Entity(BaseModel):
    name: Line
    type: str
    description: str
    facts: list[int] = Field(description="Numbers of the facts that speak of it")


class _Relationship(BaseModel):
    source: Line
    target: Line
    description: str
    strength: float = Field(ge=0, le=10)
    facts: list[int] = Field(description="Numbers of the facts that state it")


class _Extracted(BaseModel):
    entities: list[_Entity]
    relationships: list[_Relationship]


class _Description(BaseModel):
    description: str = Field(min_length=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A node. `name` is in upper case, as GraphRAG has it; `fids` are the facts it was found in, in order."""

    name: str
    type: str
    description: str
    fids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """An edge between two entities by name, without direction. `weight` is the sum of the strengths given."""

    source: str
    target: str
    description: str
    weight: float
    fids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeGraph:
    """Entities in the order of first mention, and relationships between them."""

    entities: tuple[Entity, ...]
    relationships: tuple[Relationship, ...]

    def degrees(self) -> dict[str, int]:
        """Return the number of relationships of every entity."""
        degree = dict.fromkeys((entity.name for entity in self.entities), 0)
        for relationship in self.relationships:
            degree[relationship.source] += 1
            degree[relationship.target] += 1
        return degree


async def extract_graph(memory: SharedMemory, questions: Questions) -> KnowledgeGraph:
    """Extract a user's graph: two calls a chunk and one for each thing that was described more than once.

    Raises:
        ModelError: A call failed.
    """
    chunks = _chunks(memory.facts)
    texts = ["\n".join(f"{n}. {fact.info}" for n, fact in enumerate(chunk.facts, start=1)) for chunk in chunks]
    types = ", ".join(ENTITY_TYPES)
    asked = [(f"chunk {n}", {"types": types, "facts": text}) for n, text in enumerate(texts, start=1)]
    first = await questions.ask_all("rival_graphrag_extract", _Extracted, asked)
    again = [
        (item, {**inputs, "found": _found(extracted)}) for (item, inputs), extracted in zip(asked, first, strict=True)
    ]
    more = await questions.ask_all("rival_graphrag_glean", _Extracted, again)
    gathered = _Gathered()
    for chunk, *replies in zip(chunks, first, more, strict=True):
        for reply in replies:
            gathered.take(chunk, reply)
    return await _described(gathered, questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    """Facts that are shown together; the first `repeated` of them stood at the end of the chunk before."""

    facts: tuple[Fact, ...]
    repeated: int

    def fids(self, numbers: Iterable[int]) -> list[str]:
        """Return the ids of facts by number; numbers that do not exist do not count."""
        return [self.facts[number - 1].fid for number in numbers if 1 <= number <= len(self.facts)]


@dataclass(slots=True)
class _Described:
    """What is known of an entity or a relationship while it is gathered; dicts keep order and leave out repeats."""

    type: str = ""
    weight: float = 0.0
    descriptions: dict[str, None] = field(default_factory=dict)
    fids: dict[str, None] = field(default_factory=dict)

    def add(self, description: str, fids: Iterable[str]) -> None:
        if description.strip():
            self.descriptions[description.strip()] = None
        self.fids.update(dict.fromkeys(fids))


class _Gathered:
    """Extracted things by name."""

    def __init__(self) -> None:
        self.entities: dict[str, _Described] = {}
        self.relationships: dict[tuple[str, str], _Described] = {}

    def take(self, chunk: _Chunk, reply: _Extracted) -> None:
        repeated = {fact.fid for fact in chunk.facts[: chunk.repeated]}
        for entity in reply.entities:
            held = self.entities.setdefault(entity.name.upper(), _Described(type=entity.type))
            held.add(entity.description, chunk.fids(entity.facts))
        for relationship in reply.relationships:
            ends = sorted((relationship.source.upper(), relationship.target.upper()))
            if ends[0] == ends[1]:
                continue
            fids = chunk.fids(relationship.facts)
            for name in ends:  # a relationship may name an entity that was not listed
                self.entities.setdefault(name, _Described()).add("", fids)
            between = self.relationships.setdefault((ends[0], ends[1]), _Described())
            # What the chunk before was shown and said already is no second statement.
            if not fids or not set(fids) <= repeated & between.fids.keys():
                between.weight += relationship.strength
            between.add(relationship.description, fids)


async def _described(gathered: _Gathered, questions: Questions) -> KnowledgeGraph:
    entities = [
        Entity(name=name, type=held.type, description=_joined(held), fids=tuple(held.fids))
        for name, held in gathered.entities.items()
    ]
    relationships = [
        Relationship(source=one, target=other, description=_joined(held), weight=held.weight, fids=tuple(held.fids))
        for (one, other), held in gathered.relationships.items()
    ]
    several = {
        **{name: held for name, held in gathered.entities.items() if len(held.descriptions) > 1},
        **{" - ".join(ends): held for ends, held in gathered.relationships.items() if len(held.descriptions) > 1},
    }
    asked = [
        (name, {"name": name, "descriptions": "\n".join(f"- {text}" for text in held.descriptions)})
        for name, held in several.items()
    ]
    replies = await questions.ask_all("rival_graphrag_describe", _Description, asked)
    said = {name: reply.description for name, reply in zip(several, replies, strict=True)}
    return KnowledgeGraph(
        entities=tuple(replace(one, description=said.get(one.name, one.description)) for one in entities),
        relationships=tuple(
            replace(one, description=said.get(f"{one.source} - {one.target}", one.description)) for one in relationships
        ),
    )


def _joined(held: _Described) -> str:
    return " ".join(held.descriptions)


def _found(extracted: _Extracted) -> str:
    entities = [f"- {entity.name}: {entity.description}" for entity in extracted.entities]
    return "\n".join([*entities, *(f"- {r.source} - {r.target}: {r.description}" for r in extracted.relationships)])


def _chunks(facts: Sequence[Fact]) -> list[_Chunk]:
    chunks: list[list[Fact]] = []
    repeated: list[int] = []
    for fact in facts:
        if not chunks or _tokens([*chunks[-1], fact]) > CHUNK_TOKENS:
            tail = _tail(chunks[-1]) if chunks else []
            if _tokens([*tail, fact]) > CHUNK_TOKENS:
                tail = []
            chunks.append(tail)
            repeated.append(len(tail))
        chunks[-1].append(fact)
    return [_Chunk(facts=tuple(chunk), repeated=count) for chunk, count in zip(chunks, repeated, strict=True)]


def _tail(chunk: Sequence[Fact]) -> list[Fact]:
    """Return the last facts of a chunk that fit into the overlap; a chunk's only fact is not one of them."""
    size = 0
    while size + 1 < len(chunk) and _tokens(chunk[-size - 1 :]) <= OVERLAP_TOKENS:
        size += 1
    return list(chunk[len(chunk) - size :])


def _tokens(facts: Sequence[Fact]) -> int:
    return sum(count_tokens(fact.info) + 1 for fact in facts)
