"""The contract of edits on a SQLite file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.edits_contract import EditsContract
from contracts.store_contract import ENCODER
from prospection.protocols import FactStore
from prospection.store.sqlite import SQLiteStore


class TestEdits(EditsContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[FactStore]:
        async with await SQLiteStore.open(tmp_path / "memory.db", encoder=ENCODER) as opened:
            yield opened
