"""What tests of the command line share: a conversation, and what its commands are run with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from click.testing import Result

__all__ = ["CHAT", "Run", "data_of", "model_at", "refused"]

CHAT = [
    {"role": "user", "content": "My mother has dialysis every Monday and Wednesday morning, and I drive her there."},
    {"role": "assistant", "content": "That sounds demanding."},
    {"role": "user", "content": "Yesterday I had surgery on my shoulder. I can't lift anything heavy until June."},
]


class Run(Protocol):
    """Runs a command."""

    def __call__(self, *arguments: str, env: Mapping[str, str | None] | None = None, **options: Any) -> Result:
        """Run it with these arguments; None in `env` unsets a variable."""
        ...


def model_at(url: str) -> tuple[str, ...]:
    """Options that name a model at a loopback server."""
    return "--model", "tiny", "--base-url", url


def data_of(result: Result) -> Any:
    """The JSON on stdout, which is all there is on stdout."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(result: Result, code: int = 1) -> str:
    """The one line that says why a command was refused, which is all that was printed but for the usage line."""
    assert result.exit_code == code, (result.output, result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    return last
