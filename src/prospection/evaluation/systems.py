"""Our policies as systems that an evaluation can measure.

All are asked for the same number of facts, so that they compare at equal budgets: `limit` facts, and for `pgr` as many
a probe, without its threshold. With a language model each policy runs whole. Without one, `pgr` runs its first phase on
the steps that the data set recorded, and says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from prospection.config import RecallSettings
from prospection.errors import ConfigError, NotRecordedError
from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.metrics import BUDGETS
from prospection.evaluation.recall import Retrieved
from prospection.library.library import GoalLibrary
from prospection.protocols import EVERYTHING_CURRENT, ChatModel, ChatReply, ChatRequest, Embedder, FactStore
from prospection.recall.policies import build_policy
from prospection.recall.policies.pgr import Pgr
from prospection.recall.policy import Policy
from prospection.recall.retriever import MemoryRetriever
from prospection.recall.run import Run
from prospection.types import Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["PolicySystem", "build_system"]

ReplyT = TypeVar("ReplyT", bound="BaseModel | str")

_FIRST_PHASE = (
    "recorded steps; only the first phase ran: no augmentation, refinement or summary, which need a model (--model)"
)


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
            model=_RecordedSteps(query) if self._replay else self._model,
        )
        ranking = await self._policy.recall(query.text, run)
        notes = [_FIRST_PHASE] if self._replay else []
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
) -> PolicySystem:
    """Return the policy of that name as a system that fills the largest budget.

    Raises:
        UnknownNameError: There is no such policy.
    """
    limit = max(BUDGETS)
    policy = build_policy(name, settings.model_copy(update={"limit": limit}))
    replay = False
    if isinstance(policy, Pgr):
        policy = replace(policy, k=limit, tau=-1.0)
        if model is None:
            policy, replay = replace(policy, augment=False, iterative=False, summary=False), True
    return PolicySystem(policy, store=store, embedder=embedder, library=library, model=model, replay=replay)


class _RecordedSteps:
    """The simulation of one query, as recorded with the data set."""

    name = "recorded steps"

    def __init__(self, query: EvalQuery) -> None:
        self._query = query

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        recorded = self._query.recorded
        if request.stage != "simulate" or recorded is None or not recorded.steps:
            raise NotRecordedError(
                f"query {self._query.id!r} has no recorded steps; evaluate policy 'pgr' with a model "
                "(--model), or put probes/steps.jsonl beside the users' files"
            )
        branches: dict[str, list[str]] = {}
        for step in recorded.steps:
            branches.setdefault(step.theme or "steps", []).append(step.text)
        if isinstance(request.reply, type) and issubclass(request.reply, str):
            raise ConfigError("recorded steps stand in for a structured reply only")
        value = request.reply.model_validate(  # a chain takes the steps, a tree the branches
            {
                "branches": [{"theme": theme, "steps": steps} for theme, steps in branches.items()],
                "steps": [step.text for step in recorded.steps],
            }
        )
        return ChatReply(value=value, usage=Usage(calls=1), model=self.name)
