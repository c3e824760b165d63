"""From a conversation to stored facts, surely.

In goes a session; out comes an `Outcome`. The session is durable before anything else is tried. Then it is claimed,
extracted (by the model where there is one, by rules otherwise), embedded in one batch, laid beside what is stored, and
finished in one transaction.
A model that fails never loses a session and is never taken for "nothing to remember".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

import anyio
import anyio.to_thread

from prospection.config import RememberSettings
from prospection.errors import (
    BudgetExceededError,
    ConflictError,
    CredentialError,
    EndpointError,
    ModelError,
    RateLimitError,
    ReplyError,
    StoreError,
)
from prospection.models.meter import MeteredChat
from prospection.protocols import ChatModel, Embedder, FactStore, Progress
from prospection.remember.allowance import Allowance
from prospection.remember.cues import with_telling_cues
from prospection.remember.rules import extract_by_rules
from prospection.remember.upsert import Upsert, additions, distinct
from prospection.types import (
    Candidate,
    Consolidation,
    Fact,
    Failed,
    Nothing,
    Outcome,
    Queued,
    Session,
    SessionRecord,
    SessionState,
    Stored,
    Usage,
)

__all__ = ["Remembering"]

_WAITING = frozenset({SessionState.PENDING, SessionState.FAILED, SessionState.EXTRACTING})
_HOPELESS = (CredentialError, EndpointError, RateLimitError, BudgetExceededError)
"""What fails one session in this way fails the next as well."""
_RELEASE_SECONDS = 5.0
_PAGE = 200
_PROPOSALS = 2
"""How often it is proposed what to do with new facts, when somebody changes the stored ones at the same time. Then they
are added as they are."""


class Remembering:
    """Remembers conversations in a store."""

    def __init__(
        self, store: FactStore, embedder: Embedder, model: ChatModel | None, settings: RememberSettings
    ) -> None:
        """Say with what; nothing is opened or called here.

        Args:
            store: Where sessions and facts go.
            embedder: Turns facts and cues into vectors; the one the store was made with.
            model: Extracts the facts; None: rules do.
            settings: Size of parts, cues for each fact, length of the lease, ceilings of the day.
        """
        self._store, self._embedder, self._model, self._settings = store, embedder, model, settings
        self._allowance = Allowance(store, day=settings.budget.day, user=settings.budget.user)

    def chat(self, user: str, *, now: datetime) -> ChatModel | None:
        """Return the model within the ceilings of the day, for all work on a user's memory; None without a model."""
        return None if self._model is None else self._allowance.chat(self._model, user, now=now)

    async def add(self, user: str, session: Session, *, now: datetime, wait: bool = True) -> Outcome:
        """Make a session durable and, if `wait`, extract what is new in it.

        Raises:
            StoreError: It could not be written.
        """
        record = await self._store.put_session(user, session)
        if not wait and record.state is not SessionState.DONE:
            return Queued(session=session.id)
        return await self.extract(user, session.id, now=now)

    async def extract(self, user: str, session_id: str, *, now: datetime) -> Outcome:
        """Extract what is new in a stored session.

        Returns:
            `Queued` when somebody else is extracting it just now, `Nothing` when all of it was extracted before.

        Raises:
            StoreError: The store failed. The session is kept as it was written.
        """
        return (await self._attempt(user, session_id, now))[0]

    async def drain(self, user: str, *, now: datetime, progress: Progress | None = None) -> list[Outcome]:
        """Extract every session of a user that waits or failed, in the order of arrival.

        When the model cannot be reached, refuses the key or has spent its budget, the rest stays as it is.

        Returns:
            One outcome for each such session; those not tried are `Queued`. `[]` when none waits.

        Raises:
            StoreError: The store failed; what was finished before stays finished.
        """
        waiting = await self._waiting(user)
        outcomes: list[Outcome] = []
        for done, session_id in enumerate(waiting):
            if progress:
                progress(done, len(waiting))
            outcome, error = await self._attempt(user, session_id, now)
            outcomes.append(outcome)
            if isinstance(error, _HOPELESS):
                break
        if progress:
            progress(len(outcomes), len(waiting))
        return outcomes + [Queued(session=session_id) for session_id in waiting[len(outcomes) :]]

    async def _attempt(self, user: str, session_id: str, now: datetime) -> tuple[Outcome, ModelError | None]:
        record = await self._store.claim_session(user, session_id, now=now, lease=self._settings.lease)
        if record is None:
            return await self._unclaimed(user, session_id), None
        return await self.attempt(user, record, now=now)

    async def attempt(self, user: str, record: SessionRecord, *, now: datetime) -> tuple[Outcome, ModelError | None]:
        """Extract what is new in a session that the caller has claimed. However it ends, so does the claim.

        Returns:
            The outcome, and what made it `Failed` where a model did. A session that failed because a ceiling left it
            no call at all waits as before.

        Raises:
            StoreError: The store failed.
        """
        session_id = record.session.id
        model = self.chat(user, now=now)
        meter = None if model is None else MeteredChat(model)
        try:
            facts = await self._finish(user, record, meter, now)
        except ModelError as error:
            return await self._failed(user, record, error, meter.usage if meter else error.usage or Usage(), now), error
        except StoreError as error:
            await self._release(user, session_id)
            if not isinstance(error, ConflictError) and await self._store.session(user, session_id) is not None:
                raise
            return await self._unclaimed(user, session_id), None  # somebody else finished it, or it was forgotten
        except BaseException:  # above all cancellation: the session is free again at once, not when the lease runs out
            await self._release(user, session_id)
            raise
        if not facts:
            return Nothing(session=session_id, usage=meter.usage if meter else Usage()), None
        consolidated = await self._consolidate_if_due(user, meter)
        usage = meter.usage if meter else Usage()
        return Stored(session=session_id, facts=facts, usage=usage, consolidated=consolidated), None

    async def _consolidate_if_due(self, user: str, model: MeteredChat | None) -> Consolidation | None:
        settings = self._settings
        if not settings.consolidate or model is None:
            return None
        new = (await self._store.statistics(user))["facts_new"]
        if new < settings.consolidate_after:
            return None
        from prospection.remember.consolidation import Consolidating

        work = Consolidating(user=user, store=self._store, embedder=self._embedder, model=model, settings=settings)
        try:
            return await work.run()
        except ModelError as error:  # the session is done all the same; the next one tries again
            return Consolidation(facts=0, new=new, merges=(), usage=error.usage or Usage(), partial=str(error))

    async def _finish(
        self, user: str, record: SessionRecord, model: ChatModel | None, now: datetime
    ) -> tuple[Fact, ...]:
        session = record.session
        new = await additions(distinct(await self._candidates(record, model)), self._embedder)
        new = await with_telling_cues(user, new, self._store, self._embedder, crowd=self._settings.cue_crowd)
        upsert = Upsert(store=self._store, embedder=self._embedder, model=model, settings=self._settings)
        finish = partial(
            self._store.finish_session,
            user,
            session.id,
            extracted=len(session.messages),
            since=record.extracted,
            now=now,
        )
        for _ in range(_PROPOSALS):
            operations = await upsert.propose(user, new, subject=session.id, at=session.at)
            try:
                return await finish(operations)
            except ConflictError:  # somebody changed one of the facts meanwhile, or finished the session itself
                held = await self._store.session(user, session.id)
                if held is None or held.state is SessionState.DONE or held.extracted != record.extracted:
                    raise
        return await finish(new)

    async def _candidates(self, record: SessionRecord, model: ChatModel | None) -> Sequence[Candidate]:
        session = record.session
        if model is None:
            work = partial(extract_by_rules, session, session.messages, record.extracted)
            return await anyio.to_thread.run_sync(work)
        from prospection.remember.extraction import extract_by_model

        return await extract_by_model(
            session,
            session.messages,
            record.extracted,
            model=model,
            max_tokens=self._settings.max_session_tokens,
            cues=self._settings.cues_per_fact,
        )

    async def _failed(
        self, user: str, record: SessionRecord, error: ModelError, usage: Usage, now: datetime
    ) -> Outcome:
        session_id, attempts = record.session.id, record.attempts
        if isinstance(error, BudgetExceededError) and not usage.calls:
            await self._release(user, session_id)  # it was not tried
            return Failed(session=session_id, reason=str(error), usage=usage)
        wait = timedelta(seconds=self._settings.backoff * 2 ** (attempts - 1))
        try:
            await self._store.fail_session(
                user,
                session_id,
                reason=str(error),
                raw=error.raw if isinstance(error, ReplyError) else None,
                retry_at=now + wait if attempts < self._settings.max_attempts else None,
            )
        except StoreError:
            if await self._store.session(user, session_id) is not None:
                raise
        return Failed(session=session_id, reason=str(error), usage=usage)

    async def _release(self, user: str, session_id: str) -> None:
        # The error that brought us here is the one to be told; at worst the lease runs out by itself.
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True), suppress(StoreError):
            await self._store.release_session(user, session_id)

    async def _unclaimed(self, user: str, session_id: str) -> Outcome:
        record = await self._store.session(user, session_id)
        if record is not None and record.state is not SessionState.DONE:
            return Queued(session=session_id)
        return Nothing(session=session_id, usage=Usage())

    async def _waiting(self, user: str) -> list[str]:
        found: list[str] = []
        after: str | None = None
        while page := await self._store.sessions(user, states=_WAITING, after=after, limit=_PAGE):
            after = page[-1].session.id
            found += [record.session.id for record in page]
        return found
