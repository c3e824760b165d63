"""The read path: a request, a policy and a user's memory in; a `Recall` with its trace out. Never writes.

A second policy can run in the shadow of the first: it searches the same memory with a run of its own, and all that
comes of it is a record in the served recall's trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio

from prospection.recall.context import render_context
from prospection.recall.policy import Policy
from prospection.recall.run import Run
from prospection.types import Fact, Recall, ScoredFact, Trace

__all__ = ["recall"]


async def recall(
    query: str,
    run: Run,
    policy: Policy,
    *,
    context_tokens: int,
    pinned: Sequence[Fact] = (),
    shadow: tuple[Policy, Run] | None = None,
) -> Recall:
    """Let the policy search the run's memory and put the result together.

    Args:
        pinned: Facts that a person wants in view whatever is asked: they come first.
        context_tokens: Size of `Recall.context`, in tokens.
        shadow: A second policy and its own run. Both run at the same time and the slower one is waited for; whatever
            goes wrong in the shadow is only noted.

    Raises:
        ModelError: The language model failed before anything was found.
        ConfigError: The policy needs a language model and there is none.
    """
    if shadow is not None:
        return await _beside(query, run, policy, shadow, context_tokens=context_tokens, pinned=pinned)
    ranking = await policy.recall(query, run)
    if ranking.partial:
        run.note(f"Partial: {ranking.partial}")
    facts = _with_pinned(pinned, ranking.facts)
    trace = run.trace(policy=policy.name, parameters=policy.parameters, returned=facts, summary=ranking.summary)
    return Recall(
        query=query,
        facts=facts,
        summary=ranking.summary,
        context=render_context(facts, summary=ranking.summary, max_tokens=context_tokens, at=run.at),
        trace=trace,
        usage=trace.usage,
        partial=ranking.partial,
    )


async def _beside(
    query: str,
    run: Run,
    policy: Policy,
    shadow: tuple[Policy, Run],
    *,
    context_tokens: int,
    pinned: Sequence[Fact],
) -> Recall:
    other, other_run = shadow
    seen: Trace | None = None
    note = ""
    failure: Exception | None = None
    served: Recall | None = None

    async def observe() -> None:
        nonlocal seen, note
        try:
            seen = (await recall(query, other_run, other, context_tokens=context_tokens, pinned=pinned)).trace
        except Exception as error:  # noqa: BLE001 - noted in the trace; a trial must never hurt what is served
            note = f"Shadow policy {other.name} failed: {type(error).__name__}: {error}"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(observe)
        try:
            served = await recall(query, run, policy, context_tokens=context_tokens, pinned=pinned)
        except Exception as error:  # noqa: BLE001 - raised below, not out of a task group
            failure = error
            tasks.cancel_scope.cancel()
    if served is None:
        raise failure or AssertionError("unreachable: a recall returns or raises")
    trace = served.trace
    # What the shadow reached belongs to what the trace mentions, which is how forgetting a fact finds the trace.
    facts = {**(seen.facts if seen is not None else {}), **trace.facts}
    notes = (*trace.notes, note) if note else trace.notes
    return replace(served, trace=replace(trace, shadow=seen, facts=facts, notes=notes))


def _with_pinned(pinned: Sequence[Fact], ranked: Sequence[ScoredFact]) -> tuple[ScoredFact, ...]:
    """Put pinned facts in front, with the best score there is and the reason that the policy gave, if it gave one."""
    best = max((item.score for item in ranked), default=1.0)
    reasons = {item.fid: item.reason for item in ranked}
    front = [ScoredFact(fact=fact, score=best, reason=reasons.get(fact.fid)) for fact in pinned]
    kept = {fact.fid for fact in pinned}
    return (*front, *(item for item in ranked if item.fid not in kept))
