"""Policy `pgr`: Prospection-Guided Retrieval as published (paper, section 3.3; arXiv 2605.14177).

    q_A <- LLM(augment(q, phi(q; K_o, tau_o)))
    S_0 <- LLM(simulate(q_A))
    R   <- phi(q; K, tau)  U  phi(s; K, tau) for every s of S_0
    for i = 1 .. I_max:
        S_i <- LLM(refine(q_A, R, S_{i-1}))
        D_i <- phi(s; K, tau) for every s of S_i, minus R
        R   <- R U D_i
        stop when |D_i| < delta
    summary <- LLM(summarise(q_A, R, S))

The paper leaves R a set. Here it is ordered: by the best rank that any probe of any round gave a fact.

An evaluation at equal numbers of facts may need more than R. `fill` lets deeper ranks of the same probes stand behind
it; nothing that the algorithm does, or shows to the model, depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from prospection.config import PgrSettings, RecallSettings
from prospection.errors import BudgetExceededError, ModelError
from prospection.recall import stages
from prospection.recall.policy import Ranking
from prospection.recall.pool import falling, interleave_hits
from prospection.recall.run import Run
from prospection.types import Hit, Probe, ScoredFact, Step

__all__ = ["Pgr"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pgr:
    """The published algorithm; every parameter is described at `PgrSettings`.

    Attributes:
        augment: Ask for q_A; without it q_A = q. The published algorithm always asks.
        fill: Return at least so many facts where memory has them: behind R what its probes rank deeper than K or find
            below tau. None: R alone, which is the published algorithm.
    """

    shape: Literal["tree", "chain"] = "tree"
    branches: int = 3
    steps: int = 3
    chain_steps: int = 9
    k: int = 5
    tau: float | None = None
    k_o: int = 5
    tau_o: float | None = None
    augment: bool = True
    iterative: bool = True
    max_iterations: int = 10
    delta: int = 5
    summary: bool = True
    fill: int | None = None
    name: ClassVar[str] = "pgr"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Pgr:
        """Return the policy as the settings say."""
        return cls.of(settings.pgr)

    @classmethod
    def of(cls, settings: PgrSettings) -> Pgr:
        """Return the policy with these parameters."""
        return cls(**settings.model_dump())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`.

        A model that fails, or a ceiling that is reached, after the first phase ends the recall early with what was
        found so far. A ceiling reached before that leaves what the query alone finds.
        """
        search = _Search(run, k=self.k, tau=run.calibration.tau if self.tau is None else self.tau)
        found = await self._published(query, run, search)
        return found if self.fill is None else replace(found, facts=await search.filled(self.fill))

    async def _published(self, query: str, run: Run, search: _Search) -> Ranking:
        shape = stages.Shape(self.shape, self)
        try:
            augmented = await self._augment(query, run) if self.augment else query
            steps = await stages.simulate(run, augmented, shape)
        except BudgetExceededError as error:
            await search.probe(query, ())
            return Ranking(facts=search.facts, partial=str(error))
        run.imagine(steps)
        await search.probe(query, steps)
        try:
            if self.iterative:
                steps = await self._iterate(augmented, steps, search, shape, run)
            summary = await stages.summarise(run, augmented, search.facts, steps) if self.summary else None
        except ModelError as error:
            return Ranking(facts=search.facts, partial=str(error))
        return Ranking(facts=search.facts, summary=summary)

    async def _augment(self, query: str, run: Run) -> str:
        tau_o = run.calibration.tau_o if self.tau_o is None else self.tau_o
        lists = await run.retrieve([run.probe(query, "query")], k=self.k_o, min_similarity=tau_o)
        run.augmented = await stages.augment(run, query, interleave_hits(lists))
        return run.augmented

    async def _iterate(
        self, query: str, steps: tuple[Step, ...], search: _Search, shape: stages.Shape, run: Run
    ) -> tuple[Step, ...]:
        for iteration in range(1, self.max_iterations + 1):
            run.round = iteration
            steps = await stages.refine(run, query, search.facts, steps, shape)
            run.imagine(steps)
            if await search.probe(None, steps) < self.delta:
                break
        return steps


class _Search:
    """R, and the searches that fill it."""

    def __init__(self, run: Run, *, k: int, tau: float) -> None:
        self._run, self._k, self._tau = run, k, tau
        self._probes: list[Probe] = []
        self._lists: list[list[Hit]] = []

    @property
    def facts(self) -> tuple[ScoredFact, ...]:
        return interleave_hits(self._lists)

    async def probe(self, query: str | None, steps: Sequence[Step]) -> int:
        """Search with all of it in one batch and return how many facts are new in R."""
        run = self._run
        probes = [run.probe(query, "query")] if query is not None else []
        probes += [run.probe(step.text, "step", step=step.sid) for step in steps]
        before = {hit.fact.fid for hits in self._lists for hit in hits}
        found = await run.retrieve(probes, k=self._k, min_similarity=self._tau)
        self._probes += probes
        self._lists += found
        return len({hit.fact.fid for hits in found for hit in hits} - before)

    async def filled(self, size: int) -> tuple[ScoredFact, ...]:
        """Return R and behind it, up to `size` facts in all, what the same probes rank deeper, by best rank again."""
        known = self.facts
        if len(known) >= size:
            return known
        fids = {item.fid for item in known}
        deeper = interleave_hits(await self._run.retrieve(self._probes, k=size))
        tail = [item for item in deeper if item.fid not in fids]
        return falling([*known, *tail[: size - len(known)]])
