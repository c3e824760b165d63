"""The real command line in this process, on real files; models are a loopback server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from assistant import assistant
from commands import CHAT, Run
from loopback import Loopback
from prospection.cli import cli


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run commands in an empty folder, on the memory "memory.db" there."""
    return _run_in(tmp_path, monkeypatch)


@pytest.fixture
def server() -> Iterator[Loopback]:
    """A model that carries out every stage."""
    with Loopback(assistant) as running:
        yield running


@pytest.fixture(scope="session")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory of Ada's two messages, made by `add` without a model."""
    folder = tmp_path_factory.mktemp("remembered")
    with pytest.MonkeyPatch.context() as patch:
        found = _run_in(folder, patch)("add", "chat.json", "--user", "ada", "--at", "2025-03-01T09:00")
    assert found.exit_code == 0, found.output
    return folder / "memory.db"


@pytest.fixture
def ada(run: Run, remembered: Path, tmp_path: Path) -> Run:
    """As `run`, with a memory in place."""
    shutil.copy(remembered, tmp_path / "memory.db")
    return run


def _run_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    (folder / "chat.json").write_text(json.dumps(CHAT), encoding="utf-8")
    monkeypatch.chdir(folder)

    def run(*arguments: str, env: Mapping[str, str | None] | None = None, **options: Any) -> Result:
        given: dict[str, str | None] = {
            "PROSPECTION_STORE__PATH": str(folder / "memory.db"),
            "OPENAI_API_KEY": None,
            "OPENAI_BASE_URL": None,
            "COLUMNS": "100",
        }
        return CliRunner().invoke(cli, arguments, env=given | dict(env or {}), **options)

    return run


@pytest.fixture
def data() -> str:
    """The folder of a small data set."""
    return str(Path(__file__).parents[1] / "data" / "evaluation" / "quest")
