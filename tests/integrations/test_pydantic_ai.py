"""Our memory as a pydantic-ai toolset."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from prospection import AsyncMemory
from prospection.integrations.pydantic_ai import memory_toolset

pytestmark = pytest.mark.anyio


async def test_an_agent_remembers_and_recalls_for_the_fixed_user(tmp_path: Path) -> None:
    offered: dict[str, dict[str, object]] = {}

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.update({tool.name: tool.parameters_json_schema["properties"] for tool in info.function_tools})
        calls = [
            ToolCallPart("remember", {"statement": "My mother has dialysis every Monday."}),
            ToolCallPart("recall", {"request": "Plan two weeks in Italy"}),
        ]
        turn = sum(isinstance(message, ModelResponse) for message in messages)
        return ModelResponse([calls[turn] if turn < 2 else TextPart("done")])

    async with AsyncMemory(tmp_path / "memory.db") as memory:
        agent = Agent(FunctionModel(model), toolsets=[memory_toolset(memory, user="ada")])
        result = await agent.run("Hello")
        users = await memory.users()
    returned = [
        str(part.content)
        for message in result.all_messages()
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]
    assert users == ["ada"]
    assert returned[0].startswith("Remembered: ")
    assert returned[1].startswith("<memory>")
    assert "dialysis" in returned[1]
    assert {name: list(properties) for name, properties in offered.items()} == {
        "recall": ["request"],
        "remember": ["statement"],
    }


async def test_a_memory_to_read_only(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path / "memory.db") as memory:
        assert list(memory_toolset(memory, user="ada", remember=False).tools) == ["recall"]
