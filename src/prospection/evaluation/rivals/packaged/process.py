"""A rival's package in a process of its own: questions out, answers back, one at a time, as lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from anyio.streams.text import TextReceiveStream

from prospection.errors import EndpointError
from prospection.types import Usage

__all__ = ["RivalProcess"]

WORKER = Path(__file__).with_name("worker.py")

_QUIET = {
    "MEM0_TELEMETRY": "False",
    "ORT_DISABLE_TELEMETRY": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "PYTHONUNBUFFERED": "1",
}
"""No telemetry, and no list of prices from the network."""


class RivalProcess:
    """A running worker; an async context manager that ends it."""

    def __init__(self, name: str, python: Path, *, folder: Path) -> None:
        """Describe it; nothing is started yet.

        Args:
            name: Of the package.
            python: Of its environment.
            folder: For its files and its log.
        """
        self._name, self._python, self._folder = name, python, folder
        self._lock = anyio.Lock()
        self._rest = ""

    @property
    def log(self) -> Path:
        """Where everything goes that the package says."""
        return self._folder / "log.txt"

    async def __aenter__(self) -> Self:
        """Start the worker."""
        async with AsyncExitStack() as stack:
            await anyio.Path(self._folder).mkdir(parents=True, exist_ok=True)
            log = stack.enter_context(self.log.open("ab"))
            self._process = await stack.enter_async_context(
                await anyio.open_process(
                    [str(self._python), str(WORKER), self._name],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=self._folder,
                    env={**os.environ, **_QUIET, "MEM0_DIR": str(self._folder)},
                )
            )
            assert self._process.stdout is not None  # noqa: S101 - it was asked for
            self._replies = TextReceiveStream(self._process.stdout)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        """End the worker: it stops when it is not asked any more, and is killed when it does not."""
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        await self._process.stdin.aclose()
        with anyio.move_on_after(5):
            await self._process.wait()
        if self._process.returncode is None:
            self._process.kill()
        await self._stack.aclose()

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Raises:
            EndpointError: The package failed, or the worker died; `usage` holds the calls it made.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        async with self._lock:
            try:
                await self._process.stdin.send(json.dumps(request).encode() + b"\n")
                reply: dict[str, Any] = json.loads(await self._line())
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
                raise EndpointError(f"{self._name!r} ended without an answer; see {str(self.log)!r}") from error
        if not reply["ok"]:
            calls = int(reply["calls"])
            raise EndpointError(
                f"{self._name!r} failed: {reply['error']}; see {str(self.log)!r}",
                usage=Usage(calls=calls, failed_calls=calls, cost=None),
            )
        return reply

    async def _line(self) -> str:
        while "\n" not in self._rest:
            self._rest += await self._replies.receive()
        line, _, self._rest = self._rest.partition("\n")
        return line
