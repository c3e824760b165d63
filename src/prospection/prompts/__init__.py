"""One text file a stage, and a strict loader.

A prompt file has three parts: a front comment that says purpose and inputs, `## system` and `## user`. Placeholders
are `${name}`; rendering fails on a missing name as on a superfluous one. Values are only ever placed in the user part,
and `<` and `>` in them are escaped, so that text from people or memory cannot close the tag it stands in and pose as
an instruction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from string import Template

from prospection.errors import ConfigError, UnknownNameError

__all__ = ["Prompt", "load_prompt", "prompt_names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A stage's prompt.

    Attributes:
        system: Instructions, without placeholders.
        template: The user part with its placeholders.
        hash: First 12 hex digits of the SHA-256 of the file.
    """

    name: str
    system: str
    template: str
    hash: str

    @property
    def inputs(self) -> frozenset[str]:
        """Names that `render` wants."""
        return frozenset(Template(self.template).get_identifiers())

    def render(self, values: Mapping[str, str]) -> str:
        """Return the user part with `values` in place.

        Raises:
            ConfigError: A placeholder has no value, or a value has no placeholder.
        """
        if missing := self.inputs - values.keys():
            raise ConfigError(f"prompt {self.name!r} lacks {', '.join(sorted(missing))}; pass a value for each")
        if extra := values.keys() - self.inputs:
            raise ConfigError(f"prompt {self.name!r} has no place for {', '.join(sorted(extra))}; remove it")
        return Template(self.template).substitute({name: _escape(value) for name, value in values.items()})


@lru_cache(maxsize=64)
def load_prompt(name: str) -> Prompt:
    """Load the prompt of a stage from the package.

    Raises:
        UnknownNameError: There is no such stage.
        ConfigError: The file is not laid out as it should be.
    """
    if name not in prompt_names():
        raise UnknownNameError("prompt", name, prompt_names())
    return parse_prompt(name, resources.files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8"))


def parse_prompt(name: str, text: str) -> Prompt:
    """Split a prompt file into its parts.

    Raises:
        ConfigError: A part is missing, or the system part holds a placeholder.
    """
    front, found_system, rest = text.partition("\n## system\n")
    system, found_user, user = rest.partition("\n## user\n")
    if not (found_system and found_user and front.startswith("#")):
        raise ConfigError(f"prompt {name!r} must have a front comment, '## system' and '## user', in this order")
    if list(Template(system).get_identifiers()):
        raise ConfigError(f"prompt {name!r} has a placeholder in its system part; values belong into the user part")
    return Prompt(
        name=name,
        system=system.strip(),
        template=user.strip(),
        hash=hashlib.sha256(text.encode()).hexdigest()[:12],
    )


@lru_cache(maxsize=1)
def prompt_names() -> tuple[str, ...]:
    """Names of all stages, in alphabetical order."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(file.name.removesuffix(".txt") for file in files if file.name.endswith(".txt")))


def _escape(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
