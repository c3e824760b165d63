"""Embeddings that are computed once.

In goes an encoder; out comes the same encoder that remembers: the latest texts in memory, so that repeated probes cost
nothing, and all texts in a SQLite file where one is given, so that an evaluation embeds its benchmark once. Keys are
(encoder, role, SHA-256 of the text); the texts themselves are not written.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio.to_thread
import numpy as np

from prospection.errors import StoreError
from prospection.protocols import Embedder, Progress, TextRole
from prospection.types import Calibration, Vectors

__all__ = ["CachedEmbedder"]

_Key = tuple[TextRole, bytes]
_SCHEMA = """
CREATE TABLE IF NOT EXISTS embedding (
    encoder TEXT NOT NULL, role TEXT NOT NULL, text_hash BLOB NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (encoder, role, text_hash)
)
"""


class CachedEmbedder:
    """An `Embedder` over another one. `id`, `dims` and `calibration` are those of the encoder inside."""

    def __init__(self, inner: Embedder, *, path: Path | None = None, in_memory: int = 2048) -> None:
        """Describe the cache; no file is opened yet.

        Args:
            inner: The encoder that is asked for what is missing.
            path: SQLite file; None for memory only.
            in_memory: Vectors that stay in memory, the latest used ones.
        """
        self._inner = inner
        self._path = path
        self._in_memory = in_memory
        self._latest: OrderedDict[_Key, Vectors] = OrderedDict()

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
        """Embed a batch; the encoder inside is asked once, for each text that is not known, without repetitions.

        Raises:
            StoreError: The file cannot be read or written, or is no cache of embeddings.
            ModelError: As the encoder inside.
        """
        keys: list[_Key] = [(role, hashlib.sha256(text.encode()).digest()) for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        found = {key: self._latest[key] for key in text_of if key in self._latest}
        if self._path is not None and len(found) < len(text_of):
            missing = [key for key in text_of if key not in found]
            found |= await anyio.to_thread.run_sync(_read, self._path, self.id, self.dims, missing)
        missing = [key for key in text_of if key not in found]
        if missing:
            rows = await self._inner.embed([text_of[key] for key in missing], role=role, progress=progress)
            new = dict(zip(missing, rows, strict=True))
            if self._path is not None:
                await anyio.to_thread.run_sync(_write, self._path, self.id, new)
            found |= new
        elif progress is not None and texts:
            progress(len(texts), len(texts))
        self._remember(found)
        rows = np.empty((len(texts), self.dims), dtype=np.float32)
        for row, key in enumerate(keys):
            rows[row] = found[key]
        return rows

    def _remember(self, vectors: dict[_Key, Vectors]) -> None:
        for key, vector in vectors.items():
            self._latest[key] = vector
            self._latest.move_to_end(key)
        while len(self._latest) > self._in_memory:
            self._latest.popitem(last=False)


def _read(path: Path, encoder: str, dims: int, keys: Sequence[_Key]) -> dict[_Key, Vectors]:
    found: dict[_Key, Vectors] = {}
    try:
        with closing(_connect(path)) as connection:
            for role, text_hash in keys:
                row = connection.execute(
                    "SELECT vector FROM embedding WHERE encoder = ? AND role = ? AND text_hash = ?",
                    (encoder, role, text_hash),
                ).fetchone()
                if row is not None and len(row[0]) == 4 * dims:
                    found[role, text_hash] = np.frombuffer(row[0], dtype="<f4")
    except sqlite3.Error as error:
        raise _unusable(path, error) from error
    return found


def _write(path: Path, encoder: str, vectors: dict[_Key, Vectors]) -> None:
    rows = [(encoder, role, text_hash, v.astype("<f4").tobytes()) for (role, text_hash), v in vectors.items()]
    try:
        with closing(_connect(path)) as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?, ?)", rows)
    except sqlite3.Error as error:
        raise _unusable(path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30.0)
    connection.execute(_SCHEMA)
    return connection


def _unusable(path: Path, error: sqlite3.Error) -> StoreError:
    return StoreError(f"cache of embeddings {str(path)!r} cannot be used: {error}; delete the file or name another one")
