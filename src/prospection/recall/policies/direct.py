"""Policy `direct`: dense search with the words of the request, as plain retrieval does. The control arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from prospection.config import RecallSettings
from prospection.recall.policy import Ranking
from prospection.recall.pool import interleave_hits
from prospection.recall.run import Run

__all__ = ["Direct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Direct:
    """The `limit` facts nearest to the query; the score is 1 / rank."""

    limit: int = 20
    name: ClassVar[str] = "direct"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Direct:
        """Return the policy as the settings say."""
        return cls(limit=settings.limit)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`."""
        lists = await run.retrieve([run.probe(query, "query")], k=self.limit)
        return Ranking(facts=interleave_hits(lists))
