"""Full context: everything that memory holds, put before the model that answers. No search and no call.

Facts stand latest first, because what was said last matters most where a budget cuts the list. The answer is written
from all of them, whatever they take.
"""

from __future__ import annotations

import sys

from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.rivals.shared import read_memory
from prospection.protocols import FactStore
from prospection.recall.context import memory_text
from prospection.types import ScoredFact

__all__ = ["FullContext"]


class FullContext:
    """All facts of the person. Its recall at a budget is that of the latest facts."""

    name = "full_context"

    def __init__(self, store: FactStore) -> None:
        self._store = store

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """See `System.retrieve`."""
        memory = await read_memory(self._store, query.user)
        latest = [ScoredFact(fact=fact, score=1.0 / rank) for rank, fact in enumerate(reversed(memory.facts), start=1)]
        return Retrieved(
            fids=tuple(item.fid for item in latest),
            context=memory_text(latest, at=query.at, max_tokens=sys.maxsize),
        )
