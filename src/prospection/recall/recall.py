"""The read path: a request, a policy and a user's memory in; a `Recall` with its trace out. Never writes."""

from __future__ import annotations

from prospection.recall.context import render_context
from prospection.recall.policy import Policy
from prospection.recall.run import Run
from prospection.types import Recall

__all__ = ["recall"]


async def recall(query: str, run: Run, policy: Policy, *, context_tokens: int) -> Recall:
    """Let the policy search the run's memory and put the result together.

    Args:
        context_tokens: Size of `Recall.context`, in tokens.

    Raises:
        ModelError: The language model failed before anything was found.
        ConfigError: The policy needs a language model and there is none.
    """
    ranking = await policy.recall(query, run)
    if ranking.partial:
        run.note(f"Partial: {ranking.partial}")
    trace = run.trace(policy=policy.name, parameters=policy.parameters, returned=ranking.facts, summary=ranking.summary)
    return Recall(
        query=query,
        facts=ranking.facts,
        summary=ranking.summary,
        context=render_context(ranking.facts, summary=ranking.summary, max_tokens=context_tokens),
        trace=trace,
        usage=trace.usage,
        partial=ranking.partial,
    )
