"""What every `Embedder` has to keep. A test module subclasses `EmbedderContract` and gives it a fixture `embedder`."""

from __future__ import annotations

import numpy as np
import pytest

from prospection.protocols import Embedder

TEXTS = [
    "The user is allergic to walnuts.",
    "La nonna vive a Torino e ama i gatti.",
    "Пользователь учит арабский язык.",
    "彼は毎朝走ります。",
    "🚲",
    "",
    "word " * 2000,
]


class EmbedderContract:
    @pytest.mark.anyio
    async def test_rows_are_unit_float32_in_order(self, embedder: Embedder) -> None:
        rows = await embedder.embed(TEXTS)
        assert rows.shape == (len(TEXTS), embedder.dims)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
        for text, row in zip(TEXTS, rows, strict=True):
            np.testing.assert_allclose((await embedder.embed([text]))[0], row, atol=1e-5)

    @pytest.mark.anyio
    async def test_a_row_does_not_depend_on_the_batch(self, embedder: Embedder) -> None:
        rows = await embedder.embed(TEXTS)
        turned = await embedder.embed([*reversed(TEXTS), "something else entirely"])
        np.testing.assert_allclose(turned[: len(TEXTS)][::-1], rows, atol=1e-5)

    @pytest.mark.anyio
    async def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        rows = await embedder.embed([])
        assert rows.shape == (0, embedder.dims)
        assert rows.dtype == np.float32

    @pytest.mark.anyio
    async def test_related_texts_are_nearer(self, embedder: Embedder) -> None:
        cat, kitten, tax = await embedder.embed(
            ["My cat sleeps on the sofa.", "The cat is asleep on the sofa.", "Quarterly tax return forms are due."]
        )
        assert cat @ kitten > cat @ tax

    @pytest.mark.anyio
    async def test_both_roles_embed(self, embedder: Embedder) -> None:
        query = await embedder.embed(["Who likes cats?"], role="query")
        passage = await embedder.embed(["Who likes cats?"], role="passage")
        assert query.shape == passage.shape == (1, embedder.dims)

    @pytest.mark.anyio
    async def test_progress_grows_to_the_total(self, embedder: Embedder) -> None:
        calls: list[tuple[int, int]] = []
        await embedder.embed([f"text number {i}" for i in range(150)], progress=lambda *done: calls.append(done))
        assert [total for _, total in calls] == [150] * len(calls)
        assert [done for done, _ in calls] == sorted({done for done, _ in calls})
        assert calls[-1] == (150, 150)

    @pytest.mark.anyio
    async def test_calibration_is_ordered(self, embedder: Embedder) -> None:
        calibration = embedder.calibration
        assert embedder.id
        assert calibration.noise_sd > 0
        assert calibration.noise_mean < calibration.tau < calibration.tau_o <= 1
