"""Every example of docs/integrations.md runs, against the real frameworks."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import agents
import pytest
from openai import AsyncOpenAI
from pydantic_ai.models.test import TestModel

from loopback import Loopback, Reply
from openai_protocol import embedding

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
EXAMPLES = re.findall(r"^## ([^\n]+)\n|^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)

NOTES = [
    "User's mother has dialysis every Monday.",
    "User's passport lapsed in April.",
    "User collects vinyl records of the seventies.",
]


def examples() -> Iterator[Any]:
    section, number = "", 0
    for heading, code in EXAMPLES:
        section, number = (heading, 0) if heading else (section, number + 1)
        if code:
            yield pytest.param(section, code, id=f"{section} {number}")


@pytest.fixture
async def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: str) -> AsyncIterator[dict[str, Any]]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))
    agents.set_tracing_disabled(True)
    with Loopback() as server:
        server.script(Reply({"request": "Italy"}), Reply("Noted.", as_tool=False))
        endpoint = {"openai_base_url": server.url, "api_key": "none", "model": "loopback"}
        store = {"path": str(tmp_path / "mem0"), "embedding_model_dims": 64, "on_disk": True}
        async with AsyncOpenAI(base_url=server.url, api_key="none") as client:
            yield {
                "NOTES": NOTES,
                "embed": lambda texts: [embedding(text) for text in texts],
                "DATABASE": database,
                "MEM0": {
                    "vector_store": {"provider": "qdrant", "config": store},
                    "embedder": {"provider": "openai", "config": endpoint | {"embedding_dims": 64}},
                    "llm": {"provider": "openai", "config": endpoint},
                },
                "MODEL": TestModel(),
                "AGENTS_MODEL": agents.OpenAIChatCompletionsModel("loopback", client),
            }


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("section", "code"), list(examples()))
async def test_example(section: str, code: str, given: dict[str, Any]) -> None:
    compiled = compile(code, f"{PAGE.name}: {section}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = FunctionType(compiled, given)()
    if inspect.iscoroutine(result):
        await result
    if "recall" in given:
        assert {item.info for item in given["recall"].facts} <= set(NOTES)
        assert given["recall"].facts
    for found in ("documents", "nodes"):
        assert found not in given or given[found]
    if "result" in given:
        assert getattr(given["result"], "output", None) or given["result"].final_output


def test_every_section_has_an_example() -> None:
    sections = [heading for heading, _ in EXAMPLES if heading]
    assert list(dict.fromkeys(param.values[0] for param in examples())) == sections
