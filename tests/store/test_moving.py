"""Moving a user between SQLite stores."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.moving_contract import MovingContract
from contracts.store_contract import ENCODER
from prospection.protocols import FactStore
from prospection.store.sqlite import SQLiteStore


class TestMoving(MovingContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[FactStore]:
        async with await SQLiteStore.open(tmp_path / "memory.db", encoder=ENCODER) as store:
            yield store

    @pytest.fixture
    async def other(self) -> AsyncIterator[FactStore]:
        async with await SQLiteStore.open(":memory:", encoder=ENCODER) as store:
            yield store
