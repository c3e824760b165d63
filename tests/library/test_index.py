"""The packaged index belongs to the packaged goals, and any other is built and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from prospection.library.goals import goals_hash, load_goals
from prospection.library.index import build_index, index_bytes, open_index
from prospection.library.library import GoalLibrary
from prospection.models.encoders import open_encoder
from prospection.protocols import Progress, TextRole
from prospection.types import Vectors
from remembered import WordEmbedder

pytestmark = pytest.mark.anyio


class CountingEmbedder(WordEmbedder):
    id = "counting"

    def __init__(self) -> None:
        self.texts = 0

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        self.texts += len(texts)
        return await super().embed(texts, role=role, progress=progress)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The user's cache folder must not be touched by tests; the variable is how users move it, too.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "prospection" / "library"


def test_the_goals_are_whole() -> None:
    goals = load_goals()
    assert len(goals) >= 900
    assert len({goal.goal for goal in goals}) == len(goals)
    assert all(goal.steps and goal.needs for goal in goals)


async def test_the_packaged_index_is_of_the_packaged_goals_and_the_default_encoder(cache: Path) -> None:
    embedder = await open_encoder("local")
    index = await open_index(embedder)
    assert not cache.exists(), "the packaged index does not fit; run tools/build_library_index.py"
    assert (index.encoder, index.edition) == (embedder.id, goals_hash())
    goals = load_goals()
    rows = await embedder.embed([goals[0].goal, goals[-1].needs[-1], goals[-1].steps[-1]])
    kept = np.stack([index.goals[0], index.needs[-1], index.steps[-1]])
    assert np.einsum("ij,ij->i", rows, kept) == pytest.approx([1.0] * 3, abs=1e-3)


async def test_an_index_for_another_encoder_is_built_once(cache: Path) -> None:
    first, second = CountingEmbedder(), CountingEmbedder()
    built = await open_index(first)
    again = await open_index(second)
    assert (first.texts, second.texts) == (len(built.goals) + len(built.needs) + len(built.steps), 0)
    assert np.abs(built.needs - again.needs).max() < 0.01
    assert len(list(cache.iterdir())) == 1


async def test_a_half_written_index_is_built_again(cache: Path) -> None:
    await open_index(CountingEmbedder())
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:1000])
    embedder = CountingEmbedder()
    await open_index(embedder)
    assert embedder.texts > 0


async def test_rows_survive_quantisation(cache: Path) -> None:
    index = await build_index(load_goals()[:5], WordEmbedder())
    assert len(index_bytes(index)) < index.needs.nbytes + index.goals.nbytes + index.aims.nbytes + index.steps.nbytes
    assert np.linalg.norm(index.aims, axis=1) == pytest.approx(np.ones(5), abs=1e-5)


async def test_profiles_of_facts_seen_before_are_kept() -> None:
    library = GoalLibrary(await open_encoder("local"))
    texts = ["User has a torn meniscus.", "User likes tea."]
    vectors = await (await open_encoder("local")).embed(texts)
    first = await library.profiles(texts, vectors)
    second = await library.profiles(texts[::-1], np.zeros_like(vectors))  # not looked at any more
    assert first.affinity[::-1] == pytest.approx(second.affinity, abs=2e-3)
