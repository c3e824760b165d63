"""Policy `rewrite` (multi-query): the request in other words and its questions, each searched, the lists fused.

A control arm for thinking ahead: it costs one call too, and shows what more searches alone bring. The lists are
interleaved by best rank: a fact that one search ranks first counts, whatever the others say of it. Adding reciprocal
ranks, which asks for agreement, found less (docs/measurements.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from prospection.config import RecallSettings
from prospection.errors import BudgetExceededError
from prospection.recall.imagined import rewrites
from prospection.recall.policy import Ranking
from prospection.recall.pool import interleave_hits, reciprocal_hits
from prospection.recall.run import Run

__all__ = ["Rewrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """The first `limit` facts of the merged lists; the score is 1 / best rank, or the sum of reciprocal ranks.

    Attributes:
        queries: Searches to write beside the request itself.
        merge: How the lists are merged.
    """

    limit: int = 20
    queries: int = 9
    merge: Literal["interleave", "reciprocal"] = "interleave"
    name: ClassVar[str] = "rewrite"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Rewrite:
        """Return the policy as the settings say."""
        return cls(limit=settings.limit, **settings.rewrite.model_dump())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`. A ceiling reached at once leaves what the query alone finds."""
        partial = None
        try:
            written = await rewrites(run, query, count=self.queries, depth=self.limit)
        except BudgetExceededError as error:
            written, partial = (), str(error)
        probes = [run.probe(query, "query"), *(run.probe(text, "rewrite") for text in written)]
        lists = await run.retrieve(probes, k=self.limit)
        merged = reciprocal_hits(lists) if self.merge == "reciprocal" else interleave_hits(lists)
        return Ranking(facts=merged[: self.limit], partial=partial)
