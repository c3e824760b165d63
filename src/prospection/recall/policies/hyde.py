"""Policy `hyde`: search with facts that a model made up. A control arm: one call, no look ahead, no selection.

After Gao, Ma, Lin & Callan 2022, "Precise Zero-Shot Dense Retrieval without Relevance Labels", section 3.2:

    d_1 ... d_N <- LLM(hyde(q))
    v = (f(d_1) + ... + f(d_N) + f(q)) / (N + 1)
    facts by <v, f(fact)>, which is the mean of the similarities of the N + 1 texts

That is `merge="mean"`. By default the N + 1 lists are interleaved instead: a mean drowns the fact that a single text
reaches, and found half as much (docs/measurements.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from prospection.config import RecallSettings
from prospection.errors import BudgetExceededError
from prospection.recall.imagined import hypothetical_facts
from prospection.recall.policy import Ranking
from prospection.recall.pool import interleave_hits, mean_hits
from prospection.recall.run import Run

__all__ = ["Hyde"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hyde:
    """The first `limit` facts of the merged lists; the score is 1 / best rank, or the mean similarity.

    Attributes:
        facts: N, facts to make up.
        merge: How the lists are merged.
        depth: Facts that each text may bring.
    """

    limit: int = 20
    facts: int = 9
    merge: Literal["interleave", "mean"] = "interleave"
    depth: int = 1000
    name: ClassVar[str] = "hyde"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Hyde:
        """Return the policy as the settings say."""
        return cls(limit=settings.limit, **settings.hyde.model_dump())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`. A ceiling reached at once leaves what the query alone finds."""
        try:
            made_up = await hypothetical_facts(run, query, count=self.facts, depth=self.depth)
        except BudgetExceededError as error:
            direct = await run.retrieve([run.probe(query, "query")], k=self.limit)
            return Ranking(facts=interleave_hits(direct), partial=str(error))
        probes = [run.probe(query, "query"), *(run.probe(text, "imagined_fact") for text in made_up)]
        lists = await run.retrieve(probes, k=self.depth)
        merged = mean_hits(lists) if self.merge == "mean" else interleave_hits(lists)
        return Ranking(facts=merged[: self.limit])
