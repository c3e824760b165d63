"""Embeddings that are computed once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from contracts.embedder_contract import EmbedderContract
from loopback import Loopback
from prospection.errors import StoreError
from prospection.models.embedding_cache import CachedEmbedder
from prospection.models.encoders import open_encoder
from prospection.models.local import LocalEncoder
from prospection.protocols import Embedder

pytestmark = pytest.mark.anyio
SHARED = LocalEncoder()


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
async def inner(server: Loopback) -> Embedder:
    encoder = await open_encoder(f"tiny@{server.url}")
    server.requests.clear()
    return encoder


class TestContractInMemory(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> CachedEmbedder:
        return CachedEmbedder(SHARED, in_memory=3)


class TestContractOnDisk(EmbedderContract):
    @pytest.fixture
    def embedder(self, tmp_path: Path) -> CachedEmbedder:
        return CachedEmbedder(SHARED, path=tmp_path / "cache.db")


async def test_repeated_texts_are_asked_for_once(server: Loopback, inner: Embedder) -> None:
    cached = CachedEmbedder(inner)
    first = await cached.embed(["a cat", "a dog", "a cat"])
    second = await cached.embed(["a dog", "a bird"])
    assert server.embeddings == [["a cat", "a dog"], ["a bird"]]
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first[1], second[0])
    await cached.embed(["a dog"], role="query")
    assert len(server.embeddings) == 3


async def test_the_latest_used_stay_in_memory(server: Loopback, inner: Embedder) -> None:
    cached = CachedEmbedder(inner, in_memory=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        await cached.embed([text])
    assert server.embeddings == [["a"], ["b"], ["c"], ["b"]]


async def test_the_file_outlives_the_process(server: Loopback, inner: Embedder, tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    first = await CachedEmbedder(inner, path=path).embed(["secret words", "b"])
    second = await CachedEmbedder(inner, path=path).embed(["b", "secret words"])
    assert len(server.embeddings) == 1
    np.testing.assert_array_equal(first, second[::-1])
    assert b"secret" not in path.read_bytes()
    other = await open_encoder(f"other@{server.url}")
    await CachedEmbedder(other, path=path).embed(["b"])
    assert server.embeddings[-1] == ["b"]


async def test_a_file_that_is_no_cache(inner: Embedder, tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    path.write_text("something else entirely, and long enough to be no empty database" * 20)
    with pytest.raises(StoreError, match=r"cache\.db' cannot be used: .*; delete the file"):
        await CachedEmbedder(inner, path=path).embed(["x"])
