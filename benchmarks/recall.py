"""How long a recall without a model takes, from request to context, the encoder warm.

Run as: python benchmarks/recall.py [--facts N] [--runs N]

Facts are the imagined facts of the packaged goals, requests the goals themselves; each request is new to the caches.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded; more threads are slower at these sizes

import argparse
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import anyio

from prospection import AsyncMemory, Settings
from prospection.library.goals import load_goals
from prospection.models.local import LocalEncoder
from prospection.store.sqlite import SQLiteStore
from prospection.types import Add, Candidate, FactType, Session

AT = datetime(2025, 3, 1, tzinfo=UTC)
TARGETS = {"library": 150.0}


async def fill(path: Path, encoder: LocalEncoder, infos: list[str]) -> None:
    """Store the facts of one user."""
    vectors = await encoder.embed(infos)
    operations = [
        Add(candidate=Candidate(info=info, type=FactType.IDENTITY), vector=vector, cue_vectors=vectors[:0])
        for info, vector in zip(infos, vectors, strict=True)
    ]
    async with await SQLiteStore.open(path, encoder=(encoder.id, encoder.dims)) as store:
        await store.put_session("ada", Session(id="s", at=AT, messages=()))
        await store.finish_session("ada", "s", operations, extracted=0, now=AT)


async def measure(memory: AsyncMemory, policy: str, requests: list[str]) -> tuple[float, float]:
    """Return the median and the slowest in milliseconds, the first request not counted."""
    times = []
    for request in requests:
        began = time.perf_counter()
        await memory.recall(request, user="ada", policy=policy)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:]) * 1e3, max(times[1:]) * 1e3


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Times of a recall without a model.")
    parser.add_argument("--facts", type=int, default=300)
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    goals = load_goals()
    needs = [need for goal in goals[::-1] for need in goal.needs]
    encoder = LocalEncoder()
    print(f"{arguments.facts} facts of one user; milliseconds for a recall")
    print(f"{'policy':<10} {'median':>8} {'slowest':>8} {'target':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        await fill(path, encoder, list(dict.fromkeys(needs))[: arguments.facts])
        async with AsyncMemory(path, encoder=encoder, settings=Settings()) as memory:
            for number, policy in enumerate(("direct", "hybrid", "library")):
                start = number * (arguments.runs + 1)
                requests = [goal.goal for goal in goals[start : start + arguments.runs + 1]]
                median, slowest = await measure(memory, policy, requests)
                target = f"< {TARGETS[policy]:.0f}" if policy in TARGETS else ""
                print(f"{policy:<10} {median:>8.1f} {slowest:>8.1f} {target:>8}")


if __name__ == "__main__":
    anyio.run(main)
