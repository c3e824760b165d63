"""Full context: all of memory, and the answer written from all of it."""

from __future__ import annotations

import pytest

from prospection.evaluation.rivals import build_rival
from prospection.store.sqlite import SQLiteStore
from remembered import WordEmbedder
from rivalry import ask, remember

pytestmark = pytest.mark.anyio


async def test_the_answer_is_written_from_everything_latest_first() -> None:
    async with await SQLiteStore.open(":memory:", encoder=(WordEmbedder.id, WordEmbedder.dims)) as store:
        infos = [f"note {n} {'word ' * 40}".strip() for n in range(60)]  # about 3,000 tokens
        await remember(store, *infos)
        system = build_rival("full_context", store=store, embedder=WordEmbedder(), model=None)
        found = await system.retrieve(ask("anything"))
        assert found.fids == tuple(f"f{n}" for n in range(60, 0, -1))
        assert found.context is not None
        lines = found.context.splitlines()
        assert [line.partition("] ")[0] for line in lines] == [f"[{fid}" for fid in found.fids]
        assert all(info in line for info, line in zip(reversed(infos), lines, strict=True))
        assert (await system.retrieve(ask("anything"))).llm_calls == 0
