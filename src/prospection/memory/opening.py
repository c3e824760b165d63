"""What a memory is made of: said in the constructor, opened by the first call, closed at the end."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar
from unicodedata import category

import anyio

from prospection.config import Settings, load_settings
from prospection.errors import ConfigError, EncoderMismatchError, InputError
from prospection.protocols import ChatModel, Embedder, FactStore
from prospection.types import aware_utc, whole_text

if TYPE_CHECKING:
    from prospection.library.library import GoalLibrary
    from prospection.recall.recalling import Recalling
    from prospection.remember.remember import Remembering
    from prospection.store.sqlite import SQLiteStore

__all__ = ["Opened", "Opening", "checked", "instant", "now", "page"]

T = TypeVar("T")

_CONTROLS = frozenset({"Cc", "Zl", "Zp"})
"""Unicode's categories of control characters, line and paragraph separators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a memory is made of, once it is open."""

    settings: Settings
    store: FactStore
    embedder: Embedder
    library: GoalLibrary
    model: ChatModel | None
    remembering: Remembering
    recalling: Recalling


class Opening:
    """Opens store, encoder and model when they are first needed."""

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

        Raises:
            InputError: The path is none.
        """
        if path is not None and not isinstance(path, str | os.PathLike):
            raise InputError(f"the path of the memory is {path!r}; pass it as text, for example Memory('memory.db')")
        self._path, self._model, self._base_url = path, model, base_url
        self._encoder, self._policy, self._given_store, self._given_settings = encoder, policy, store, settings
        self._opened: Opened | None = None
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

    async def _open(self) -> Opened:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._assemble()
            return self._opened

    async def _across(self, call: Callable[[Opened], Awaitable[T]]) -> T:
        """Call with what the memory is made of; once more when `reembed` has changed that meanwhile."""
        opened = await self._open()
        try:
            return await call(opened)
        except EncoderMismatchError:
            if (anew := await self._open()) is opened:
                raise
            return await call(anew)

    async def _assemble(self) -> Opened:
        from prospection.library.library import GoalLibrary
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
        embedder = CachedEmbedder(embedder)
        library = GoalLibrary(embedder)
        return Opened(
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
                clock=now,
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


def now() -> datetime:
    """Return the instant; the only place where this package reads a clock."""
    return datetime.now(UTC)


def instant(at: datetime | None) -> datetime:
    """Return `at` in UTC, or the present."""
    return now() if at is None else aware_utc(at, "at")


def checked(user: str) -> str:
    """Return the user's name.

    Raises:
        InputError: It is empty, holds a line break or another control character, or is no text that can be stored.
    """
    if not whole_text(user, "the user").strip():
        raise InputError(f"user {user!r} is empty; every call names whose memory it is about")
    if odd := next((character for character in user if category(character) in _CONTROLS), None):
        raise InputError(f"user {user!r} holds the control character {odd!r}; pass a name on one line, without any")
    return user


def page(limit: int) -> int:
    """Return how many entries a page may have.

    Raises:
        InputError: It is no whole number from 1 on.
    """
    if not isinstance(limit, int) or limit < 1:
        raise InputError(f"the limit is {limit!r}; pass a whole number from 1 on")
    return limit
