"""A consolidation that is killed at any point leaves every statement in place, and the next one goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from prospection.remember.upsert import additions
from prospection.store.sqlite import SQLiteStore
from prospection.types import Candidate, Fact, FactType
from remember.consolidator import consolidate
from remembered import WordEmbedder

pytestmark = pytest.mark.anyio

AT = datetime(2025, 3, 1, 9, tzinfo=UTC)
PAIRS = 24
TESTS = Path(__file__).parents[1]


async def fill(path: Path) -> None:
    embedder = WordEmbedder()
    letters = "abcdefghijklmnopqrstuvwxyz"
    infos = [f"{a * 5} {a * 6} {a * 7} {a * 8} {more}" for a in letters[:PAIRS] for more in ("begins", "ends")]
    facts = await additions([Candidate(info=info, type=FactType.EVENT) for info in infos], embedder)
    async with await SQLiteStore.open(path, encoder=(embedder.id, embedder.dims)) as store:
        await store.edit_facts("ada", facts, at=AT)


async def facts(path: Path) -> list[Fact]:
    embedder = WordEmbedder()
    async with await SQLiteStore.open(path, encoder=(embedder.id, embedder.dims)) as store:
        return await store.facts("ada", history=True, limit=1000)


def statements(held: list[Fact]) -> list[str]:
    """What the current facts say, statement by statement: nothing may be lost, and nothing said twice.

    How statements are grouped may differ after a kill: the next run groups what the last one already merged.
    """
    return sorted(part for fact in held if fact.valid_until is None for part in fact.info.split(" and "))


def live_and_die(path: Path, *, batches: int, seconds: float) -> None:
    """Let a consolidation begin so many batches, and kill it a little later."""
    command = [sys.executable, "-m", "remember.consolidator", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS) as child:
        assert child.stdout is not None
        for _ in range(batches):
            assert child.stdout.readline()
        time.sleep(seconds)
        child.kill()


async def test_killed_at_any_point(tmp_path: Path) -> None:
    start = tmp_path / "start.db"
    await fill(start)
    whole = tmp_path / "whole.db"
    shutil.copy(start, whole)
    await consolidate(str(whole))
    undisturbed = await facts(whole)
    merged = statements(undisturbed)
    assert len(merged) == 2 * PAIRS
    assert sum(len(fact.supersedes) > 1 for fact in undisturbed) >= PAIRS // 2
    random = Random(7)
    for attempt in range(2):
        path = tmp_path / f"{attempt}.db"
        shutil.copy(start, path)
        live_and_die(path, batches=random.randrange(1, 3), seconds=random.random() * 0.03)
        for fact in await facts(path):
            assert (fact.superseded_by is None) == (fact.valid_until is None)
        held = {fact.info for fact in await facts(path)}
        assert {fact.info for fact in await facts(start)} <= held
        await consolidate(str(path))
        assert statements(await facts(path)) == merged
