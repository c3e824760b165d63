"""From settings to a model: names, keys, and sentences about what is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from contracts.chat_contract import plain
from loopback import Loopback
from prospection.config import ModelsSettings
from prospection.errors import ConfigError, CredentialError, MissingExtraError, ProspectionError, UnknownNameError
from prospection.models.open import build_model, open_chat
from prospection.models.recorded import RecordedChat, RecordingChat


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_BASE_URL", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(variable, raising=False)


def test_no_model_is_no_error() -> None:
    assert open_chat(ModelsSettings()) is None


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["openai:gpt-4o", "gpt-4o", "ollama:gpt-4o", "openai-chat:gpt-4o"])
async def test_a_base_url_takes_the_name_as_the_endpoint_knows_it(name: str) -> None:
    with Loopback() as server:
        chat = open_chat(ModelsSettings(chat=name, base_url=server.url, max_output_tokens=100))
        assert chat is not None
        assert chat.name == name
        await chat.complete(plain())
        assert server.chats[0].body["model"] == "gpt-4o"
        assert server.chats[0].body["max_tokens"] == 100


@pytest.mark.anyio
@pytest.mark.parametrize(("variable", "name"), [("OPENAI_BASE_URL", "openai:m"), ("OLLAMA_BASE_URL", "ollama:m")])
async def test_the_usual_variables_name_an_endpoint(monkeypatch: pytest.MonkeyPatch, variable: str, name: str) -> None:
    with Loopback() as server:
        monkeypatch.setenv(variable, server.url)
        chat = open_chat(ModelsSettings(chat=name))
        assert chat is not None
        await chat.complete(plain())
        assert server.chats[0].body["model"] == "m"


def test_ollama_is_looked_for_where_it_usually_is() -> None:
    assert build_model("ollama:qwen3:4b").base_url == "http://127.0.0.1:11434/v1/"


@pytest.mark.parametrize(
    ("settings", "kind", "said"),
    [
        ({"chat": "gpt-4o"}, UnknownNameError, "'gpt-4o'; did you mean 'openai:gpt-4o'. Write .provider:model"),
        ({"chat": "o3"}, UnknownNameError, "did you mean 'openai:o3'"),
        ({"chat": "claude-sonnet-4-5"}, UnknownNameError, "did you mean 'anthropic:claude-sonnet-4-5'"),
        ({"chat": "gemini-2.5-pro"}, UnknownNameError, "did you mean 'google:gemini-2.5-pro'"),
        ({"chat": "llama3.2"}, UnknownNameError, "did you mean 'ollama:llama3.2'.* --base-url http://127.0.0.1:11434"),
        ({"chat": "phial"}, UnknownNameError, "unknown language model 'phial'; known: .*--base-url"),
        ({"chat": "nobody:x"}, UnknownNameError, "unknown language model 'nobody:x'; known: .*openai"),
        ({"chat": "openai:gpt-4o"}, CredentialError, "set the environment variable OPENAI_API_KEY"),
        ({"chat": "deepseek:deepseek-chat"}, CredentialError, "set the environment variable DEEPSEEK_API_KEY"),
        ({"chat": "m", "base_url": "localhost:8080"}, ConfigError, "'localhost:8080' is not a web address"),
        ({"chat": "openai:", "base_url": "http://127.0.0.1/v1"}, ConfigError, "has no name"),
        ({"base_url": "http://127.0.0.1/v1"}, ConfigError, "models.base_url is set without a language model"),
        ({"record": Path("x")}, ConfigError, "models.record is set without a language model"),
        ({"record": Path("x"), "replay": Path("y")}, ConfigError, "are both set"),
        ({"replay": Path("none.jsonl")}, ConfigError, "'none.jsonl' cannot be read"),
    ],
)
def test_what_is_wrong_is_said(settings: dict[str, Any], kind: type[ProspectionError], said: str) -> None:
    with pytest.raises(kind, match=said):
        open_chat(ModelsSettings(**settings))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # A None in sys.modules is how Python itself says that a package cannot be imported.
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(MissingExtraError, match=r"a language model needs .*pip install 'prospection\[llm\]'"):
        open_chat(ModelsSettings(chat="openai:gpt-4o"))


def test_record_and_replay(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    url = "http://127.0.0.1:9/v1"
    assert isinstance(open_chat(ModelsSettings(chat="m", base_url=url, record=path)), RecordingChat)
    path.touch()
    assert isinstance(open_chat(ModelsSettings(replay=path)), RecordedChat)
    assert isinstance(open_chat(ModelsSettings(chat="openai:gpt-4o", replay=path)), RecordedChat)


def test_an_empty_key_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with pytest.raises(CredentialError, match="needs a key; set the environment variable OPENAI_API_KEY"):
        build_model("openai:gpt-4o")
