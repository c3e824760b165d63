"""Our policies as systems that an evaluation can measure.

All are asked for the same number of facts, so that they compare at equal budgets: `limit` facts, for `pgr` as many a
probe, without its threshold, and for `foresight` the rest of the pool behind what was selected. With a language model
each policy runs whole. Without one, what the data set recorded stands in for the first reply: `pgr` runs its first
phase, `foresight` up to the pool, and both say so.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeVar

from prospection.config import RecallSettings
from prospection.errors import NotRecordedError
from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.metrics import BUDGETS
from prospection.evaluation.recall import Retrieved
from prospection.library.library import GoalLibrary
from prospection.protocols import EVERYTHING_CURRENT, ChatModel, ChatReply, ChatRequest, Embedder, FactStore
from prospection.recall.policies import build_policy
from prospection.recall.policies.foresight import Foresight
from prospection.recall.policies.pgr import Pgr
from prospection.recall.policy import Policy
from prospection.recall.retriever import MemoryRetriever
from prospection.recall.run import Run
from prospection.types import Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["PolicySystem", "build_system"]

ReplyT = TypeVar("ReplyT", bound="BaseModel | str")

_REPLAYED = {
    "pgr": "recorded steps; only the first phase ran: no augmentation, refinement or summary, which need a model",
    "foresight": "recorded steps, imagined facts and rewrites; this is the pool, before a model selects from it",
}


class PolicySystem:
    """A policy over the evaluated store."""

    def __init__(
        self,
        policy: Policy,
        *,
        store: FactStore,
        embedder: Embedder,
        library: GoalLibrary,
        model: ChatModel | None,
        replay: bool = False,
    ) -> None:
        """Bind a policy to what it works with.

        Args:
            replay: Let the steps that the data set recorded stand in for the model's simulation.
        """
        self._policy = policy
        self._store, self._embedder, self._library, self._model = store, embedder, library, model
        self._replay = replay

    @property
    def name(self) -> str:
        """Name of the policy."""
        return self._policy.name

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """See `System.retrieve`."""
        run = Run(
            id=query.id,
            user=query.user,
            query=query.text,
            at=query.at,
            # All facts, also those said after the query: every system searches the same memory.
            retriever=MemoryRetriever(self._store, self._embedder, user=query.user, where=EVERYTHING_CURRENT),
            embedder=self._embedder,
            library=self._library,
            model=_Recorded(query) if self._replay else self._model,
        )
        ranking = await self._policy.recall(query.text, run)
        notes = [_REPLAYED[self.name]] if self._replay and run.usage.calls else []
        if ranking.partial:
            notes.append(f"partial: {ranking.partial}")
        return Retrieved(fids=tuple(item.fid for item in ranking.facts), llm_calls=run.usage.calls, notes=tuple(notes))


def build_system(
    name: str,
    settings: RecallSettings,
    *,
    store: FactStore,
    embedder: Embedder,
    library: GoalLibrary,
    model: ChatModel | None,
    pool: bool = False,
) -> PolicySystem:
    """Return the policy of that name as a system that fills the largest budget.

    Args:
        pool: Measure `foresight` before its selection also where there is a model.

    Raises:
        UnknownNameError: There is no such policy.
    """
    limit = max(BUDGETS)
    policy = build_policy(name, settings.model_copy(update={"limit": limit}))
    replay = model is None and name in _REPLAYED
    if isinstance(policy, Pgr):
        policy = replace(policy, k=limit, tau=-1.0)
        if replay:
            policy = replace(policy, augment=False, iterative=False, summary=False)
    if isinstance(policy, Foresight):
        policy = replace(policy, select=not (pool or replay), fill=True)
    return PolicySystem(policy, store=store, embedder=embedder, library=library, model=model, replay=replay)


class _Recorded:
    """What the data set recorded for one query, in the shape of a model's first reply."""

    name = "recorded"

    def __init__(self, query: EvalQuery) -> None:
        self._query = query

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        recorded = self._query.recorded
        if request.stage not in {"simulate", "foresee"} or recorded is None or issubclass(request.reply, str):
            raise NotRecordedError(
                f"query {self._query.id!r} has no recorded reply for stage {request.stage!r}; evaluate with a model "
                "(--model), or put probes/steps.jsonl beside the users' files"
            )
        # Recordings keep imagined facts apart from steps; which step gets which does not matter to a search.
        needs = zip_longest(recorded.steps, recorded.imagined_facts)
        branches: dict[str, list[object]] = {}
        for step, need in needs:
            if step is not None:
                item = (
                    step.text if request.stage == "simulate" else {"step": step.text, "facts": [need] if need else []}
                )
                branches.setdefault(step.theme or "steps", []).append(item)
        value = request.reply.model_validate(  # a chain takes the steps, a tree the branches
            {
                "branches": [{"theme": theme, "steps": steps} for theme, steps in branches.items()],
                "steps": [step.text for step in recorded.steps],
                "rewrites": list(recorded.rewrites),
            }
        )
        return ChatReply(value=value, usage=Usage(calls=1), model=self.name)
