"""`AsyncMemory`: the only place that wires remembering, recalling and the store together.

Nothing happens in the constructor: the store, the encoder and the model are opened by the first call.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
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
    from prospection.library.library import GoalLibrary
    from prospection.recall.run import Run
    from prospection.remember.remember import Remembering

__all__ = ["AsyncMemory", "MessageLike"]

MessageLike: TypeAlias = "Message | Mapping[str, Any]"
"""A message as every chat API writes it, {"role": ..., "content": ...}, or a `Message`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """What a memory is made of, once it is open."""

    settings: Settings
    store: FactStore
    embedder: Embedder
    library: GoalLibrary
    model: ChatModel | None
    remembering: Remembering


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
        from prospection.recall.policies import build_policy
        from prospection.recall.recall import recall

        if not query.strip():
            raise InputError("the query is empty; say what the person asked for")
        opened = await self._open()
        settings = opened.settings.recall
        if limit is not None:
            settings = settings.model_copy(update={"limit": limit})
        name = policy or self._policy or settings.policy or ("library" if opened.model is None else "foresight")
        chosen = build_policy(name, settings)
        if not (await opened.store.statistics(_checked(user))).get("facts"):
            raise UnknownUserError(f"user {user!r} has no memory here; add a conversation first, or check the name")
        run = await self._run(query, user, at, budget)
        result = await recall(query, run, chosen, context_tokens=settings.context_tokens)
        if settings.traces:
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

    # --- looking

    async def facts(
        self, *, user: str, history: bool = False, after: str | None = None, limit: int = 100
    ) -> list[Fact]:
        """Page through a user's facts in the order of ids; `after` is the last id seen.

        Args:
            history: Include facts that later ones have replaced.
        """
        return await (await self._open()).store.facts(_checked(user), history=history, after=after, limit=limit)

    async def fact(self, fid: str, *, user: str) -> Fact | None:
        """Return one fact, current or not, or None."""
        found = await (await self._open()).store.facts(_checked(user), fids=[fid])
        return found[0] if found else None

    async def sessions(
        self,
        *,
        user: str,
        states: frozenset[SessionState] | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionRecord]:
        """Page through a user's sessions in the order of arrival; `after` is the last id seen."""
        return await (await self._open()).store.sessions(_checked(user), states=states, after=after, limit=limit)

    async def traces(self, *, user: str, before: str | None = None, limit: int = 20) -> list[Trace]:
        """Page through a user's traces, newest first; `before` is the last id seen."""
        return await (await self._open()).store.traces(_checked(user), before=before, limit=limit)

    async def trace(self, trace_id: str, *, user: str) -> Trace | None:
        """Return one trace, or None."""
        return await (await self._open()).store.trace(_checked(user), trace_id)

    async def users(self, *, after: str | None = None, limit: int = 100) -> list[str]:
        """Page through the names of all users, for operators."""
        return await (await self._open()).store.users(after=after, limit=limit)

    async def statistics(self, *, user: str | None = None) -> dict[str, int]:
        """Count sessions by state, facts, cues, vectors and traces, of one user or of all."""
        return await (await self._open()).store.statistics(None if user is None else _checked(user))

    async def forget(self, *, user: str, session: str | None = None, fid: str | None = None) -> Erased:
        """Erase a user, a session with the facts that stand on it alone, or a fact, without a trace.

        Returns:
            What was erased, counted.
        """
        return await (await self._open()).store.forget(_checked(user), session=session, fid=fid)

    # --- opening

    async def _run(self, query: str, user: str, at: datetime | None, budget: Budget | None) -> Run:
        from prospection.models.meter import MeteredChat
        from prospection.recall.retriever import MemoryRetriever
        from prospection.recall.run import Run

        opened = await self._open()
        where = SearchFilter() if at is None else SearchFilter(at=aware_utc(at, "at"))
        return Run(
            id=secrets.token_hex(6),
            user=user,
            query=query,
            at=where.at or _now(),
            retriever=MemoryRetriever(opened.store, opened.embedder, user=user, where=where),
            embedder=opened.embedder,
            library=opened.library,
            model=None if opened.model is None else MeteredChat(opened.model, budget or _budget(opened.settings)),
        )

    async def _open(self) -> _Opened:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._assemble()
            return self._opened

    async def _assemble(self) -> _Opened:
        from prospection.library.library import GoalLibrary
        from prospection.models.embedding_cache import CachedEmbedder
        from prospection.models.encoders import open_encoder
        from prospection.models.open import open_chat
        from prospection.remember.remember import Remembering

        settings = self._given_settings or load_settings()
        models = settings.models
        embedder = self._encoder
        if embedder is None or isinstance(embedder, str):
            embedder = await open_encoder(
                embedder or models.encoder, call_timeout=models.timeout, retries=models.retries
            )
        model = self._model
        if model is None or isinstance(model, str):
            said = {"chat": model, "base_url": self._base_url}
            model = open_chat(models.model_copy(update={key: value for key, value in said.items() if value}))
        store = self._given_store or await self._open_file(settings, embedder)
        embedder = CachedEmbedder(embedder)
        return _Opened(
            settings=settings,
            store=store,
            embedder=embedder,
            library=GoalLibrary(embedder),
            model=model,
            remembering=Remembering(store, embedder, model, settings.remember),
        )

    async def _open_file(self, settings: Settings, embedder: Embedder) -> FactStore:
        from prospection.store.sqlite import SQLiteStore

        path = self._path or settings.store.path
        if path is None:
            raise ConfigError(
                "no place for the memory is given; pass a path, for example Memory('memory.db'), "
                "or set PROSPECTION_STORE__PATH"
            )
        return await SQLiteStore.open(
            os.fspath(path),
            encoder=(embedder.id, embedder.dims),
            busy_timeout=settings.store.busy_timeout,
            cache_users=settings.store.cache_users,
        )


def _now() -> datetime:
    return datetime.now(UTC)


def _budget(settings: Settings) -> Budget:
    limits = settings.recall
    return Budget(
        max_calls=limits.max_calls,
        max_tokens=limits.max_tokens,
        max_cost=limits.max_cost,
        deadline=limits.deadline,
    )


def _checked(user: str) -> str:
    if not user.strip():
        raise InputError(f"user {user!r} is empty; every call names whose memory it is about")
    return user
