"""The encoders by name: one registry for ours and for other packages' (entry points of group `prospection.encoders`).

In goes "local", "multilingual", "openai:MODEL", "MODEL@URL" or a name that an installed package brings; out comes an
`Embedder` that is ready: its width and calibration are known. An encoder's modules are imported when it is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Protocol

from prospection.errors import ConfigError, UnknownNameError
from prospection.protocols import Embedder

__all__ = ["GROUP", "EncoderLoader", "encoder_names", "open_encoder"]

GROUP = "prospection.encoders"

_BUILT_IN = {
    "local": "prospection.models.local:open_local",
    "multilingual": "prospection.models.multilingual:open_multilingual",
    "openai": "prospection.models.remote:open_openai",
}
_AT_URL = "prospection.models.remote:open_at_url"


class EncoderLoader(Protocol):
    """What an entry point has to name."""

    async def __call__(self, argument: str, *, call_timeout: float, retries: int) -> Embedder:
        """Open an encoder.

        Args:
            argument: What follows the colon in "name:argument"; empty without one.
            call_timeout: Seconds that one call to an endpoint may take.
            retries: How often a failed call is repeated.
        """
        ...


def encoder_names() -> tuple[str, ...]:
    """Names that `open_encoder` knows, in alphabetical order, without the endless "MODEL@URL"."""
    return tuple(sorted(_registry()))


async def open_encoder(name: str, *, call_timeout: float = 60.0, retries: int = 2) -> Embedder:
    """Open an encoder by name.

    The local ones read no file yet. An endpoint whose encoder is not known is called once, with 64 pairs of unrelated
    sentences, to learn the width of its vectors and what their cosines mean.

    Args:
        name: "local", "multilingual", "openai:text-embedding-3-small", "MODEL@URL", or "NAME[:ARGUMENT]" of another
            package's encoder.
        call_timeout: Seconds that one call to an endpoint may take.
        retries: How often a failed call is repeated.

    Raises:
        UnknownNameError: No such encoder.
        MissingExtraError: It needs an optional package.
        ConfigError: The name is not well formed, or a package's entry point cannot be loaded.
        ModelError: The endpoint failed.
    """
    if "@" in name:
        return await _load(EntryPoint(name, _AT_URL, GROUP))(name, call_timeout=call_timeout, retries=retries)
    registry = _registry()
    key, _, argument = name.partition(":")
    if key not in registry:
        raise UnknownNameError(
            "encoder", name, registry, hint="Any OpenAI-compatible endpoint can be named as 'MODEL@URL'."
        )
    return await _load(registry[key])(argument, call_timeout=call_timeout, retries=retries)


def _registry() -> Mapping[str, EntryPoint]:
    # Built-in encoders go through the same door as others, and nobody else can take their names.
    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    return found | {name: EntryPoint(name, target, GROUP) for name, target in _BUILT_IN.items()}


def _load(entry: EntryPoint) -> EncoderLoader:
    try:
        loader: EncoderLoader = entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"encoder {entry.name!r} cannot be loaded from {entry.value!r}: {error}; "
            "reinstall the package that it comes from"
        ) from error
    return loader
