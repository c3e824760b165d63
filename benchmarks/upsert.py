"""What laying new facts beside stored ones costs, with a model that answers at once.

Run as: python benchmarks/upsert.py [--stored N] [--sessions S] [--facts F] [--dims D]

Prints facts a second and, per session, where our own time goes: search for neighbours, the guard of cues, judging and
checking, and the store's transaction. Vectors are random around a few themes, so that most facts have neighbours; no
encoder runs. Times are medians over the sessions, on one BLAS thread.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded; more threads are slower at these sizes

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import anyio
import numpy as np

from prospection.config import RememberSettings
from prospection.protocols import ChatReply, ChatRequest, Progress, TextRole
from prospection.remember.cues import with_telling_cues
from prospection.remember.upsert import Upsert, additions
from prospection.store.sqlite import SQLiteStore
from prospection.types import Add, Calibration, Candidate, Cue, FactType, Message, Session, Source, Usage, Vectors

AT = datetime(2025, 3, 1, tzinfo=UTC)
THEMES = 200
ACTIONS = ("add", "add", "reinforce", "revise")


class Themes:
    """Vectors near one of a number of themes, by the text's first word."""

    id = "themes"
    calibration = Calibration(noise_mean=0.0, noise_sd=0.1, tau=0.15, tau_o=0.6)

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._themes = np.random.default_rng(1).normal(size=(THEMES, dims)).astype(np.float32)

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        """See `Embedder.embed`."""
        rows = np.empty((len(texts), self.dims), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            theme = crc32(text.partition(" ")[0].encode()) % THEMES
            row[:] = self._themes[theme] + np.random.default_rng(crc32(text.encode())).normal(size=self.dims)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


class AtOnce:
    """A model without latency that adds, reinforces and revises in turn."""

    name = "at-once"

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        """See `ChatModel.complete`."""
        new = request.user.partition("<new>")[2].count("(near stored")
        proposals = [
            {"new": n, "action": ACTIONS[n % 4], "stored": n, "statement": f"theme{n} was revised"}
            for n in range(1, new + 1)
        ]
        value = request.reply.model_validate({"proposals": proposals})
        return ChatReply(value=value, usage=Usage(calls=1), model=self.name)


def told(number: int, session: str) -> Candidate:
    """Return a fact with three cues."""
    theme = f"theme{number % THEMES}"
    return Candidate(
        info=f"{theme} statement number {number} about someone in Zurich",
        type=FactType.EVENT,
        related_entities=("Zurich",),
        provenance=(Source(session=session, message=0),),
        cues=tuple(Cue(text=f"case{number % 997} of kind {n} and {number}") for n in range(3)),
    )


async def store_session(store: SQLiteStore, name: str, day: int) -> datetime:
    """Put and claim a session; return its time."""
    at = AT + timedelta(days=day)
    await store.put_session("ada", Session(id=name, at=at, messages=(Message(role="user", content="hello"),)))
    await store.claim_session("ada", name, now=at, lease=600)
    return at


async def measure(folder: Path, stored: int, sessions: int, facts: int, dims: int) -> None:
    """Fill a store, then remember sessions and print the medians."""
    embedder = Themes(dims)
    async with await SQLiteStore.open(folder / "memory.db", encoder=(embedder.id, dims)) as store:
        at = await store_session(store, "first", 0)
        held = await additions([told(n, "first") for n in range(stored)], embedder)
        await store.finish_session("ada", "first", held, extracted=1, now=at)
        upsert = Upsert(store=store, embedder=embedder, model=AtOnce(), settings=RememberSettings())
        times: dict[str, list[float]] = {"cues": [], "judging": [], "storing": []}
        for day in range(1, sessions + 2):
            name = f"s{day}"
            at = await store_session(store, name, day)
            new: list[Add] = await additions([told(stored + day * facts + n, name) for n in range(facts)], embedder)
            marks = [time.perf_counter()]
            new = await with_telling_cues("ada", new, store, embedder, crowd=12)
            marks.append(time.perf_counter())
            operations = await upsert.propose("ada", new, subject=name, at=at)
            marks.append(time.perf_counter())
            await store.finish_session("ada", name, operations, extracted=1, now=at)
            marks.append(time.perf_counter())
            if day > 1:  # the first one loads the index
                for step, (begin, end) in zip(times, pairwise(marks), strict=True):
                    times[step].append(end - begin)
    medians = {step: statistics.median(seconds) for step, seconds in times.items()}
    total = sum(medians.values())
    print(f"{stored} facts stored, {facts} new ones a session, {dims} dimensions")
    for step, seconds in medians.items():
        print(f"  {step:8} {seconds * 1000:7.1f} ms a session")
    print(f"  {'all':8} {total * 1000:7.1f} ms a session, {facts / total:.0f} facts/s beside the model's own time")


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stored", type=int, nargs="*", default=[300, 10_000])
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--facts", type=int, default=10)
    parser.add_argument("--dims", type=int, default=384)
    arguments = parser.parse_args()
    for stored in arguments.stored:
        with tempfile.TemporaryDirectory() as folder:
            anyio.run(measure, Path(folder), stored, arguments.sessions, arguments.facts, arguments.dims)


if __name__ == "__main__":
    main()
