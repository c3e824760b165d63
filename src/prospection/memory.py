"""`AsyncMemory`: the only place that wires remembering, recalling and the store together.

Nothing happens in the constructor: the store, the encoder and the model are opened by the first call.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar

import anyio

from prospection.config import Settings, load_settings
from prospection.errors import ConfigError, EncoderMismatchError, InputError
from prospection.protocols import ChatModel, Embedder, FactStore, Progress
from prospection.types import (
    Answer,
    Budget,
    Consolidation,
    CueBackfill,
    Erased,
    Fact,
    FactType,
    Message,
    Outcome,
    Recall,
    Record,
    Review,
    SessionRecord,
    SessionState,
    SessionStatus,
    Trace,
    Unmerge,
    Usage,
    Work,
    aware_utc,
)

if TYPE_CHECKING:
    from prospection.library.library import GoalLibrary
    from prospection.models.meter import MeteredChat
    from prospection.recall.recalling import Recalling
    from prospection.recall.replay import Replayed
    from prospection.recall.stream import RecallStream
    from prospection.recall.why import Why
    from prospection.remember.by_hand import ByHand
    from prospection.remember.remember import Remembering
    from prospection.store.sqlite import SQLiteStore

__all__ = ["AsyncMemory", "MessageLike"]

T = TypeVar("T")

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
    recalling: Recalling


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
        self._former: list[FactStore] = []
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
        while self._former:
            await self._former.pop().close()

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

        entry = as_session(messages, id=session, at=at or _now(), zone=zone)
        opened = await self._open()
        try:
            return await opened.remembering.add(_checked(user), entry, now=_now(), wait=wait)
        except EncoderMismatchError:
            if (anew := await self._open()) is opened:
                raise
            return await anew.remembering.add(user, entry, now=_now(), wait=wait)  # `reembed` came between

    async def retry(self, *, user: str, progress: Progress | None = None) -> list[Outcome]:
        """Extract every session of the user that waits or failed, in order of arrival.

        Returns:
            One outcome for each such session; [] when there is none.
        """
        opened = await self._open()
        return await opened.remembering.drain(_checked(user), now=_now(), progress=progress)

    async def operation(self, session: str, *, user: str) -> SessionStatus | None:
        """Return how far the extraction of a session is, or None when there is no such session.

        A session is its own operation: `Queued.session` is the id to ask with.
        """
        from prospection.remember.status import session_status

        return await session_status((await self._open()).store, _checked(user), session)

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
        worker = Worker(opened.store, opened.embedder, opened.model, opened.settings.remember, clock=_now)
        return await worker.run(once=once, concurrency=concurrency, told=told)

    async def usage(self, *, user: str | None = None, since: date | None = None) -> Usage:
        """Sum what remembering has spent on a user, or on all, from a day (UTC) on; by default today."""
        store = (await self._open()).store
        return await store.usage(None if user is None else _checked(user), since=since or _now().date())

    # --- recalling

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
    ) -> Recall:
        """Find the memories that an answer to the request has to respect.

        Args:
            query: The request, in the person's words.
            user: Whose memory.
            at: When the request is made, aware: memory is searched as it stood then. By default now.
            policy: "pgr", "library", "hybrid", "direct", ...; by default as the memory was made.
            shadow: A second policy that runs at the same time and is only recorded: `Recall.trace.shadow`. Both are
                held to the budget, each for itself, and the slower one is waited for.
            limit: Facts to return, for policies without a stopping rule of their own.
            budget: Ceilings; at a ceiling the best so far comes back with `partial` set.

        Raises:
            InputError: The query is empty or the time naive.
            UnknownUserError: The user has no memory here.
            UnknownNameError: There is no such policy.
            ModelError: The language model failed before anything was found.
        """
        return await self._recalled(
            lambda it: it.recall(
                query, user=_checked(user), at=at, policy=policy, shadow=shadow, limit=limit, budget=budget
            )
        )

    def recall_stream(
        self,
        query: str,
        *,
        user: str,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> RecallStream:
        """Recall, and tell what happens while it happens; arguments and errors as in `recall`.

        Where the language model streams, memory is searched with what it has written while it is still writing.

        Returns:
            An iterator of `prospection.recall.events`, the last of which is `Done` with the recall. Read it to the
            end, or open it with `async with`, which ends the recall when the block is left.

        Example:
            ```python
            async with memory.recall_stream("Plan two weeks in Italy", user="ada") as events:
                async for event in events:
                    ...
            ```
        """
        from prospection.recall.stream import RecallStream

        return RecallStream(
            lambda emit: self._recalled(
                lambda it: it.recall(
                    query, user=_checked(user), at=at, policy=policy, limit=limit, budget=budget, emit=emit
                )
            )
        )

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

        One call of the budget is kept back for the answer itself, and a third of its tokens, money and seconds.

        Raises:
            ConfigError: There is no language model.
            BudgetExceededError: The budget allows no call at all.
            AnswerError: Memory was searched, but no answer came; it carries the recall.
            ModelError: The language model failed before anything was found.
        """
        return await self._recalled(
            lambda it: it.answer(query, user=_checked(user), at=at, policy=policy, limit=limit, budget=budget)
        )

    async def explain(self, fid: str, *, user: str, trace_id: str | None = None) -> Why:
        """Say why a recall returned a fact, or why it did not; of the latest recall where none is named.

        Raises:
            InputError: There is no such trace.
        """
        trace = await self._trace(trace_id, user)
        return await self._recalled(lambda it: it.why(fid, trace))

    async def replay(self, trace_id: str | None = None, *, user: str) -> Replayed:
        """Run a recall again over memory as it is now, with what the model said then; no model is asked.

        Nothing of it is stored. By default the latest recall.

        Raises:
            InputError: There is no such trace.
            ConfigError: Its policy does not take the recorded parameters any more.
            ModelError: It would ask what was not recorded.
        """
        trace = await self._trace(trace_id, user)
        return await self._recalled(lambda it: it.replay(trace))

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

    async def session(self, session_id: str, *, user: str) -> SessionRecord | None:
        """Return one session with its messages and its state, or None."""
        return await (await self._open()).store.session(_checked(user), session_id)

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

    # --- moving

    async def dump(self, *, user: str, after: Record | None = None, limit: int = 100) -> list[Record]:
        """Page through everything a user has, facts without their vectors; `after` is the last record seen.

        `prospection.exchange.archive` writes it to a file and reads it back.
        """
        return await (await self._open()).store.dump(_checked(user), after=after, limit=limit)

    async def restore(self, records: Sequence[Record], *, user: str) -> None:
        """Write what `dump` gave, here or elsewhere, to the last detail: ids, versions, times, states.

        Facts are embedded with this memory's encoder. What is held just so already is left alone.

        Raises:
            ConflictError: Something else is held in a record's place.
            ModelError: The encoder's endpoint failed.
        """
        from prospection.remember.vectors import with_vectors

        opened = await self._open()
        await opened.store.restore(_checked(user), await with_vectors(records, opened.embedder))

    async def review(self, session_id: str, *, user: str) -> Review:
        """Say what a conversation added, reinforced and revised, each with the words it rests on.

        Raises:
            InputError: There is no such session.
        """
        from prospection.remember.review import review

        return await review(_checked(user), session_id, (await self._open()).store)

    # --- facts by hand

    async def add_fact(
        self,
        info: str,
        *,
        user: str,
        kind: FactType | None = None,
        cues: Sequence[str] = (),
        pinned: bool = False,
        at: datetime | None = None,
    ) -> Fact:
        """Store a statement as it stands; no model is asked. One that is stored already is reinforced.

        Args:
            info: One statement about the person.
            kind: By default guessed from its words.
            cues: Future situations in which it will matter.
            pinned: Put it in front of every context; no model ever replaces it.
            at: When it was said, aware; by default now.

        Raises:
            InputError: The statement is empty, or the time naive.
        """
        return await (await self._by_hand(user)).add(info, at=_instant(at), kind=kind, cues=cues, pinned=pinned)

    async def edit_fact(
        self,
        fid: str,
        info: str,
        *,
        user: str,
        kind: FactType | None = None,
        cues: Sequence[str] | None = None,
        at: datetime | None = None,
    ) -> Fact:
        """Write a new version of a current fact and return it. The old version stays as history.

        Raises:
            InputError: There is no such fact, or the statement is empty.
            ConflictError: The fact has been replaced or removed.
        """
        return await (await self._by_hand(user)).edit(fid, info, at=_instant(at), kind=kind, cues=cues)

    async def pin_fact(self, fid: str, *, user: str, pinned: bool = True) -> Fact:
        """Pin a current fact: it heads every context and no model replaces it. Or take the pin out.

        Raises:
            InputError: There is no such fact.
            ConflictError: The fact has been replaced or removed.
        """
        return await (await self._by_hand(user)).pin(fid, at=_now(), pinned=pinned)

    async def remove_fact(self, fid: str, *, user: str, at: datetime | None = None) -> Fact:
        """End a current fact: it is not recalled any more and stays as history. `forget` erases.

        Raises:
            InputError: There is no such fact.
            ConflictError: The fact has been replaced or removed already.
        """
        return await (await self._by_hand(user)).remove(fid, at=_instant(at))

    # --- tending

    async def consolidate(
        self,
        *,
        user: str,
        dry_run: bool = False,
        order: Literal["published", "improved"] | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> Consolidation:
        """Merge facts that belong together, among those that came since the last consolidation and their neighbours.

        Sources stay as history, and a merge can be taken back with `unmerge`. Without a language model only repeats of
        one statement are merged.

        Args:
            dry_run: Only say which facts would be looked at together; nothing is asked or changed.
            order: How facts are grouped; by default as the settings say.
            budget: Ceilings; at a ceiling the result says so, and the next run goes on.
            progress: Called with the groups dealt with and in all.

        Raises:
            ModelError: The model failed; merges made before stay.
        """
        from prospection.remember.consolidation import Consolidating

        opened = await self._open()
        work = Consolidating(
            user=_checked(user),
            store=opened.store,
            embedder=opened.embedder,
            model=_metered(opened, user, budget),
            settings=opened.settings.remember,
        )
        return await work.run(preview=dry_run, order=order, progress=progress)

    async def unmerge(self, fid: str, *, user: str) -> tuple[Fact, ...]:
        """Take a merge back: return the facts it was made of, current again.

        Raises:
            ConflictError: There is no such fact, it is not current, or it was not merged from others.
        """
        return await (await self._open()).store.edit_facts(_checked(user), [Unmerge(fid=fid)], at=_now())

    async def backfill_cues(
        self,
        *,
        user: str,
        fids: Sequence[str] | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> CueBackfill:
        """Write future cues for the facts that have none, twenty facts a call; run it again to go on where it ended.

        Args:
            fids: Write the cues of these facts anew instead.
            budget: Ceilings of this run.
            progress: Called with the facts dealt with and in all.

        Raises:
            ConfigError: There is no language model.
            ModelError: The model failed; cues stored before stay.
        """
        from prospection.remember.cues import backfill_cues

        opened = await self._open()
        model = _metered(opened, user, budget)
        if model is None:
            raise ConfigError("cues are written by a language model; name one, for example model='openai:gpt-4o'")
        settings = opened.settings.remember
        return await backfill_cues(
            _checked(user),
            store=opened.store,
            embedder=opened.embedder,
            model=model,
            cues=settings.cues_per_fact,
            crowd=settings.cue_crowd,
            at=_now(),
            fids=fids,
            progress=progress,
        )

    async def reembed(self, encoder: str | Embedder, *, progress: Progress | None = None) -> int:
        """Make all vectors of the file anew with another encoder, and use that one from then on. For operators.

        Memory can be used throughout, and no recall mixes encoders. Work that was cut short goes on where it stood
        when it is begun again. Others who have the file open find and add nothing from then on until they open it with
        the new encoder: name it in the settings.

        Args:
            encoder: Name of an encoder, or an `Embedder`.
            progress: Told how many texts are embedded, and of how many.

        Returns:
            How many texts were embedded.

        Raises:
            ConfigError: The memory is not in a file, or in a store that was given.
            ConflictError: Somebody else has begun to re-embed with a third encoder.
            ModelError: The encoder's endpoint failed; begin again.
        """
        from prospection.remember.reembed import reembed

        settings = self._given_settings or load_settings()
        if self._given_store is not None or os.fspath(self._path or settings.store.path or "") == ":memory:":
            raise ConfigError(
                "only a memory in a file of its own can be re-embedded here; for a store that you opened yourself, "
                "await prospection.remember.reembed.reembed(store, embedder) and open it again with that encoder"
            )
        chosen = await self._embedder(encoder, settings)
        async with await self._open_file(settings, None) as store:

            async def cut_over() -> bool:
                async with self._opening:  # whoever comes now opens the memory with the new encoder
                    if not await store.use_encoder((chosen.id, chosen.dims)):
                        return False
                    if self._opened is not None:
                        self._former.append(self._opened.store)  # recalls under way may still read from it
                    self._opened, self._encoder = None, chosen
                    return True

            return await reembed(store, chosen, cut_over=cut_over, progress=progress)

    # --- opening

    async def _by_hand(self, user: str) -> ByHand:
        from prospection.remember.by_hand import ByHand

        opened = await self._open()
        return ByHand(user=_checked(user), store=opened.store, embedder=opened.embedder)

    async def _recalled(self, call: Callable[[Recalling], Awaitable[T]]) -> T:
        opened = await self._open()
        try:
            return await call(opened.recalling)
        except EncoderMismatchError:
            if (anew := await self._open()) is opened:
                raise
            return await call(anew.recalling)  # `reembed` came between

    async def _trace(self, trace_id: str | None, user: str) -> Trace:
        if trace_id is None:
            latest = await self.traces(user=user, limit=1)
            found = latest[0] if latest else None
        else:
            found = await self.trace(trace_id, user=user)
        if found is None:
            what = f"no trace {trace_id!r}" if trace_id else "no traces"
            raise InputError(f"user {user!r} has {what}; list them with traces(), or recall something first")
        return found

    async def _open(self) -> _Opened:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._assemble()
            return self._opened

    async def _assemble(self) -> _Opened:
        from prospection.library.library import GoalLibrary
        from prospection.models.batching import BatchingEmbedder
        from prospection.models.embedding_cache import CachedEmbedder
        from prospection.models.open import open_chat
        from prospection.recall.recalling import Recalling
        from prospection.remember.remember import Remembering

        settings = self._given_settings or load_settings()
        models = settings.models
        embedder = await self._embedder(self._encoder, settings)
        model = self._model
        if model is None or isinstance(model, str):
            said = {"chat": model, "base_url": self._base_url}
            model = open_chat(models.model_copy(update={key: value for key, value in said.items() if value}))
        store = self._given_store or await self._open_file(settings, embedder)
        embedder = CachedEmbedder(BatchingEmbedder(embedder))
        library = GoalLibrary(embedder)
        return _Opened(
            settings=settings,
            store=store,
            embedder=embedder,
            library=library,
            model=model,
            remembering=Remembering(store, embedder, model, settings.remember),
            recalling=Recalling(
                store=store,
                embedder=embedder,
                library=library,
                model=model,
                settings=settings.recall,
                policy=self._policy,
                clock=_now,
            ),
        )

    async def _embedder(self, encoder: str | Embedder | None, settings: Settings) -> Embedder:
        from prospection.models.encoders import open_encoder

        if encoder is not None and not isinstance(encoder, str):
            return encoder
        models = settings.models
        return await open_encoder(encoder or models.encoder, call_timeout=models.timeout, retries=models.retries)

    async def _open_file(self, settings: Settings, embedder: Embedder | None) -> SQLiteStore:
        from prospection.store.sqlite import SQLiteStore

        path = self._path or settings.store.path
        if path is None:
            raise ConfigError(
                "no place for the memory is given; pass a path, for example Memory('memory.db'), "
                "or set PROSPECTION_STORE__PATH"
            )
        return await SQLiteStore.open(
            os.fspath(path),
            encoder=None if embedder is None else (embedder.id, embedder.dims),
            busy_timeout=settings.store.busy_timeout,
            cache_users=settings.store.cache_users,
        )


def _now() -> datetime:
    return datetime.now(UTC)


def _instant(at: datetime | None) -> datetime:
    return _now() if at is None else aware_utc(at, "at")


def _metered(opened: _Opened, user: str, budget: Budget | None) -> MeteredChat | None:
    from prospection.models.meter import MeteredChat

    model = opened.remembering.chat(user, now=_now())
    return None if model is None else MeteredChat(model, budget)


def _checked(user: str) -> str:
    if not user.strip():
        raise InputError(f"user {user!r} is empty; every call names whose memory it is about")
    return user
