"""Full context: everything that memory holds, put before the model that answers. No search and no call.

Facts stand latest first, because what was said last matters most where a budget cuts the list.
"""

from __future__ import annotations

from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.rivals.shared import read_memory
from prospection.protocols import FactStore

__all__ = ["FullContext"]


class FullContext:
    """All facts of the person. Its recall at a budget is that of the latest facts."""

    name = "full_context"

    def __init__(self, store: FactStore) -> None:
        self._store = store

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """See `System.retrieve`."""
        memory = await read_memory(self._store, query.user)
        return Retrieved(fids=tuple(fact.fid for fact in reversed(memory.facts)))
