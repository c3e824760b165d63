"""From a conversation to stored facts, surely.

In goes a session; out comes an `Outcome`. The session is durable before anything else is tried. Then it is claimed,
extracted (by the model where there is one, by rules otherwise), embedded in one batch and finished in one transaction.
A model that fails never loses a session and is never taken for "nothing to remember".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial

import anyio
import anyio.to_thread

from prospection.config import RememberSettings
from prospection.errors import (
    BudgetExceededError,
    CredentialError,
    EndpointError,
    ModelError,
    RateLimitError,
    ReplyError,
    StoreError,
)
from prospection.models.meter import MeteredChat
from prospection.protocols import ChatModel, Embedder, FactStore, Progress
from prospection.remember.rules import extract_by_rules
from prospection.remember.upsert import distinct, propose, texts_of
from prospection.types import (
    Candidate,
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
            settings: Size of parts, cues for each fact, length of the lease.
        """
        self._store, self._embedder, self._model, self._settings = store, embedder, model, settings

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
        meter = MeteredChat(self._model) if self._model else None
        try:
            facts = await self._finish(user, record, meter, now)
        except ModelError as error:
            raw = error.raw if isinstance(error, ReplyError) else None
            await self._store.fail_session(user, session_id, reason=str(error), raw=raw)
            usage = meter.usage if meter else error.usage or Usage()
            return Failed(session=session_id, reason=str(error), usage=usage), error
        except BaseException:  # above all cancellation: the session is free again at once, not when the lease runs out
            await self._release(user, session_id)
            raise
        usage = meter.usage if meter else Usage()
        if facts:
            return Stored(session=session_id, facts=facts, usage=usage), None
        return Nothing(session=session_id, usage=usage), None

    async def _finish(
        self, user: str, record: SessionRecord, model: ChatModel | None, now: datetime
    ) -> tuple[Fact, ...]:
        candidates = distinct(await self._candidates(record, model))
        vectors = await self._embedder.embed(texts_of(candidates), role="passage")
        return await self._store.finish_session(
            user,
            record.session.id,
            propose(candidates, vectors),
            extracted=len(record.session.messages),
            now=now,
        )

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

    async def _release(self, user: str, session_id: str) -> None:
        # The error that brought us here is the one to be told; at worst the lease runs out by itself.
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True), suppress(StoreError):
            await self._store.fail_session(user, session_id, reason="the extraction was interrupted; retry it")

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
