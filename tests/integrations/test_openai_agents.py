"""Our memory as tools and session of the OpenAI Agents SDK, with a real agent over the loopback server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, Session, SQLiteSession
from openai import AsyncOpenAI

from loopback import Loopback, Reply
from prospection import AsyncMemory
from prospection.integrations.openai_agents import RememberingSession, memory_tools

pytestmark = pytest.mark.anyio

SAID = "My mother has dialysis every Monday."
QUIET = RunConfig(tracing_disabled=True)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def agent_on(client: AsyncOpenAI, memory: AsyncMemory) -> Agent:
    model = OpenAIChatCompletionsModel("loopback", client)
    return Agent(name="assistant", model=model, tools=list(memory_tools(memory, user="ada")))


async def test_an_agent_recalls_for_the_fixed_user(server: Loopback, tmp_path: Path) -> None:
    client = AsyncOpenAI(base_url=server.url, api_key="none")
    async with client, AsyncMemory(tmp_path / "memory.db") as memory:
        await memory.add([{"role": "user", "content": SAID}], user="ada")
        await memory.add([{"role": "user", "content": "I collect stamps from Peru."}], user="bob")
        server.script(Reply({"request": "Plan two weeks in Italy"}), Reply("Mind the Mondays.", as_tool=False))
        result = await Runner.run(agent_on(client, memory), "Plan two weeks in Italy", run_config=QUIET)
    assert result.final_output == "Mind the Mondays."
    first, second = server.chats
    parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in first.body["tools"]}
    assert {name: list(schema["properties"]) for name, schema in parameters.items()} == {
        "recall": ["request"],
        "remember": ["statement"],
    }
    (told,) = [message["content"] for message in second.body["messages"] if message["role"] == "tool"]
    assert "dialysis" in told
    assert "stamps" not in told


async def test_a_session_keeps_its_history_and_the_memory_what_was_said(server: Loopback, tmp_path: Path) -> None:
    client = AsyncOpenAI(base_url=server.url, api_key="none")
    async with client, AsyncMemory(tmp_path / "memory.db") as memory:
        inner = SQLiteSession("talk", tmp_path / "history.db")
        session = RememberingSession(inner, memory, user="ada")
        assert isinstance(session, Session)
        server.script(Reply({"request": "Italy"}), Reply("Noted.", as_tool=False), Reply("As you said.", as_tool=False))
        await Runner.run(agent_on(client, memory), SAID, session=session, run_config=QUIET)
        await Runner.run(agent_on(client, memory), "I live in Graz.", session=session, run_config=QUIET)

        kinds = [item.get("type") or item.get("role") for item in await session.get_items()]
        assert kinds == ["user", "function_call", "function_call_output", "message", "user", "message"]
        (kept,) = await memory.sessions(user="ada")
        said = [(message.role, message.content) for message in kept.session.messages]
        assert said == [
            ("user", SAID),
            ("assistant", "Noted."),
            ("user", "I live in Graz."),
            ("assistant", "As you said."),
        ]
        facts = " ".join(fact.info for fact in await memory.facts(user="ada"))
        assert "dialysis" in facts
        assert "Graz" in facts

        latest = await session.pop_item()
        assert latest is not None
        await session.clear_session()
        assert await session.get_items() == []
        assert await memory.facts(user="ada")
        inner.close()
