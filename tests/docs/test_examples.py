"""The examples of README and docs are run: Python blocks of a page in one namespace, `prospection` lines one by one.

Models and encoders that the examples name are a loopback server. Each page starts in an empty folder with `chat.json`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from assistant import assistant
from commands import CHAT
from loopback import Loopback
from prospection.cli import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ELSEWHERE = {"integrations.md"}
"""Pages whose examples need other frameworks; tests/integrations makes the same calls where those are installed."""
OLLAMA = "http://127.0.0.1:11434/v1"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def with_examples(language: str) -> list[Path]:
    return [page for page in PAGES if page.name not in ELSEWHERE and blocks(page, language)]


def names(pages: list[Path]) -> list[str]:
    return [page.name for page in pages]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with Loopback(assistant, dims=1536) as running:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("PROSPECTION_STORE__PATH", str(tmp_path / "shell.db"))
        Path("chat.json").write_text(json.dumps(CHAT), encoding="utf-8")
        yield running


@pytest.mark.parametrize("page", with_examples("python"), ids=names(with_examples("python")))
def test_python_examples_run(page: Path, server: Loopback) -> None:
    namespace: dict[str, object] = {"__name__": "example"}
    for number, block in enumerate(blocks(page, "python"), start=1):
        code = block.replace(OLLAMA, server.url)
        exec(compile(code, f"{page.name}, Python block {number}", "exec", dont_inherit=True), namespace)


@pytest.mark.parametrize("page", with_examples("sh"), ids=names(with_examples("sh")))
def test_shell_examples_run(page: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    for block in blocks(page, "sh"):
        for line in block.replace("\\\n", " ").replace(OLLAMA, server.url).splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["export"]:
                monkeypatch.setenv(*words[1].split("=", 1))
            elif words[:1] == ["prospection"] and words[1:2] != ["demo"]:  # the demo has tests of its own
                result = CliRunner().invoke(cli, words[1:])
                assert result.exit_code == 0, (line, result.output, result.exception)
