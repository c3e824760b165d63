"""A rival's package in a process of its own: questions out, answers back, one at a time, as lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.abc import ByteSendStream, Process
from anyio.streams.text import TextReceiveStream

from prospection.errors import EndpointError
from prospection.types import Usage

__all__ = ["RivalEndpoint", "RivalProcess", "spent"]

WORKER = Path(__file__).with_name("worker.py")

_QUIET = {
    "MEM0_TELEMETRY": "False",
    "ORT_DISABLE_TELEMETRY": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "PYTHONUNBUFFERED": "1",
}
"""No telemetry, and no list of prices from the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalEndpoint:
    """The OpenAI-compatible endpoint that a package works with.

    Attributes:
        base_url: Serves chat completions and embeddings.
        chat: Name of the language model there.
        embedding: Name of the encoder there.
        dims: Width of its vectors.
    """

    base_url: str
    api_key: str
    chat: str
    embedding: str
    dims: int


class RivalProcess:
    """A worker that starts when it is first asked; an async context manager that ends it."""

    def __init__(self, name: str, python: Path, *, endpoint: RivalEndpoint, folder: Path) -> None:
        """Describe it; nothing is started yet.

        Args:
            name: Of the package.
            python: Of its environment.
            folder: For its files and its log.
        """
        self._name, self._python, self._endpoint, self._folder = name, python, endpoint, folder
        self._lock = anyio.Lock()
        self._stack = AsyncExitStack()
        self._process: Process | None = None

    @property
    def log(self) -> Path:
        """Where everything goes that the package says."""
        return self._folder / "log.txt"

    async def __aenter__(self) -> Self:
        """Start nothing yet."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """End the worker: it stops when it is not asked any more, and is killed when it does not."""
        if self._process is not None:
            await _stdin(self._process).aclose()
            with anyio.move_on_after(5):
                await self._process.wait()
            if self._process.returncode is None:
                self._process.kill()
        await self._stack.aclose()

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Returns:
            What the operation gives, and `calls`, `tokens_in` and `tokens_out` of language models.

        Raises:
            EndpointError: The package failed, or the worker died; `usage` holds what it spent.
        """
        async with self._lock:
            try:
                if self._process is None:
                    self._process = await self._start()
                    await self._exchange(self._process, {"op": "open", "endpoint": asdict(self._endpoint)})
                return await self._exchange(self._process, request)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                raise EndpointError(f"{self._name!r} ended without an answer; see {str(self.log)!r}") from error

    async def _start(self) -> Process:
        await anyio.Path(self._folder).mkdir(parents=True, exist_ok=True)
        log = self._stack.enter_context(self.log.open("ab"))
        process = await self._stack.enter_async_context(
            await anyio.open_process(
                [str(self._python), str(WORKER), self._name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                env={**os.environ, **_QUIET, "MEM0_DIR": str(self._folder)},
            )
        )
        assert process.stdout is not None  # noqa: S101 - it was asked for
        self._replies, self._rest = TextReceiveStream(process.stdout), ""
        return process

    async def _exchange(self, process: Process, request: Mapping[str, Any]) -> dict[str, Any]:
        await _stdin(process).send(json.dumps(request).encode() + b"\n")
        while "\n" not in self._rest:
            self._rest += await self._replies.receive()
        line, _, self._rest = self._rest.partition("\n")
        reply: dict[str, Any] = json.loads(line)
        if not reply["ok"]:
            usage = spent(reply)
            raise EndpointError(
                f"{self._name!r} failed: {reply['error']}; see {str(self.log)!r}",
                usage=replace(usage, failed_calls=usage.calls),
            )
        return reply


def spent(reply: Mapping[str, Any], price: Callable[[int, int], float] | None = None) -> Usage:
    """Return what an answer cost.

    Args:
        price: US dollars of so many tokens in and out; None where the price is not known.
    """
    calls, tokens_in, tokens_out = (int(reply[name]) for name in ("calls", "tokens_in", "tokens_out"))
    cost = 0.0 if not calls else None if price is None else price(tokens_in, tokens_out)
    return Usage(calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, cost=cost)


def _stdin(process: Process) -> ByteSendStream:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    return process.stdin
