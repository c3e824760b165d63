"""Recalling from a store: which policy searches whose memory, under which budget, and what is kept of it.

In goes a request and a user; out comes a `Recall`, or an `Answer`. Writes nothing but the trace.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic

from prospection.config import RecallSettings
from prospection.errors import BudgetExceededError, ConfigError, InputError, StoreError, UnknownUserError
from prospection.library.library import GoalLibrary
from prospection.models.meter import MeteredChat, remaining
from prospection.protocols import ChatModel, Embedder, FactStore
from prospection.recall.answer import answer
from prospection.recall.compare import compare
from prospection.recall.events import Emit
from prospection.recall.policies import build_policy
from prospection.recall.recall import recall
from prospection.recall.replay import Replayed, TraceReplay, policy_of
from prospection.recall.retriever import UNLIMITED, MemoryRetriever
from prospection.recall.run import Run
from prospection.recall.why import Why, why
from prospection.types import Answer, Budget, Fact, ProbeHits, Recall, SearchFilter, Trace, aware_utc, whole_text

__all__ = ["Recalling", "ceilings", "limited", "without_answer"]

KEPT_FOR_THE_ANSWER = 1 / 3
"""Share of tokens, money and seconds that recalling leaves to the answer, beside one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalling:
    """Recalls from one store.

    Attributes:
        policy: Name of the policy that the memory was made with; it wins over the settings.
        clock: What time it is, aware UTC.
    """

    store: FactStore
    embedder: Embedder
    library: GoalLibrary
    model: ChatModel | None
    settings: RecallSettings
    policy: str | None
    clock: Callable[[], datetime]

    async def recall(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        shadow: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
        emit: Emit | None = None,
    ) -> Recall:
        """See `AsyncMemory.recall`.

        Args:
            emit: Told what happens while it happens.
        """
        if not whole_text(query, "the query").strip():
            raise InputError("the query is empty; say what the person asked for")
        settings = limited(self.settings, limit)
        chosen = build_policy(policy or self._default(), settings)
        second = shadow or settings.shadow
        other = build_policy(second, settings) if second else None
        counts = await self.store.statistics(user)
        if not counts["facts"] and not counts["sessions"]:
            raise UnknownUserError(f"user {user!r} has no memory here; add a conversation first, or check the name")
        where = SearchFilter() if at is None else SearchFilter(at=aware_utc(at, "at"))
        limits = budget or ceilings(settings)
        run = self._run(query, user, where, self._metered(limits), limits, emit)
        if waiting := counts["sessions"] - counts["sessions_done"]:
            run.note(f"Not yet in memory: {waiting} conversation(s) that wait or failed; retry extracts them.")
        result = await recall(
            query,
            run,
            chosen,
            context_tokens=settings.context_tokens,
            pinned=await self._pinned(user, where.at),
            shadow=None if other is None else (other, self._run(query, user, where, self._metered(limits), limits)),
        )
        return await self._with_its_trace_kept(user, result) if settings.traces else result

    async def answer(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """See `AsyncMemory.answer`."""
        if self.model is None:
            raise ConfigError(
                "an answer needs a language model; name one, for example Memory(path, model='openai:gpt-4o'), "
                "or call recall() and give its .context to an assistant of your own"
            )
        limits, began = budget or ceilings(self.settings), monotonic()
        found = await self.recall(query, user=user, at=at, policy=policy, limit=limit, budget=without_answer(limits))
        rest = remaining(limits, found.usage, monotonic() - began)
        return await answer(found, MeteredChat(self.model, rest), context_tokens=self.settings.context_tokens)

    async def why(self, fid: str, trace: Trace) -> Why:
        """See `AsyncMemory.explain`. The probes of the trace are searched with once more, without K and threshold."""
        found = await self.store.facts(trace.user, fids=[fid])
        fact = found[0] if found else None
        if fact is None or trace.explain(fid):
            return why(trace, fid, fact=fact, unlimited=())
        # As memory is now, or as it was where the fact has been replaced since.
        where = SearchFilter() if fact.valid_until is None else SearchFilter(at=fact.valid_from)
        probes = [search.probe for search in trace.searches]
        retriever = MemoryRetriever(self.store, self.embedder, user=trace.user, where=where)
        lists = await retriever.retrieve(probes, k=UNLIMITED)
        searches = tuple(
            ProbeHits(probe=probe, hits=tuple((hit.fact.fid, hit.similarity, hit.cue) for hit in hits))
            for probe, hits in zip(probes, lists, strict=True)
        )
        return why(trace, fid, fact=fact, unlimited=replace(trace, searches=searches).explain(fid))

    async def replay(self, trace: Trace) -> Replayed:
        """See `AsyncMemory.replay`."""
        model = TraceReplay(trace) if trace.stages else None
        run = self._run(trace.query, trace.user, SearchFilter(), model, Budget(), at=trace.at)
        result = await recall(
            trace.query,
            run,
            policy_of(trace, self.settings),
            context_tokens=self.settings.context_tokens,
            pinned=await self._pinned(trace.user, None),
        )
        return Replayed(
            recall=result,
            changes=compare(trace, result.trace),
            differences=tuple(dict.fromkeys(model.differences)) if model is not None else (),
        )

    async def _with_its_trace_kept(self, user: str, result: Recall) -> Recall:
        """Keep the trace. A store that cannot be written to costs the trace, not the recall, which says so."""
        try:
            await self.store.put_trace(user, result.trace)
        except StoreError as error:
            notes = (*result.trace.notes, f"The trace of this recall was not kept: {error}.")
            return replace(result, trace=replace(result.trace, notes=notes))
        return result

    def _default(self) -> str:
        return self.policy or self.settings.policy or ("library" if self.model is None else "foresight")

    def _metered(self, budget: Budget) -> ChatModel | None:
        return None if self.model is None else MeteredChat(self.model, budget)

    def _run(
        self,
        query: str,
        user: str,
        where: SearchFilter,
        model: ChatModel | None,
        budget: Budget,
        emit: Emit | None = None,
        *,
        at: datetime | None = None,
    ) -> Run:
        return Run(
            id=secrets.token_hex(6),
            user=user,
            query=query,
            at=at or where.at or self.clock(),
            retriever=MemoryRetriever(self.store, self.embedder, user=user, where=where),
            embedder=self.embedder,
            library=self.library,
            model=model,
            budget=budget,
            emit=emit,
        )

    async def _pinned(self, user: str, at: datetime | None) -> Sequence[Fact]:
        if at is None:
            return await self.store.facts(user, pinned=True)
        found = await self.store.facts(user, pinned=True, history=True)
        return [fact for fact in found if _valid(fact, at)]


def ceilings(settings: RecallSettings) -> Budget:
    """Return the ceilings that the settings set."""
    return Budget(
        max_calls=settings.max_calls,
        max_tokens=settings.max_tokens,
        max_cost=settings.max_cost,
        deadline=settings.deadline,
    )


def limited(settings: RecallSettings, limit: int | None) -> RecallSettings:
    """Return the settings with another limit; None changes nothing.

    Raises:
        InputError: The limit is no positive whole number.
    """
    if limit is None:
        return settings
    if not isinstance(limit, int) or limit < 1:
        raise InputError(f"the limit is {limit!r}; pass a whole number from 1 on, or leave it out")
    return settings.model_copy(update={"limit": limit})


def without_answer(budget: Budget) -> Budget:
    """Return what recalling may use of the budget of an answer.

    Raises:
        BudgetExceededError: It allows no call at all.
    """
    if budget.max_calls is not None and budget.max_calls < 1:
        raise BudgetExceededError(
            f"an answer takes a call and max_calls is {budget.max_calls}; raise it, or use recall()"
        )

    def most(ceiling: float | None) -> float | None:
        return None if ceiling is None else ceiling * (1.0 - KEPT_FOR_THE_ANSWER)

    tokens = most(budget.max_tokens)
    return Budget(
        max_calls=None if budget.max_calls is None else budget.max_calls - 1,
        max_tokens=None if tokens is None else int(tokens),
        max_cost=most(budget.max_cost),
        deadline=most(budget.deadline),
    )


def _valid(fact: Fact, at: datetime) -> bool:
    return (fact.valid_from is None or fact.valid_from <= at) and (fact.valid_until is None or at < fact.valid_until)
