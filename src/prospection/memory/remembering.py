"""The write side of a memory: conversations in, facts out; now, later, or by a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias

from prospection.memory.opening import Opening, checked, now
from prospection.protocols import Progress
from prospection.types import Message, Outcome, Review, SessionStatus, Usage, Work

__all__ = ["MessageLike", "Remembers"]

MessageLike: TypeAlias = "Message | Mapping[str, Any]"
"""A message as every chat API writes it, {"role": ..., "content": ...}, or a `Message`."""


class Remembers(Opening):
    """Remember conversations."""

    async def add(
        self,
        messages: Sequence[MessageLike],
        *,
        user: str,
        session: str | None = None,
        at: datetime | None = None,
        zone: str | None = None,
        wait: bool = True,
    ) -> Outcome:
        """Remember a conversation.

        The messages are on disk before anything else is tried. The same session again is idempotent; a session that
        has grown is extracted from where the last extraction ended.

        Args:
            messages: In order.
            user: Whose memory. Users never see each other's.
            session: A name for the conversation; by default one derived from its content.
            at: When it took place, aware; by default now. "Yesterday" in the messages is the day before it.
            zone: IANA name of the person's time zone; by default that of `at` does not matter and UTC is assumed.
            wait: Extract now. Otherwise the session waits for `work` and the outcome is `Queued`; what became of it is
                asked with `operation`, whose id is the session's.

        Returns:
            `Stored`, `Nothing`, `Queued`, or `Failed`, which keeps the session for `retry`.

        Raises:
            ConversationError: Not a conversation, or an empty one.
            NaiveTimeError: A time without a zone.
            StoreError: It could not be written.
        """
        from prospection.remember.conversation import as_session

        entry = as_session(messages, id=session, at=at or now(), zone=zone)
        return await self._across(lambda opened: opened.remembering.add(checked(user), entry, now=now(), wait=wait))

    async def retry(self, *, user: str, progress: Progress | None = None) -> list[Outcome]:
        """Extract every session of the user that waits or failed, in order of arrival.

        Returns:
            One outcome for each such session; [] when there is none.
        """
        opened = await self._open()
        return await opened.remembering.drain(checked(user), now=now(), progress=progress)

    async def operation(self, session: str, *, user: str) -> SessionStatus | None:
        """Return how far the extraction of a session is, or None when there is no such session.

        A session is its own operation: `Queued.session` is the id to ask with.
        """
        from prospection.remember.status import session_status

        return await session_status((await self._open()).store, checked(user), session)

    async def work(
        self,
        *,
        once: bool = False,
        concurrency: int | None = None,
        told: Callable[[str, Outcome], None] | None = None,
    ) -> Work:
        """Extract the sessions of all users that wait, or whose time to be tried again has come. For operators.

        Ends when it is cancelled; what is under way then waits again. Ceilings are in the settings `remember.budget`.

        Args:
            once: End when nothing is due.
            concurrency: Sessions at a time, each of another user; by default as the settings say.
            told: Called with a user and what came of one of the user's sessions.

        Raises:
            StoreError: The store failed.
        """
        from prospection.remember.worker import Worker

        opened = await self._open()
        worker = Worker(opened.store, opened.embedder, opened.model, opened.settings.remember, clock=now)
        return await worker.run(once=once, concurrency=concurrency, told=told)

    async def usage(self, *, user: str | None = None, since: date | None = None) -> Usage:
        """Sum what remembering has spent on a user, or on all, from a day (UTC) on; by default today."""
        store = (await self._open()).store
        return await store.usage(None if user is None else checked(user), since=since or now().date())

    async def review(self, session_id: str, *, user: str) -> Review:
        """Say what a conversation added, reinforced and revised, each with the words it rests on.

        Raises:
            InputError: There is no such session.
        """
        from prospection.remember.review import review

        return await review(checked(user), session_id, (await self._open()).store)
