"""Policy `recollect`: one memory calls up the next, without a language model.

Pseudo-relevance feedback in the encoder's space. What the request finds first is taken to be relevant and moves the
search towards itself (Rocchio 1971, "Relevance feedback in information retrieval", without its negative part; for dense
retrieval Li et al. 2023, "Pseudo Relevance Feedback with Deep Language Models and Dense Retrievers", ACM TOIS 41(3)):

    q' = alpha q + beta / r * (d_1 + ... + d_r),    d_1 ... d_r the r facts nearest to q
    facts by <q', f(fact)> = alpha <q, f> + beta * mean of <d_i, f>

The right side needs nothing but searches with the facts' own words, so it runs over any memory. A control arm: what was
found first mostly calls up more of the same, which is what planning requests do not need (docs/measurements.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from prospection.config import RecallSettings
from prospection.recall.policy import Ranking
from prospection.recall.pool import mean_hits
from prospection.recall.run import Run

__all__ = ["Recollect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollect:
    """The `limit` facts with the highest score, a cosine sum.

    Attributes:
        feedback: r, facts that are taken to be relevant.
        alpha: Weight of the request.
        beta: Weight of their mean.
        depth: Facts that each search may bring.
    """

    limit: int = 20
    feedback: int = 5
    alpha: float = 0.8
    beta: float = 0.2
    depth: int = 1000
    name: ClassVar[str] = "recollect"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Recollect:
        """Return the policy as the settings say."""
        return cls(limit=settings.limit, **settings.recollect.model_dump())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`."""
        (near,) = await run.retrieve([run.probe(query, "query")], k=self.depth)
        if not near:
            return Ranking(facts=())
        run.round = 1
        recalled = [hit.fact.info for hit in near[: self.feedback]]
        lists = await run.retrieve([run.probe(info, "feedback") for info in recalled], k=self.depth)
        weights = [self.alpha, *(self.beta / len(recalled) for _ in recalled)]
        return Ranking(facts=mean_hits([near, *lists], weights=weights)[: self.limit])
