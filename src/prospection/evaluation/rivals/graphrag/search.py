"""GraphRAG's local search: an index and the nearest entities in, one context of 12,000 tokens out. No model is called.

The context is divided as in the package: community reports 15 %, entities and relationships 35 %, text units 50 %.
Text units are facts here; those that made it into the context are what was retrieved, in the order of the context.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prospection.evaluation.rivals.graphrag.extraction import Entity, Relationship
from prospection.evaluation.rivals.graphrag.index import GraphIndex, table
from prospection.types import Vectors

__all__ = ["LocalContext", "local_context", "nearest_entities"]

TOP_ENTITIES = 10
OVERSAMPLED = 2
RELATIONSHIPS_PER_ENTITY = 10
TOKENS = 12_000
REPORTS, UNITS = 0.15, 0.50
GRAPH = 1 - REPORTS - UNITS


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalContext:
    """The text that the answer is written from, and the facts in it, in order."""

    text: str
    fids: tuple[str, ...]


def nearest_entities(index: GraphIndex, probe: Vectors) -> list[Entity]:
    """Return the entities whose description is nearest to a query, at most 10 x 2, nearest first."""
    order = np.argsort(-(index.vectors @ probe), kind="stable")[: TOP_ENTITIES * OVERSAMPLED]
    return [index.graph.entities[int(place)] for place in order]


def local_context(index: GraphIndex, selected: Sequence[Entity], *, tokens: int = TOKENS) -> LocalContext:
    """Build the context around selected entities.

    Args:
        selected: Best first; none gives an empty context.
        tokens: Size of the whole context.
    """
    units = _units(index, selected)
    sources = table("source", [index.texts[fid] for fid in units], tokens=int(tokens * UNITS))
    parts = [
        _reports(index, selected, int(tokens * REPORTS)),
        *_graph(index, selected, int(tokens * GRAPH)),
        sources.text,
    ]
    return LocalContext(text="\n\n".join(part for part in parts if part), fids=tuple(units[: sources.rows]))


def _reports(index: GraphIndex, selected: Sequence[Entity], tokens: int) -> str:
    """Reports on the entities' communities: those with most of them first, then by rating."""
    matches = Counter(index.community[entity.name] for entity in selected if entity.name in index.community)
    order = sorted(matches, key=lambda one: (-matches[one], -index.reports[one].rating, one))
    return table("reports", [index.reports[one].text for one in order], tokens=tokens).text


def _graph(index: GraphIndex, selected: Sequence[Entity], tokens: int) -> tuple[str, str]:
    degree = index.graph.degrees()
    rows = [f"{e.name}|{e.description}|{degree[e.name]}" for e in selected]
    entities = table("entity|description|number of relationships", rows, tokens=tokens)
    related = [f"{r.source}|{r.target}|{r.description}" for r in _relationships(index, selected)]
    return entities.text, table("source|target|description", related, tokens=tokens - entities.tokens).text


def _relationships(index: GraphIndex, selected: Sequence[Entity]) -> list[Relationship]:
    """Those among the selected entities first, then those that lead out of them, to shared neighbours first."""
    names = {entity.name for entity in selected}
    degree = index.graph.degrees()

    def rank(one: Relationship) -> int:
        return degree[one.source] + degree[one.target]

    inside = [r for r in index.graph.relationships if r.source in names and r.target in names]
    leaving = [r for r in index.graph.relationships if (r.source in names) != (r.target in names)]
    links = Counter(r.target if r.source in names else r.source for r in leaving)
    inside.sort(key=lambda r: (-rank(r), r.source, r.target))
    leaving.sort(key=lambda r: (-links[r.target if r.source in names else r.source], -rank(r), r.source, r.target))
    return inside + leaving[: RELATIONSHIPS_PER_ENTITY * len(selected)]


def _units(index: GraphIndex, selected: Sequence[Entity]) -> list[str]:
    """Facts of the entities in order; of one entity, those that hold most of its relationships first."""
    units: dict[str, None] = {}
    for entity in selected:
        held = Counter(fid for r in index.graph.relationships if entity.name in {r.source, r.target} for fid in r.fids)
        own = sorted(range(len(entity.fids)), key=lambda place: (-held[entity.fids[place]], place))
        units.update((entity.fids[place], None) for place in own)
    return list(units)
