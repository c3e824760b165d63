"""Another encoder takes over while memory is in use."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import anyio
import numpy as np
import pytest

from prospection.errors import ConflictError, EncoderMismatchError
from prospection.protocols import Embedder, FactStore, Progress, TextRole
from prospection.remember import reembed as module
from prospection.remember.reembed import reembed
from prospection.store.sqlite import SQLiteStore
from prospection.types import Add, Candidate, Cue, FactType, SearchProbe, Vectors
from remembered import WordEmbedder
from working import AT, LetterEmbedder, session

pytestmark = pytest.mark.anyio

OLD, NEW = WordEmbedder(), LetterEmbedder()
DYING = Path(__file__).with_name("dying.py")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(OLD.id, OLD.dims)) as opened:
        yield opened


async def remember(store: FactStore, user: str, name: str, *texts: str, embedder: Embedder = OLD) -> None:
    """Each with a cue, the text backwards."""
    vectors = await embedder.embed([*texts, *(text[::-1] for text in texts)])
    adds = [
        Add(
            candidate=Candidate(info=text, type=FactType.EVENT, cues=(Cue(text=text[::-1]),)),
            vector=vectors[n],
            cue_vectors=vectors[len(texts) + n : len(texts) + n + 1],
        )
        for n, text in enumerate(texts)
    ]
    await store.put_session(user, session(name, *texts))
    await store.finish_session(user, name, adds, extracted=len(texts), now=AT)


async def found(store: FactStore, user: str, text: str, embedder: Embedder) -> list[tuple[str, float]]:
    (vector,) = await embedder.embed([text])
    probes = [SearchProbe(over=over, text=text, vector=vector) for over in ("facts", "cues")]
    both = await store.search(user, probes, k=3)
    return [(hit.fact.info, round(hit.similarity, 3)) for hits in both for hit in hits]


class Interrupting(LetterEmbedder):
    """Does something before it embeds its second batch."""

    def __init__(self, store: FactStore, *, error: Exception | None = None) -> None:
        self.batches: list[int] = []
        self._store, self._error = store, error

    async def embed(
        self,
        texts: Sequence[str],
        *,
        role: TextRole = "passage",
        progress: Progress | None = None,
    ) -> Vectors:
        self.batches.append(len(texts))
        if len(self.batches) == 2:
            if self._error is not None:
                raise self._error
            await remember(self._store, "bob", "late", "He came late.")
            await self._store.forget("ada", fid="f1")
        return await super().embed(texts, role=role, progress=progress)


async def test_every_text_gets_a_vector_of_the_new_encoder(store: SQLiteStore, tmp_path: Path) -> None:
    texts = [f"She owns {n} cats." for n in range(300)]
    await remember(store, "ada", "s", *texts)
    before = await found(store, "bob", "He came late.", OLD)
    embedder = Interrupting(store)
    told: list[tuple[int, int]] = []
    done = await reembed(store, embedder, progress=lambda done, total: told.append((done, total)))
    assert before == []
    # 600 texts; one fact and its cue came in, and one pair was forgotten after it had been read.
    assert sum(embedder.batches) == done == 602
    assert told[-1] == (602, 602)
    with pytest.raises(EncoderMismatchError, match="'letters'"):
        await found(store, "ada", "cats", OLD)
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(NEW.id, NEW.dims)) as anew:
        assert (await found(anew, "bob", "He came late.", NEW))[0] == ("He came late.", 1.0)
        assert (await found(anew, "ada", texts[17], NEW))[0][1] == 1.0
        counts = await anew.statistics()
        assert (counts["facts"], counts["cues"], counts["vectors"]) == (300, 300, 600)
        assert await reembed(anew, NEW) == 0
    with pytest.raises(EncoderMismatchError, match=r"prospection reembed --encoder NAME"):
        await SQLiteStore.open(tmp_path / "memory.db", encoder=(OLD.id, OLD.dims))


async def test_it_goes_on_where_it_stood(store: SQLiteStore) -> None:
    await remember(store, "ada", "s", *[f"She owns {n} cats." for n in range(200)])
    with pytest.raises(OSError, match="pulled"):
        await reembed(store, Interrupting(store, error=OSError("pulled")))
    assert (await found(store, "ada", "She owns 7 cats.", OLD))[0] == ("She owns 7 cats.", 1.0)
    assert await reembed(store, NEW) == 400 - module._BATCH


async def test_another_one_that_begins_takes_the_place(store: SQLiteStore) -> None:
    await remember(store, "ada", "s", *[f"She owns {n} cats." for n in range(200)])

    class Third(LetterEmbedder):
        id = "third"

    class Overtaken(LetterEmbedder):
        async def embed(
            self,
            texts: Sequence[str],
            *,
            role: TextRole = "passage",
            progress: Progress | None = None,
        ) -> Vectors:
            await store.prepare_encoder((Third.id, Third.dims))
            return await super().embed(texts)

    with pytest.raises(ConflictError, match="another re-embedding has begun"):
        await reembed(store, Overtaken())
    assert (await found(store, "ada", "She owns 7 cats.", OLD))[0] == ("She owns 7 cats.", 1.0)
    assert await reembed(store, Third()) == 400


async def test_searches_meanwhile_see_one_encoder_or_the_other(store: SQLiteStore, tmp_path: Path) -> None:
    texts = [f"She owns {n} cats and {n * 7 % 13} dogs." for n in range(300)]
    await remember(store, "ada", "s", *texts)
    expected = await found(store, "ada", texts[42], OLD)
    seen = 0
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(OLD.id, OLD.dims)) as other:

        async def search(reader: SQLiteStore) -> None:
            nonlocal seen
            while True:
                try:
                    assert await found(reader, "ada", texts[42], OLD) == expected
                    seen += 1
                except EncoderMismatchError:
                    return

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                for reader in (store, other):
                    group.start_soon(search, reader)
                await reembed(store, NEW)
    assert seen > 2


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
async def test_dying_at_any_point_it_ends_with_the_same_vectors(tmp_path: Path) -> None:
    texts = [f"She owns {n} cats and {n * 7 % 13} dogs." for n in range(1_000)]
    path = tmp_path / "memory.db"
    async with await SQLiteStore.open(path, encoder=(OLD.id, OLD.dims)) as store:
        await remember(store, "ada", "s", *texts)
    command = [sys.executable, str(DYING), "reembed", str(path), "15"]
    said = await anyio.run_process(command, env=os.environ | {"PYTHONPATH": str(DYING.parents[1])}, stderr=None)
    assert said.stdout.split() == [b"killed"] * 15 + [b"done"]
    async with await SQLiteStore.open(path, encoder=(NEW.id, NEW.dims)) as store:
        counts = await store.statistics()
        assert (counts["facts"], counts["cues"], counts["vectors"]) == (1_000, 1_000, 2_000)
        rows = await store.vectors("ada", [f"f{n}" for n in range(1, 1_001)])
        assert np.allclose(rows, await NEW.embed(texts), atol=1e-3)
        assert (await found(store, "ada", texts[7], NEW))[0][1] == 1.0
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name, state FROM encoders").fetchall() == [("letters", "active")]
    connection.close()
