"""Policy `hybrid`: dense and lexical candidates united, then fused by their scores.

Lexical search brings candidates of its own; it does not merely re-score those of dense search. Adding scores found more
than fusing ranks on every set it was measured on (docs/measurements.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from prospection.config import RecallSettings
from prospection.recall.policy import Ranking
from prospection.recall.pool import fuse_hits
from prospection.recall.run import Run

__all__ = ["Hybrid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """The `limit` facts with the highest sum of cosine, in standard deviations, and weighted lexical score.

    Attributes:
        depth: Candidates that each of the two searches brings.
    """

    limit: int = 20
    depth: int = 1000
    name: ClassVar[str] = "hybrid"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Hybrid:
        """Return the policy as the settings say."""
        return cls(limit=settings.limit, depth=max(1000, settings.limit))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`."""
        probes = [run.probe(query, "query", over="facts"), run.probe(query, "query", over="text")]
        dense, lexical = await run.retrieve(probes, k=self.depth)
        fused = fuse_hits(dense, lexical, lexical_weight=run.calibration.lexical_weight)
        return Ranking(facts=fused[: self.limit])
