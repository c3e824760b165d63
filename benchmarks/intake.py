"""What remembering costs beside the model: storing sessions, and our own code around a model that answers at once.

Run as: python benchmarks/intake.py [--sessions N] [--messages M] [--facts F] [--users U] [--concurrency C]

Sessions come from U users in turn. The model is a script without latency that gives F facts with three cues each for a
session, and revises none; vectors are random. So every second that is measured is ours: reading, checking, embedding
calls, searching neighbours, writing. Times are on one BLAS thread; seconds of the processor stand beside the clock's.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded; more threads are slower at these sizes

import argparse
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import anyio
import numpy as np
from pydantic import BaseModel

from prospection.config import RememberSettings
from prospection.protocols import ChatReply, ChatRequest, Progress, TextRole
from prospection.remember.remember import Remembering
from prospection.remember.worker import Worker
from prospection.store.sqlite import SQLiteStore
from prospection.types import Calibration, Message, Session, Usage, Vectors

AT = datetime(2025, 3, 1, tzinfo=UTC)
WORDS = [f"word{n}" for n in range(20_000)]


class Random:
    """Vectors in random directions, 384 wide, as those of the default encoder."""

    id = "random"
    dims = 384
    calibration = Calibration(noise_mean=0.15, noise_sd=0.1, tau=0.3, tau_o=0.6)

    def __init__(self) -> None:
        self._randomness = np.random.default_rng(1)

    async def embed(  # noqa: D102 - the protocol says it
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        rows: Vectors = self._randomness.normal(size=(len(texts), self.dims)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


class Scripted:
    """Answers at once: so many facts for each session, and nothing to anything else."""

    name = "scripted"

    def __init__(self, facts: int) -> None:
        self._facts, self._randomness, self.seconds = facts, np.random.default_rng(2), 0.0

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:  # noqa: D102 - the protocol says it
        began = time.perf_counter()
        reply: dict[str, object] = {"proposals": []}
        if request.stage == "extract":
            lines = [[WORDS[n] for n in self._randomness.integers(0, len(WORDS), 16)] for _ in range(self._facts)]
            reply = {
                "facts": [
                    {
                        "info": " ".join(line),
                        "type": "Event",
                        "message": 0,
                        "cues": [" ".join(line[n::4]) for n in (1, 2, 3)],
                    }
                    for line in lines
                ]
            }
        value = cast("type[BaseModel]", request.reply).model_validate(reply)
        self.seconds += time.perf_counter() - began
        return ChatReply(value=value, usage=Usage(calls=1, tokens_in=1000, tokens_out=200), model=self.name)


def sessions(count: int, messages: int) -> list[Session]:
    """Return sessions of user and assistant in turn, thirty words a message."""
    randomness = np.random.default_rng(3)
    return [
        Session(
            id=f"s{n}",
            at=AT + timedelta(hours=n),
            messages=tuple(
                Message(
                    role="assistant" if place % 2 else "user",
                    content=" ".join(WORDS[word] for word in randomness.integers(0, len(WORDS), 30)),
                )
                for place in range(messages)
            ),
        )
        for n in range(count)
    ]


def line(what: str, count: int, unit: str, seconds: float, cpu: float) -> None:
    """Print one row."""
    each, busy = 1e3 * seconds / count, 1e3 * cpu / count
    print(f"{what:<32} {count / seconds:>7,.0f} {unit}/s {each:>8.2f} ms {busy:>8.2f} ms of the processor")


async def measure(arguments: argparse.Namespace, path: Path) -> None:
    """Print the table."""
    embedder, model = Random(), Scripted(arguments.facts)
    settings = RememberSettings(concurrency=arguments.concurrency)
    users = [f"user{n}" for n in range(arguments.users)]
    given = sessions(arguments.sessions, arguments.messages)
    async with await SQLiteStore.open(path, encoder=(embedder.id, embedder.dims)) as store:
        path_in = Remembering(store, embedder, model, settings)
        began, cpu = time.perf_counter(), time.process_time()
        for n, session in enumerate(given):
            await path_in.add(users[n % len(users)], session, now=AT, wait=False)
        line("intake: add(wait=False)", len(given), "sessions", time.perf_counter() - began, time.process_time() - cpu)
        worker = Worker(store, embedder, model, settings, clock=lambda: datetime.now(UTC))
        model.seconds = 0.0
        began, cpu = time.perf_counter(), time.process_time()
        work = await worker.run(once=True)
        seconds, cpu = time.perf_counter() - began - model.seconds, time.process_time() - cpu - model.seconds
        assert (work.sessions, work.facts) == (len(given), len(given) * arguments.facts), work
        line("worker: our time for a session", work.sessions, "sessions", seconds, cpu)
        line("worker: our time for a fact", work.facts, "facts", seconds, cpu)
        print(f"{work.usage.calls} calls of the model")


async def main() -> None:
    """Read the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--facts", type=int, default=8, help="facts of a session")
    parser.add_argument("--users", type=int, default=10)
    parser.add_argument("--concurrency", type=int, default=4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        await measure(arguments, Path(folder) / "memory.db")


if __name__ == "__main__":
    anyio.run(main)
