"""The contract on SQLite, in a file and in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.store_contract import ENCODER, StoreContract
from prospection.protocols import FactStore
from prospection.store.sqlite import SQLiteStore


class TestFile(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[FactStore]:
        async with await SQLiteStore.open(tmp_path / "memory.db", encoder=ENCODER) as store:
            yield store


class TestMemory(StoreContract):
    """With a cache of one user, too: nothing depends on what is cached."""

    @pytest.fixture
    async def store(self) -> AsyncIterator[FactStore]:
        async with await SQLiteStore.open(":memory:", encoder=ENCODER, cache_users=1) as store:
            yield store
