"""`Prospector`: thinking ahead over a memory that is somebody else's.

In go anything that can be searched and a request; out comes a `Recall`, found by any of the policies. It never writes:
neither to that memory, nor a trace (which is in `Recall.trace`).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio
import anyio.lowlevel

from prospection.config import Settings, load_settings
from prospection.errors import ConfigError, InputError
from prospection.integrations.recognise import as_retriever
from prospection.protocols import ChatModel, Embedder
from prospection.sync import BackgroundLoop
from prospection.types import Answer, Budget, Recall, aware_utc, whole_text

if TYPE_CHECKING:
    from prospection.library.library import GoalLibrary
    from prospection.recall.run import Run

__all__ = ["Prospector", "SyncProspector"]

OWNER = "foreign"
"""Stands for the user in traces: whose memory it is, is known to its owner alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    settings: Settings
    embedder: Embedder
    library: GoalLibrary
    model: ChatModel | None


class Prospector:
    """Thinks ahead over a memory that is somebody else's.

    Nothing happens in the constructor; encoder and model are opened by the first call. Similarities that are compared
    with a threshold are this encoder's cosines, since what a score of another memory means only its owner knows.

    Example:
        ```python
        prospector = Prospector(vector_store, model="openai:gpt-4o")
        recall = await prospector.recall("Plan two weeks in Italy")
        ```
    """

    def __init__(
        self,
        memory: object,
        *,
        model: str | ChatModel | None = None,
        encoder: str | Embedder | None = None,
        policy: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Say what is searched and with what; what is not said comes from the settings.

        Args:
            memory: A function `search(texts, k)`, a `Retriever`, or an object of a framework; see `as_retriever`.
            model: Language model, "provider:name" or a `ChatModel`. Without one, the packaged goals think ahead.
            encoder: Name of an encoder, or an `Embedder`; need not be the one that the memory uses.
            policy: How memory is searched when `recall` does not say.
            settings: Everything else; read from environment and file when not given.

        Raises:
            InputError: This is no memory that can be searched.
        """
        self._retriever = as_retriever(memory)
        self._model, self._encoder, self._policy, self._settings = model, encoder, policy, settings
        self._opened: _Opened | None = None
        self._opening = anyio.Lock()

    def sync(self) -> SyncProspector:
        """Return the same for code that does not await. Use one of the two, not both."""
        return SyncProspector(self)

    async def recall(
        self,
        query: str,
        *,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Recall:
        """Find the memories that an answer to the request has to respect.

        Args:
            query: The request, in the person's words.
            at: When the request is made, aware; by default now. It is told to the model; memory is not filtered by it.
            policy: "foresight", "library", "pgr", "hybrid", "direct", ...; by default "foresight" with a language
                model and "library" without. "lexical" finds nothing here: a foreign memory shows no index of words.
            limit: Facts to return, for policies without a stopping rule of their own.
            budget: Ceilings; at a ceiling the best so far comes back with `partial` set.

        Returns:
            Facts with the memory's own ids, in which what cannot be cited (spaces, brackets, commas, semicolons, %)
            is percent-encoded. No facts when the memory found none.

        Raises:
            InputError: The query is empty, the time naive, or what the memory returned cannot be read.
            UnknownNameError: There is no such policy.
            ModelError: The language model failed before anything was found.
        """
        from prospection.recall.policies import build_policy
        from prospection.recall.recall import recall
        from prospection.recall.recalling import ceilings, limited

        if not whole_text(query, "the query").strip():
            raise InputError("the query is empty; say what the person asked for")
        opened = await self._open()
        settings = limited(opened.settings.recall, limit)
        name = policy or self._policy or settings.policy or ("library" if opened.model is None else "foresight")
        run = self._run(opened, query, at, budget or ceilings(settings))
        return await recall(query, run, build_policy(name, settings), context_tokens=settings.context_tokens)

    async def answer(
        self,
        query: str,
        *,
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
        from prospection.models.meter import MeteredChat, remaining
        from prospection.recall.answer import answer as answer_from
        from prospection.recall.recalling import ceilings, without_answer

        opened = await self._open()
        if opened.model is None:
            raise ConfigError(
                "an answer needs a language model; name one, for example Prospector(memory, model='openai:gpt-4o'), "
                "or call recall() and give its .context to an assistant of your own"
            )
        limits, began = budget or ceilings(opened.settings.recall), monotonic()
        found = await self.recall(query, at=at, policy=policy, limit=limit, budget=without_answer(limits))
        rest = remaining(limits, found.usage, monotonic() - began)
        return await answer_from(
            found, MeteredChat(opened.model, rest), context_tokens=opened.settings.recall.context_tokens
        )

    def _run(self, opened: _Opened, query: str, at: datetime | None, budget: Budget) -> Run:
        from prospection.models.meter import MeteredChat
        from prospection.recall.run import Run

        return Run(
            id=secrets.token_hex(6),
            user=OWNER,
            query=query,
            at=datetime.now(UTC) if at is None else aware_utc(at, "at"),
            retriever=self._retriever,
            embedder=opened.embedder,
            library=opened.library,
            model=None if opened.model is None else MeteredChat(opened.model, budget),
            foreign=True,
            budget=budget,
        )

    async def _open(self) -> _Opened:
        from prospection.library.library import GoalLibrary
        from prospection.models.embedding_cache import CachedEmbedder
        from prospection.models.encoders import open_encoder
        from prospection.models.open import open_chat

        async with self._opening:
            if self._opened is not None:
                return self._opened
            settings = self._settings or load_settings()
            models, encoder, model = settings.models, self._encoder, self._model
            if encoder is None or isinstance(encoder, str):
                encoder = await open_encoder(
                    encoder or models.encoder, call_timeout=models.timeout, retries=models.retries
                )
            if model is None or isinstance(model, str):
                model = open_chat(models.model_copy(update={"chat": model} if model else {}))
            # Room for what a recall looks at: the texts of a foreign memory have to be embedded to be judged.
            embedder = CachedEmbedder(encoder, in_memory=20_000)
            self._opened = _Opened(
                settings=settings,
                embedder=embedder,
                library=GoalLibrary(embedder),
                model=model,
            )
            return self._opened


class SyncProspector:
    """`Prospector` for code that does not await, over an event loop in a thread of its own."""

    def __init__(self, prospector: Prospector) -> None:
        self._prospector = prospector
        self._loop = BackgroundLoop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def recall(
        self,
        query: str,
        *,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Recall:
        """See `Prospector.recall`."""
        return self._loop.run(partial(self._prospector.recall, query, at=at, policy=policy, limit=limit, budget=budget))

    def answer(
        self,
        query: str,
        *,
        at: datetime | None = None,
        policy: str | None = None,
        limit: int | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """See `Prospector.answer`."""
        return self._loop.run(partial(self._prospector.answer, query, at=at, policy=policy, limit=limit, budget=budget))

    def close(self) -> None:
        """End the background thread. Idempotent; it starts again with the next call."""
        self._loop.stop(anyio.lowlevel.checkpoint)
