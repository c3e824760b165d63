"""Policy `auto`: chooses a policy for each request, by a rule that fits on a page, and says in the trace what it chose.

    1. No language model, no call left, or a deadline too short for one      -> library
    2. The whole memory fits into one selection                              -> foresight (one call, nothing imagined)
    3. The request is familiar: it resembles what is stored more than any goal -> hybrid
    4. A single call is left                                                 -> foresight without its selection
    5. Otherwise                                                             -> foresight

Familiarity is that of `prospection.recall.signals.gate`: a request that is nearer to a stored fact than to every
packaged goal asks for that fact, and looking ahead would only add to it. Nine of ten questions about past conversations
fall below the default, and no planning request does (docs/measurements.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from prospection.config import RecallSettings
from prospection.recall.context import fact_tokens
from prospection.recall.policies.foresight import Foresight
from prospection.recall.policies.hybrid import Hybrid
from prospection.recall.policies.library import Library
from prospection.recall.policy import Policy, Ranking
from prospection.recall.run import Run
from prospection.recall.signals import gate

__all__ = ["Auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """The choice, and what is chosen from.

    Attributes:
        patience: A deadline of fewer seconds than this leaves no time for a language model.
        future: From which share on a request counts as one about the future, in [0, 1].
    """

    limit: int = 20
    patience: float = 5.0
    future: float = 0.1
    foresight: Foresight = field(default_factory=Foresight)
    library: Library = field(default_factory=Library)
    hybrid: Hybrid = field(default_factory=Hybrid)
    name: ClassVar[str] = "auto"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Auto:
        """Return the policy as the settings say."""
        return cls(
            limit=settings.limit,
            foresight=Foresight.from_settings(settings),
            library=Library.from_settings(settings),
            hybrid=Hybrid.from_settings(settings),
            **settings.auto.model_dump(),
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`."""
        chosen, why = await self._choose(query, run)
        run.note(f"auto chose {chosen.name}: {why}.")
        ranking = await chosen.recall(query, run)
        if isinstance(chosen, Foresight) and not chosen.select:
            return replace(ranking, facts=ranking.facts[: self.limit])
        return ranking

    async def _choose(self, query: str, run: Run) -> tuple[Policy, str]:
        calls, deadline = run.budget.max_calls, run.budget.deadline
        if not run.has_model:
            return self.library, "there is no language model"
        if calls is not None and calls < 1:
            return self.library, "the budget allows no call"
        if deadline is not None and deadline < self.patience:
            return self.library, f"the deadline of {deadline:g} s leaves no time for a model"
        depth = self.foresight.depth
        (near,) = await run.retrieve([run.probe(query, "query")], k=depth)
        size = sum(fact_tokens(hit.fact) for hit in near)
        if run.exhausted(near, depth) and size <= self.foresight.pool_tokens:
            return self.foresight, f"memory is small, about {size} tokens"
        share = await self._future(query, run)
        if share < self.future:
            return self.hybrid, f"the request resembles what is stored (about the future: {share:.2f})"
        if calls == 1:
            return replace(self.foresight, select=False), "one call is left, which imagines"
        return self.foresight, f"the request is about the future ({share:.2f})"

    async def _future(self, query: str, run: Run) -> float:
        index = await run.library.open()
        (request,) = await run.embed([query])
        (near,) = await run.retrieve([run.probe(query, "query")], k=1)
        vectors = await run.vectors([hit.fact for hit in near])
        nearest = float((vectors @ request).max()) if len(vectors) else -1.0
        return gate(float((index.goals @ request).max()) - nearest, run.calibration.noise_sd)
