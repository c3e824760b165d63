"""Texts of many callers in one batch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import anyio
import numpy as np
import pytest

from contracts.embedder_contract import EmbedderContract
from prospection.errors import EndpointError
from prospection.models.batching import SMALL, BatchingEmbedder
from prospection.models.local import LocalEncoder
from prospection.protocols import Embedder, Progress, TextRole
from prospection.types import Vectors
from remembered import WordEmbedder

pytestmark = pytest.mark.anyio


class Slow(WordEmbedder):
    """Takes a moment for a batch, and keeps what it was asked for."""

    def __init__(self, *, failing: int = 0) -> None:
        self.batches: list[list[str]] = []
        self.failing = failing

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        self.batches.append(list(texts))
        await anyio.sleep(0.01)
        if len(self.batches) <= self.failing:
            raise EndpointError("gone")
        return await super().embed(texts, role=role, progress=progress)


async def side_by_side(embedder: Embedder, *calls: Sequence[str], role: TextRole = "query") -> dict[int, Vectors]:
    rows: dict[int, Vectors] = {}

    async def embed(number: int) -> None:
        rows[number] = await embedder.embed(calls[number], role=role)

    async with anyio.create_task_group() as tasks:
        for number in range(len(calls)):
            tasks.start_soon(embed, number)
    return rows


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return BatchingEmbedder(LocalEncoder())


async def test_who_comes_at_the_same_moment_shares_a_batch() -> None:
    inner = Slow()
    rows = await side_by_side(BatchingEmbedder(inner), ["a b", "c"], ["c", "d"], ["e"])
    assert inner.batches == [["a b", "c", "d", "e"]]  # each text once
    alone = WordEmbedder()
    for number, texts in enumerate((["a b", "c"], ["c", "d"], ["e"])):
        np.testing.assert_array_equal(rows[number], await alone.embed(texts))


async def test_who_comes_while_a_batch_runs_goes_with_the_next() -> None:
    inner = Slow()
    embedder = BatchingEmbedder(inner)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(embedder.embed, ["first"])
        await anyio.sleep(0.005)
        tasks.start_soon(embedder.embed, ["second"])
        tasks.start_soon(embedder.embed, ["third"])
    assert inner.batches == [["first"], ["second", "third"]]


async def test_queries_and_passages_do_not_mix_and_large_calls_go_alone() -> None:
    inner = Slow()
    embedder = BatchingEmbedder(inner)
    large = [f"text {number}" for number in range(SMALL + 1)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(embedder.embed, ["query"], role="query"))
        tasks.start_soon(partial(embedder.embed, ["passage"], role="passage"))
        tasks.start_soon(embedder.embed, large)
    assert sorted(map(len, inner.batches)) == [1, 1, SMALL + 1]
    assert (await embedder.embed([])).shape == (0, inner.dims)


async def test_a_shared_batch_has_a_size() -> None:
    inner = Slow()
    await side_by_side(BatchingEmbedder(inner, most=3), ["a", "b"], ["c", "d"], ["e"])
    assert inner.batches == [["a", "b", "e"], ["c", "d"]]


async def test_a_failure_reaches_everybody_in_the_batch_and_nobody_after_it() -> None:
    inner = Slow(failing=1)
    embedder = BatchingEmbedder(inner)
    failed: list[str] = []

    async def embed(text: str) -> None:
        try:
            await embedder.embed([text])
        except EndpointError:
            failed.append(text)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(embed, "a")
        tasks.start_soon(embed, "b")
    assert sorted(failed) == ["a", "b"]
    assert (await embedder.embed(["c"])).shape == (1, inner.dims)


async def test_one_who_leaves_does_not_take_the_others_along() -> None:
    inner = Slow()
    embedder = BatchingEmbedder(inner)
    rows: list[Vectors] = []

    async def stays() -> None:
        rows.append(await embedder.embed(["stays"]))

    async with anyio.create_task_group() as tasks:
        with anyio.move_on_after(0.003):
            tasks.start_soon(stays)
            await embedder.embed(["leaves"])  # leads the batch that both are in
    assert inner.batches == [["leaves", "stays"], ["stays"]]
    np.testing.assert_array_equal(rows[0], await WordEmbedder().embed(["stays"]))
