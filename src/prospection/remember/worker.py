"""Draining the queue of all users: for operators, in a process of its own or inside an application.

In goes an open store; out comes what was done. Several sessions are extracted side by side, a user's one after the
other. What is under way when the work is stopped waits again; what was under way when the process died is taken up
when its lease has run out. Nothing is lost or stored twice: a session's facts, and that it is done, are one
transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, datetime

import anyio

from prospection.config import RememberSettings
from prospection.errors import (
    AllowanceError,
    BudgetExceededError,
    CredentialError,
    EndpointError,
    ModelError,
    RateLimitError,
)
from prospection.models.meter import MeteredChat
from prospection.protocols import ChatModel, Embedder, FactStore
from prospection.remember.remember import Remembering
from prospection.types import Budget, Failed, Outcome, Queued, SessionRecord, Stored, Usage, Work

__all__ = ["Worker"]

_LONGEST_PAUSE = 300.0

Told = Callable[[str, Outcome], None]
"""Called with a user and what came of one of the user's sessions."""


@dataclass(slots=True)
class _Run:
    """What the lanes of one run share."""

    once: bool
    told: Told | None
    work: Work = field(default_factory=Work)
    served: str | None = None
    refused: set[str] = field(default_factory=set)
    spent: str | None = None
    day: date | None = None
    pause: float = 0.0


class Worker:
    """Extracts the sessions of all users that are due."""

    def __init__(
        self,
        store: FactStore,
        embedder: Embedder,
        model: ChatModel | None,
        settings: RememberSettings,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        """Start the run's budget; nothing is called here.

        Args:
            store: Has the queue.
            embedder: The one the store's vectors are made with.
            model: Extracts the facts; None: rules do, which costs nothing.
            settings: Ceilings, lease, attempts, pauses.
            clock: Gives the time, aware.
        """
        run = settings.budget.run
        budget = Budget(max_calls=run.max_calls, max_tokens=run.max_tokens, max_cost=run.max_cost)
        self._meter = None if model is None else MeteredChat(model, budget)
        self._remembering = Remembering(store, embedder, self._meter, settings)
        self._store, self._settings, self._clock = store, settings, clock

    async def run(self, *, once: bool = False, concurrency: int | None = None, told: Told | None = None) -> Work:
        """Extract what is due until there is nothing left (`once`), or until the task is cancelled.

        A session that fails is tried again later, after a pause that doubles, until its attempts are used up; then it
        waits for `retry`. When the model's endpoint fails, `once` ends and otherwise the whole work pauses. A ceiling
        for a user leaves that user's sessions for the next day, one for all users leaves everything.

        Args:
            once: End when nothing is due.
            concurrency: Sessions at a time; by default as the settings say.
            told: Hears of every session.

        Raises:
            StoreError: The store failed; what was under way waits again.
        """
        run = _Run(once, told)
        try:
            async with anyio.create_task_group() as group:
                for _ in range(concurrency or self._settings.concurrency):
                    group.start_soon(self._lane, run)
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return replace(run.work, usage=Usage() if self._meter is None else self._meter.usage)

    async def _lane(self, run: _Run) -> None:
        while run.work.stopped is None:
            await anyio.sleep(run.pause)
            found = await self._next(run)
            if found is not None:
                user, record = found
                outcome, error = await self._remembering.attempt(user, record, now=self._clock())
                self._note(run, user, outcome, error)
            elif run.once:
                return
            else:
                await anyio.sleep(self._settings.poll)

    async def _next(self, run: _Run) -> tuple[str, SessionRecord] | None:
        now = self._clock()
        if run.day != now.date():
            run.day, run.spent = now.date(), None
            run.refused.clear()
        if run.spent is not None:
            run.work = replace(run.work, stopped=run.spent if run.once else None)
            return None
        while found := await self._store.claim_next(
            now=now, lease=self._settings.lease, after=run.served, skip=frozenset(run.refused)
        ):
            run.served, record = found
            if record.attempts <= self._settings.max_attempts:
                return found
            await self._give_up(run, run.served, record)
        return None

    async def _give_up(self, run: _Run, user: str, record: SessionRecord) -> None:
        """Leave a session alone whose extraction does not even fail: each time the process died, or came too late."""
        reason = f"its extraction was begun {record.attempts - 1} times and never ended; see why, then retry it"
        with anyio.CancelScope(shield=True):
            await self._store.fail_session(user, record.session.id, reason=reason)
        self._note(run, user, Failed(session=record.session.id, reason=reason, usage=Usage()), None)

    def _note(self, run: _Run, user: str, outcome: Outcome, error: ModelError | None) -> None:
        if isinstance(error, AllowanceError):
            if error.user is None:
                run.spent = str(error)
            else:
                run.refused.add(user)
        elif isinstance(error, BudgetExceededError | CredentialError) or (
            run.once and isinstance(error, EndpointError | RateLimitError)
        ):
            run.work = replace(run.work, stopped=str(error))
        elif isinstance(error, EndpointError | RateLimitError):
            run.pause = min(max(2 * run.pause, self._settings.poll), _LONGEST_PAUSE)
        else:
            run.pause = 0.0
        if isinstance(error, BudgetExceededError) and isinstance(outcome, Failed) and not outcome.usage.calls:
            return  # it was not tried
        if isinstance(outcome, Failed):
            run.work = replace(run.work, failed=run.work.failed + 1)
        elif not isinstance(outcome, Queued):
            facts = len(outcome.facts) if isinstance(outcome, Stored) else 0
            run.work = replace(run.work, sessions=run.work.sessions + 1, facts=run.work.facts + facts)
        if run.told is not None:
            run.told(user, outcome)
