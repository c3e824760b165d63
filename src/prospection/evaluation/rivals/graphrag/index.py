"""GraphRAG's index of a user: graph, communities, one report on each community, vectors of entities.

A report is asked for from the community's entities and relationships, best connected first, cut at 8,000 tokens. The
package puts reports of sub-communities in place of what does not fit; graphs of one person do not get that large.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field

from prospection.evaluation.rivals.graphrag.communities import Community, find_communities
from prospection.evaluation.rivals.graphrag.extraction import KnowledgeGraph, extract_graph
from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import SharedMemory
from prospection.protocols import Embedder
from prospection.types import Vectors, count_tokens

__all__ = ["GraphIndex", "Report", "Table", "build_graph", "table"]

REPORT_INPUT_TOKENS = 8000


class _Finding(BaseModel):
    summary: str
    explanation: str


class _Report(BaseModel):
    title: str
    summary: str
    rating: float = Field(ge=0, le=10, description="How much the community matters to the person")
    findings: list[_Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a model wrote about a community.

    Attributes:
        rating: In [0, 10].
    """

    text: str
    rating: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphIndex:
    """What local search reads.

    Attributes:
        texts: Of all facts by id: the text units.
        vectors: (e, d) float32 unit rows of "name: description" of the entities.
        community: For each entity that is in one, its deepest community.
        reports: By id of the community.
    """

    graph: KnowledgeGraph
    texts: Mapping[str, str]
    vectors: Vectors
    community: Mapping[str, int]
    reports: Mapping[int, Report]


async def build_graph(memory: SharedMemory, questions: Questions, *, embedder: Embedder) -> GraphIndex:
    """Build a user's index.

    Raises:
        ModelError: A call failed.
        MissingExtraError: graspologic-native is not installed.
    """
    graph = await extract_graph(memory, questions)
    communities = find_communities(graph.relationships)
    asked = [(f"community {one.id}", {"community": _material(graph, one)}) for one in communities]
    written = await questions.ask_all("rival_graphrag_report", _Report, asked)
    return GraphIndex(
        graph=graph,
        texts={fact.fid: fact.info for fact in memory.facts},
        vectors=await embedder.embed([f"{entity.name}: {entity.description}" for entity in graph.entities]),
        # In the order of levels, so that the deepest one stays.
        community={name: one.id for one in communities for name in one.members},
        reports={one.id: _report(reply) for one, reply in zip(communities, written, strict=True)},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A head and rows as text; "" without any row.

    Attributes:
        rows: How many there are.
        tokens: What it takes, head and all.
    """

    text: str
    rows: int
    tokens: int


def table(head: str, rows: Sequence[str], *, tokens: int) -> Table:
    """Return a table of as many rows as fit, from the first."""
    lines, taken = [head], count_tokens(head + "\n")
    for row in rows:
        size = count_tokens(row + "\n")
        if taken + size > tokens:
            break
        lines.append(row)
        taken += size
    if len(lines) == 1:
        return Table(text="", rows=0, tokens=0)
    return Table(text="\n".join(lines), rows=len(lines) - 1, tokens=taken)


def _material(graph: KnowledgeGraph, community: Community) -> str:
    degree = graph.degrees()
    inside = set(community.members)
    entities = sorted((e for e in graph.entities if e.name in inside), key=lambda e: (-degree[e.name], e.name))
    between = sorted(
        (r for r in graph.relationships if r.source in inside and r.target in inside),
        key=lambda r: (-degree[r.source] - degree[r.target], r.source, r.target),
    )
    half = REPORT_INPUT_TOKENS // 2
    return "\n\n".join(
        text
        for text in (
            table("entity|description", [f"{e.name}|{e.description}" for e in entities], tokens=half).text,
            table(
                "source|target|description", [f"{r.source}|{r.target}|{r.description}" for r in between], tokens=half
            ).text,
        )
        if text
    )


def _report(reply: _Report) -> Report:
    findings = (f"## {finding.summary}\n{finding.explanation}" for finding in reply.findings)
    return Report(text="\n\n".join([f"# {reply.title}\n{reply.summary}", *findings]), rating=reply.rating)
