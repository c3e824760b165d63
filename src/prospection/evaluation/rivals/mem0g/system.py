"""Mem0g as a system: memories by similarity, and relations twice - around the query's entities, and as triples.

One call, the extraction of the query's entities. The three lists are interleaved: first places, then second places,
and so on; the original hands them over side by side and gives no common order. What is scored is what is shown: up to
`limit` memories and up to `limit` relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.rivals.indexes import Indexes
from prospection.evaluation.rivals.mem0g.build import Entities, Mem0gIndex, build_mem0g
from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import SharedMemory
from prospection.protocols import ChatModel, Embedder, FactStore
from prospection.search.interleave import interleave
from prospection.search.lexical import bm25, index_terms, query_terms
from prospection.types import Usage, Vectors

__all__ = ["Mem0g"]


class Mem0g:
    """Memories and a graph a user, built once."""

    name = "mem0g"

    def __init__(
        self, *, store: FactStore, embedder: Embedder, model: ChatModel, limit: int = 100, similarity: float = 0.7
    ) -> None:
        """Build nothing yet.

        Args:
            limit: Memories that are shown, and relations (mem0ai 1.0.11 has 100).
            similarity: Cosine from which an entity of the query is one of the graph (mem0ai 1.0.11 has 0.7).
        """
        self._embedder, self._model, self._limit, self._similarity = embedder, model, limit, similarity
        self._indexes = Indexes(self.name, self._build, store, model)

    async def prepare(self, user: str) -> Usage:
        """See `Prepared.prepare`."""
        return await self._indexes.usage(user)

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """See `System.retrieve`."""
        index = await self._indexes.of(query.user)
        questions = Questions(self._model, about=f"{self.name}: {query.user}: {query.text}")
        reply = await questions.ask("rival_mem0g_entities", Entities, {"text": query.text})
        names = list(dict.fromkeys(reply.entities))
        (probe, *rows) = await self._embedder.embed([query.text, *names], role="query")

        memories = self._ranked(np.array([memory.vector @ probe for memory in index.memories]))
        around = self._around(index, rows, query.text)
        valid = [place for place, relation in enumerate(index.graph.relations) if relation.valid]
        triples = [valid[place] for place in self._ranked(index.triples[valid] @ probe)]
        relations = [place for place, _ in interleave([around, triples])][: self._limit]
        lists = [
            _fids(index.memories[place].fids for place in memories),
            *(
                _fids(index.graph.relations[place].fids for place in ranking if place in relations)
                for ranking in (around, triples)
            ),
        ]
        return Retrieved(
            fids=tuple(fid for fid, _ in interleave(lists)),
            llm_calls=questions.usage.calls,
            usage=questions.usage,
            context=_context(index, memories, relations),
        )

    async def _build(self, memory: SharedMemory, questions: Questions) -> Mem0gIndex:
        return await build_mem0g(memory, questions, embedder=self._embedder, similarity=self._similarity)

    def _ranked(self, scores: Vectors) -> list[int]:
        return [int(place) for place in np.argsort(-scores, kind="stable")[: self._limit]]

    def _around(self, index: Mem0gIndex, rows: Sequence[Vectors], query: str) -> list[int]:
        """Relations of the query's entities, ranked by BM25 against the query."""
        found = index.graph.incident({place for row in rows for place in index.graph.near(row)})
        terms = [index_terms(index.graph.triple(place)) for place in found]
        wanted = dict.fromkeys(query_terms(query))
        postings = [
            np.array([row for row, held in enumerate(terms) if term in held], dtype=np.int64) for term in wanted
        ]
        scores = bm25(postings, np.array([len(held) for held in terms], dtype=np.float64))
        return [found[row] for row in self._ranked(scores)]


def _fids(groups: Iterable[tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(fid for group in groups for fid in group))


def _context(index: Mem0gIndex, memories: Sequence[int], relations: Sequence[int]) -> str:
    lines = ["Memories:", *(f"- {index.memories[place].text}" for place in memories)]
    if relations:
        lines += ["Relations:", *(f"- {index.graph.triple(place)}" for place in relations)]
    return "\n".join(lines)
