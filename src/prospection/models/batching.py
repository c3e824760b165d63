"""One batch for the texts of many callers.

In goes an encoder; out comes the same encoder for callers side by side. While a batch runs, the texts that arrive wait
and go together in the next one, so that ten recalls cost about as many batches as one. A caller alone waits for nobody.

Encoders behind an endpoint come wrapped in this. Ours in the process do not: they take as long for a text in a large
batch as in a small one, and run several batches on several cores (benchmarks/recall_concurrency.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from prospection.errors import ProspectionError
from prospection.protocols import Embedder, Progress, TextRole
from prospection.types import Calibration, Vectors

__all__ = ["BatchingEmbedder"]

SMALL = 64
"""Calls with more texts go alone: they fill batches by themselves, and nobody should have to wait for them."""


@dataclass(slots=True, eq=False)
class _Call:
    """Texts that wait, and then their rows or what went wrong."""

    texts: Sequence[str]
    rows: Vectors | None = None
    failure: ProspectionError | None = None


@dataclass(slots=True)
class _Queue:
    """The calls of one role that wait, and whose turn it is to embed."""

    waiting: list[_Call] = field(default_factory=list)
    turn: anyio.Lock = field(default_factory=anyio.Lock)


class BatchingEmbedder:
    """An `Embedder` over another one. `id`, `dims` and `calibration` are those of the encoder inside."""

    def __init__(self, inner: Embedder, *, most: int = 256) -> None:
        """Wrap an encoder.

        Args:
            inner: Rows must depend on their own text alone, as `Embedder` says.
            most: Texts of one shared batch, about.
        """
        self._inner = inner
        self._most = most
        self._queues: dict[TextRole, _Queue] = {"query": _Queue(), "passage": _Queue()}

    @property
    def id(self) -> str:
        """Of the encoder inside."""
        return self._inner.id

    @property
    def dims(self) -> int:
        """Of the encoder inside."""
        return self._inner.dims

    @property
    def calibration(self) -> Calibration:
        """Of the encoder inside."""
        return self._inner.calibration

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        """Embed a batch, together with the texts of others.

        Raises:
            ModelError: As the encoder inside; every caller of a failed batch gets the error.
        """
        if not 0 < len(texts) <= SMALL:
            return await self._inner.embed(texts, role=role, progress=progress)
        call = _Call(texts)
        queue = self._queues[role]
        queue.waiting.append(call)
        try:
            await anyio.lowlevel.checkpoint()  # those who start at the same moment join
            async with queue.turn:
                if call.rows is None and call.failure is None:
                    await self._run(queue, call, role)
        finally:
            if call in queue.waiting:  # cancelled before its turn came
                queue.waiting.remove(call)
        if call.failure is not None:
            raise call.failure
        if call.rows is None:
            raise AssertionError("unreachable: a batch brings rows or fails")
        if progress is not None:
            progress(len(texts), len(texts))
        return call.rows

    async def _run(self, queue: _Queue, own: _Call, role: TextRole) -> None:
        """Embed what waits, the own texts among it. When it is cancelled, the others wait for the next turn."""
        batch, size = [own], len(own.texts)
        for call in queue.waiting:
            if call is not own and size + len(call.texts) <= self._most:
                batch.append(call)
                size += len(call.texts)
        texts = list(dict.fromkeys(text for call in batch for text in call.texts))
        try:
            rows = await self._inner.embed(texts, role=role)
        except ProspectionError as error:
            for call in batch:
                call.failure = error
        else:
            place = {text: row for row, text in enumerate(texts)}
            for call in batch:
                call.rows = rows[[place[text] for text in call.texts]]
        queue.waiting[:] = [call for call in queue.waiting if call not in batch]
