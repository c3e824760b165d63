"""From settings to a language model.

In go names as people write them; out comes a `ChatModel`. Loads pydantic-ai (a second or two), reads the environment
for keys, and calls no endpoint.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection
from importlib.util import find_spec
from typing import TYPE_CHECKING, get_args

from prospection.errors import ConfigError, CredentialError, MissingExtraError, UnknownNameError

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from prospection.config import ModelsSettings
    from prospection.protocols import ChatModel

__all__ = ["build_model", "open_chat"]

_OLLAMA = "http://127.0.0.1:11434/v1"
_FAMILIES = (
    (re.compile(r"gpt-oss|llama|qwen|gemma|phi\d?\b|mi[sx]tral|deepseek"), "ollama"),
    (re.compile(r"(chat)?gpt|o[134](-|$)"), "openai"),
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gemini"), "google"),
)
"""How well-known models are named, and who serves them."""
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]+)`")


def open_chat(settings: ModelsSettings) -> ChatModel | None:
    """Open the language model that the settings name.

    `replay` takes the model's place; `record` writes its replies down.

    Returns:
        The model, or None when neither `chat` nor `replay` is set.

    Raises:
        UnknownNameError: pydantic-ai knows no such provider.
        CredentialError: The provider needs a key and none is set.
        MissingExtraError: pydantic-ai is not installed.
        ConfigError: The base URL is none, the provider's package is missing, the recording does not exist, or a
            recording is asked for and there is nothing to record.
    """
    from prospection.models.recorded import RecordedChat, RecordingChat

    if settings.replay is not None:
        if settings.record is not None:
            raise ConfigError("models.record and models.replay are both set; unset one of them")
        return RecordedChat.load(settings.replay)
    if settings.chat is None:
        if settings.record is not None or settings.base_url is not None:
            what = "models.record" if settings.record is not None else "models.base_url"
            raise ConfigError(f"{what} is set without a language model; set models.chat too, or unset it")
        return None
    model = build_model(settings.chat, settings.base_url)
    from prospection.models.chat import PydanticAIChat

    chat = PydanticAIChat(
        model,
        name=settings.chat,
        timeout=settings.timeout,
        retries=settings.retries,
        max_output_tokens=settings.max_output_tokens,
        key=_key_variable(settings.chat, settings.base_url),
    )
    return chat if settings.record is None else RecordingChat(chat, settings.record)


def build_model(name: str, base_url: str | None = None) -> Model:
    """Build the pydantic-ai model of a name.

    Args:
        name: "provider:model" as pydantic-ai knows it, or with a base URL whatever the endpoint calls its model.
        base_url: OpenAI-compatible endpoint. None: the provider's own, or what OPENAI_BASE_URL and OLLAMA_BASE_URL
            name. The key comes from OPENAI_API_KEY; local servers need none.

    Raises:
        UnknownNameError, CredentialError, MissingExtraError, ConfigError: As `open_chat`.
    """
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        raise MissingExtraError("a language model", "llm")
    provider, _, rest = name.partition(":")
    if base_url is None and provider in {"openai", "openai-chat"}:
        base_url = os.environ.get("OPENAI_BASE_URL")
    if base_url is None and provider == "ollama":
        base_url = os.environ.get("OLLAMA_BASE_URL", _OLLAMA)
    if base_url is not None:
        return _compatible(rest if provider in {"openai", "openai-chat", "ollama"} else name, base_url)

    variable = _key_variable(name, None)
    if os.environ.get(variable) == "":  # taken for a key by pydantic-ai, and the SDK then fails in its own way
        raise _keyless(name, variable)

    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import KnownModelName, infer_model

    try:
        return infer_model(name)
    except ImportError as error:
        raise ConfigError(f"language model {name!r} needs another package: {error}") from error
    except UserError as error:
        if error.message.startswith("Unknown model"):
            raise _unknown(name, get_args(KnownModelName.__value__)) from error
        named = _VARIABLE.search(error.message)
        if named is None:
            raise ConfigError(f"language model {name!r} cannot be used: {error.message}") from error
        raise _keyless(name, named[1]) from error


def _compatible(model: str, base_url: str) -> Model:
    if not re.match(r"https?://[^/\s]+", base_url):
        raise ConfigError(f"base URL {base_url!r} is not a web address; write it like 'http://127.0.0.1:8080/v1'")
    if not model:
        raise ConfigError("the language model has no name; write the name under which the endpoint knows it")

    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    from prospection.models.chat import COMPATIBLE

    profile = OpenAIModelProfile(
        # Tried first and given up when refused, whatever the name of the model suggests.
        supports_json_schema_output=True,
        supports_json_object_output=False,
        # Servers other than OpenAI's know the older name of the limit, and some only that.
        openai_chat_supports_max_completion_tokens="api.openai.com" in base_url,
    )
    key = os.environ.get("OPENAI_API_KEY") or None
    provider = OpenAICompatibleProvider(COMPATIBLE, base_url=base_url, api_key=key, profile=profile)
    return OpenAIChatModel(model, provider=provider)


def _unknown(name: str, known: Collection[str]) -> UnknownNameError:
    # There are hundreds of known names; offer the nearest, or the providers.
    near = difflib.get_close_matches(name, known, n=1)
    providers = {full.partition(":")[0] for full in known if ":" in full}
    return UnknownNameError(
        "language model",
        name,
        near or providers,
        meant=next((f"{provider}:{name}" for family, provider in _FAMILIES if family.match(name)), None),
        hint='Write "provider:model", or for a server of your own give the base URL of its OpenAI-compatible endpoint: '
        f"--base-url {_OLLAMA} on the command line.",
    )


def _keyless(name: str, variable: str) -> CredentialError:
    return CredentialError(f"language model {name!r} needs a key; set the environment variable {variable}")


def _key_variable(name: str, base_url: str | None) -> str:
    provider = name.partition(":")[0]
    if base_url is not None or provider.startswith("openai") or provider == "ollama":
        return "OPENAI_API_KEY"
    return f"{provider.upper().replace('-', '_')}_API_KEY"
