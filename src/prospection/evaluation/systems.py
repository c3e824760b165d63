"""Our policies as systems that an evaluation can measure.

All are asked for the same number of facts, so that they compare at equal budgets: `limit` facts, for `pgr` what its
probes rank deeper behind what the published algorithm returns, and for `foresight` the rest of the pool behind what was
selected. With a language model each policy runs whole. Without one, what the data set recorded stands in for the first
reply: `hyde` and `rewrite` run whole, `pgr` runs its first phase, `foresight` up to the pool, and all say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from prospection.config import RecallSettings
from prospection.errors import NotRecordedError
from prospection.evaluation.cases import EvalQuery, RecordedProspection
from prospection.evaluation.costs import phase_counts
from prospection.evaluation.metrics import BUDGETS
from prospection.evaluation.parameters import with_parameters
from prospection.evaluation.recall import Retrieved
from prospection.library.library import GoalLibrary
from prospection.protocols import EVERYTHING_CURRENT, ChatModel, ChatReply, ChatRequest, Embedder, FactStore, ReplyT
from prospection.recall.policies import build_policy
from prospection.recall.policies.foresight import Foresight
from prospection.recall.policies.pgr import Pgr
from prospection.recall.policy import Policy
from prospection.recall.retriever import MemoryRetriever
from prospection.recall.run import Run
from prospection.types import Usage

__all__ = ["PolicySystem", "build_system"]

_REPLAYED = {
    "hyde": "recorded imagined facts",
    "rewrite": "recorded rewrites",
    "pgr": "recorded steps; only the first phase ran: no augmentation, refinement or summary, which need a model",
    "foresight": "recorded steps, imagined facts and rewrites; this is the pool, before a model selects from it",
}


_NOTHING_RECORDED = "nothing is recorded for this set; this is the pool of the request alone, before a model selects"


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
            replay: Let what the data set recorded stand in for the model's first reply.
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
        policy = self._policy
        if self._replay and isinstance(policy, Foresight) and query.recorded is None:
            policy = replace(policy, imagine=False)
            run.note(_NOTHING_RECORDED)
        ranking = await policy.recall(query.text, run)
        trace = run.trace(policy=self.name, parameters={}, returned=ranking.facts, summary=ranking.summary)
        notes = [_REPLAYED[self.name]] if self._replay and run.usage.calls else []
        notes += [note for note in trace.notes if note == _NOTHING_RECORDED]
        if ranking.partial:
            notes.append(f"partial: {ranking.partial}")
        return Retrieved(
            fids=tuple(item.fid for item in ranking.facts),
            llm_calls=run.usage.calls,
            notes=tuple(notes),
            usage=run.usage,
            summary=ranking.summary,
            phases=phase_counts(trace),
        )


def build_system(
    name: str,
    settings: RecallSettings,
    *,
    store: FactStore,
    embedder: Embedder,
    library: GoalLibrary,
    model: ChatModel | None,
    pool: bool = False,
    equal_budget: bool = True,
    parameters: Mapping[str, Any] | None = None,
) -> PolicySystem:
    """Return the policy of that name as a system.

    Args:
        pool: Measure `foresight` before its selection also where there is a model.
        equal_budget: Make it fill the largest budget; else it returns as many facts as it does in service.
        parameters: Of the policy, on top of all that.

    Raises:
        UnknownNameError: There is no such policy, or it has no such parameter.
        ConfigError: A parameter's value does not fit.
    """
    limit = max(BUDGETS)
    policy = build_policy(name, settings.model_copy(update={"limit": limit}) if equal_budget else settings)
    replay = model is None and name in _REPLAYED
    if equal_budget and isinstance(policy, Pgr):
        policy = replace(policy, fill=limit)
    if equal_budget and isinstance(policy, Foresight):
        policy = replace(policy, fill=True)
    policy = with_parameters(policy, parameters or {})
    if replay and isinstance(policy, Pgr):
        policy = replace(policy, augment=False, iterative=False, summary=False)
    if (pool or replay) and isinstance(policy, Foresight):
        policy = replace(policy, select=False)
    return PolicySystem(policy, store=store, embedder=embedder, library=library, model=model, replay=replay)


class _Recorded:
    """What the data set recorded for one query, in the shape of a model's first reply."""

    name = "recorded"

    def __init__(self, query: EvalQuery) -> None:
        self._query = query

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        recorded = self._query.recorded
        data = None if recorded is None else _reply(request.stage, recorded)
        if data is None or issubclass(request.reply, str):
            raise NotRecordedError(
                f"query {self._query.id!r} has no recorded reply for stage {request.stage!r}; evaluate with a model "
                "(--model), or put probes/ (steps, imagined_facts and rewrites .jsonl) beside the users' files"
            )
        return ChatReply(value=request.reply.model_validate(data), usage=Usage(calls=1), model=self.name)


def _reply(stage: str, recorded: RecordedProspection) -> dict[str, Any] | None:
    """Return what was recorded in the shape of a stage's reply; None when nothing was."""
    match stage:
        case "simulate" if recorded.steps:  # a chain takes the steps, a tree the branches
            themes: dict[str, list[str]] = {}
            for step in recorded.steps:
                themes.setdefault(step.theme or "steps", []).append(step.text)
            branches = [{"theme": theme, "steps": steps} for theme, steps in themes.items()]
            return {"branches": branches, "steps": [step.text for step in recorded.steps]}
        case "foresee" if recorded.steps:
            return _future(recorded)
        case "hyde" if recorded.imagined_facts:
            return {"facts": list(recorded.imagined_facts)}
        case "rewrite" if recorded.rewrites:
            return {"queries": list(recorded.rewrites)}
    return None


def _future(recorded: RecordedProspection) -> dict[str, Any]:
    # Recordings keep imagined facts apart from steps; which step gets which does not matter to a search.
    themes: dict[str, list[dict[str, Any]]] = {}
    for step, need in zip_longest(recorded.steps, recorded.imagined_facts):
        if step is not None:
            themes.setdefault(step.theme or "steps", []).append({"step": step.text, "facts": [need] if need else []})
    return {
        "branches": [{"theme": theme, "steps": steps} for theme, steps in themes.items()],
        "rewrites": list(recorded.rewrites),
    }
