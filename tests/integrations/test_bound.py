"""A memory with its user fixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from prospection import AsyncMemory, Memory, Prospector
from prospection.errors import ConfigError
from prospection.integrations.bound import BoundMemory, MemoryTools

pytestmark = pytest.mark.anyio

SAID = "My mother has dialysis every Monday."


def nothing(texts: list[str], k: int) -> list[list[str]]:
    return [[] for _ in texts]


async def test_plain_memory_is_asked_off_the_loop(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        tools = MemoryTools(BoundMemory(memory, user="ada", policy="direct"))
        assert await tools.remember("Hello!") == "There was nothing in it to remember."
        assert (await tools.remember(SAID)).startswith("Remembered: ")
        assert "dialysis" in await tools.recall("Italy")


async def test_someone_new_is_no_error_for_a_model_that_asks(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path / "memory.db") as memory:
        assert await MemoryTools(BoundMemory(memory, user="ada")).recall("Italy") == "Nothing is known about this."


async def test_a_foreign_memory_is_not_written_to() -> None:
    tools = MemoryTools(BoundMemory(Prospector(nothing), policy="direct"))
    assert await tools.recall("Italy") == "Nothing is known about this."
    with pytest.raises(ConfigError, match="Prospector searches a memory and does not write to it"):
        await tools.remember(SAID)
