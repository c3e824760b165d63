"""`AsyncMemory`: the only place that wires remembering, recalling and the store together.

Nothing happens in the constructor: the store, the encoder and the model are opened by the first call that needs them.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import anyio

from prospection.config import Settings, load_settings
from prospection.errors import ConfigError, InputError, UnknownUserError
from prospection.protocols import ChatModel, Embedder, FactStore, Progress
from prospection.types import (
    Answer,
    Budget,
    Erased,
    Fact,
    Message,
    Outcome,
    Recall,
    SearchFilter,
    SessionRecord,
    SessionState,
    Trace,
    aware_utc,
)

if TYPE_CHECKING:
    from prospection.recall.run import Run

__all__ = ["AsyncMemory", "MessageLike"]

MessageLike: TypeAlias = "Message | Mapping[str, Any]"
"""A message as every chat API writes it, {"role": ..., "content": ...}, or a `Message`."""


class AsyncMemory:
    """Long-term memory that thinks ahead before it remembers.

    Example:
        ```python
        async with AsyncMemory("memory.db", model="openai:gpt-4o") as memory:
            await memory.add([{"role": "user", "content": "..."}], user="ada")
            recall = await memory.recall("Plan two weeks in Italy", user="ada")
        ```
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        model: str | ChatModel | None = None,
        base_url: str | None = None,
        encoder: str | Embedder | None = None,
        policy: str | None = None,
        store: FactStore | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Say what the memory is made of; what is not said comes from the settings.

        Args:
            path: SQLite file; it is made when it is missing. ":memory:" for one that is never written to disk.
            model: Language model, "provider:name" or a `ChatModel`. Without one, memory works all the same.
            base_url: OpenAI-compatible endpoint for `model`.
            encoder: Name of an encoder, or an `Embedder`.
            policy: How memory is searched when `recall` does not say.
            store: A `FactStore` in place of the file; then its owner closes it.
            settings: Everything else; read from environment and file when not given.
        """
        self._path, self._model, self._base_url = path, model, base_url
        self._encoder, self._policy, self._given_store, self._given_settings = encoder, policy, store, settings
        self._opened: _Opened | None = None
        self._opening = anyio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Release the store. Idempotent; the memory opens again when it is used again."""
        opened, self._opened = self._opened, None
        if opened is not None and self._given_store is None:
            await opened.store.close()

    # --- remembering

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
            wait: Extract now. Otherwise the session waits for `retry` and the outcome is `Queued`.

        Returns:
            `Stored`, `Nothing`, `Queued`, or `Failed`, which keeps the session for `retry`.

        Raises:
            ConversationError: Not a conversation, or an empty one.
            NaiveTimeError: A time without a zone.
            StoreError: It could not be written.
        """
        from prospection.remember.conversation import as_session

        entry = as_session(messages, id=session, at=at or _now(), zone=zone)
        opened = await self._open()
        return await opened.remembering.add(_checked(user), entry, now=_now(), wait=wait)

    async def retry(self, *, user: str, progress: Progress | None = None) -> list[Outcome]:
        """Extract every session of the user that waits or failed, in order of arrival.

        Returns:
            One outcome for each such session; [] when there is none.
        """
        opened = await self._open()
        return await opened.remembering.drain(_checked(user), now=_now(), progress=progress)

    # --- recalling

    async def recall(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Recall:
        """Find the memories that an answer to the request has to respect.

        Args:
            query: The request, in the person's words.
            user: Whose memory.
            at: When the request is made, aware: memory is searched as it stood then. By default now.
            policy: "pgr", "library", "hybrid", "direct", ...; by default as the memory was made.
            limit: Facts to return, for policies without a stopping rule of their own.
            budget: Ceilings; at a ceiling the best so far comes back with `partial` set.

        Raises:
            InputError: The query is empty or the time naive.
            UnknownUserError: The user has no memory here.
            UnknownNameError: There is no such policy.
            ModelError: The language model failed before anything was found.
        """
        opened = await self._open()
        result = await self._recall(opened, query, user, at, policy, limit, budget)
        if opened.settings.recall.traces:
            await opened.store.put_trace(user, result.trace)
        return result

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
        """Answer the request from memory, citing facts; arguments as in `recall`.

        One call of the budget is kept back for the answer itself.

        Raises:
            ConfigError: There is no language model.
            ModelError: No answer came. What was recalled is in the trace.
        """
        from prospection.recall.answer import answer as answer_from

        opened = await self._open()
        if opened.model is None:
            raise ConfigError(
                "an answer needs a language model; name one, for example Memory(path, model='openai:gpt-4o'), "
                "or call recall() and give its .context to an assistant of your own"
            )
        ceilings = budget or _budget(opened.settings)
        if ceilings.max_calls is not None:
            ceilings = replace(ceilings, max_calls=ceilings.max_calls - 1)
        recalled = await self.recall(query, user=user, at=at, policy=policy, limit=limit, budget=ceilings)
        return await answer_from(recalled, opened.model)

    async def _recall(
        self,
        opened: _Opened,
        query: str,
        user: str,
        at: datetime | None,
        policy: str | None,
        limit: int | None,
        budget: Budget | None,
    ) -> Recall:
        from prospection.models.meter import MeteredChat
        from prospection.recall.policies import build_policy
        from prospection.recall.recall import recall
        from prospection.recall.retriever import MemoryRetriever
        from prospection.recall.run import Run

        if not query.strip():
            raise InputError("the query is empty; say what the person asked for")
        settings = opened.settings.recall
        if limit is not None:
            settings = settings.model_copy(update={"limit": limit})
        name = policy or self._policy or settings.policy or ("pgr" if opened.model else "library")
        chosen = build_policy(name, settings)
        where = SearchFilter(at=aware_utc(at, "at")) if at is not None else SearchFilter()
        if not await opened.store.statistics(_checked(user)):
            raise UnknownUserError(f"user {user!r} has no memory here; add a conversation first, or check the name")
        run = Run(
            id=secrets.token_hex(6),
            user=user,
            query=query,
            at=where.at or _now(),
            retriever=MemoryRetriever(opened.store, opened.embedder, user=user, where=where),
            calibration=opened.embedder.calibration,
            encoder=opened.embedder.id,
            model=MeteredChat(opened.model, budget or _budget(opened.settings)) if opened.model else None,
        )
        return await recall(query, run, chosen, context_tokens=settings.context_tokens)
