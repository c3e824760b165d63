"""What recalls side by side gain from sharing batches of the encoder.

Run as: python benchmarks/recall_concurrency.py [--texts N] [--rounds N]

Each of 1 ... 32 callers embeds `texts` new texts, as a recall does with its probes, all at the same time. Measured with
and without sharing: texts a second, the median wait of a caller, and how many batches the encoder was asked for; with
the local encoder, and with an encoder behind HTTP that answers each request after 50 ms and takes 4 at a time.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded; more threads are slower at these sizes

import argparse
import statistics
import time
from collections.abc import Sequence

import anyio
import numpy as np

from prospection.library.goals import load_goals
from prospection.models.batching import BatchingEmbedder
from prospection.models.local import LocalEncoder
from prospection.protocols import Embedder, Progress, TextRole
from prospection.types import Calibration, Vectors

CALLERS = (1, 2, 4, 8, 16, 32)


class Counted:
    """An encoder that counts its batches."""

    def __init__(self, inner: Embedder) -> None:
        self.id, self.dims, self.calibration = inner.id, inner.dims, inner.calibration
        self.batches = 0
        self._inner = inner

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        """See `Embedder.embed`."""
        self.batches += 1
        return await self._inner.embed(texts, role=role, progress=progress)


class Distant:
    """Stands for an encoder behind HTTP: 50 ms a request, whatever its size, four at a time."""

    id = "distant"
    dims = 8
    calibration = Calibration(noise_mean=0.0, noise_sd=0.1, tau=0.3, tau_o=0.6)

    def __init__(self) -> None:
        self._connections = anyio.CapacityLimiter(4)

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        """See `Embedder.embed`."""
        async with self._connections:
            await anyio.sleep(0.05)
        return np.eye(1, self.dims, dtype=np.float32).repeat(len(texts), axis=0)


async def measure(
    embedder: Embedder, callers: int, texts: int, rounds: int, pool: Sequence[str]
) -> tuple[float, float]:
    """Return texts a second and the median seconds that a caller waited."""
    waits: list[float] = []

    async def call(own: Sequence[str]) -> None:
        began = time.perf_counter()
        await embedder.embed(own, role="query")
        waits.append(time.perf_counter() - began)

    began = time.perf_counter()
    for number in range(rounds):
        async with anyio.create_task_group() as tasks:
            for caller in range(callers):
                start = (number * callers + caller) * texts % (len(pool) - texts)
                tasks.start_soon(call, pool[start : start + texts])
    return callers * texts * rounds / (time.perf_counter() - began), statistics.median(waits)


async def main(texts: int, rounds: int) -> None:
    """Measure every number of callers, alone and sharing, and print."""
    pool = [need for goal in load_goals() for need in goal.needs]
    local = LocalEncoder()
    await local.embed(["warm"])
    print(f"{texts} texts a caller\n")
    print(f"{'encoder':<10}{'callers':>8}{'texts/s':>18}{'wait, ms':>20}{'batches':>16}")
    print(f"{'':<18}{'alone':>9}{'shared':>9}{'alone':>10}{'shared':>10}{'alone':>8}{'shared':>8}")
    for name, encoder in (("local", local), ("distant", Distant())):
        for callers in CALLERS:
            alone, shared = Counted(encoder), Counted(encoder)
            speed, wait = await measure(alone, callers, texts, rounds, pool)
            speed_shared, wait_shared = await measure(BatchingEmbedder(shared), callers, texts, rounds, pool)
            print(
                f"{name:<10}{callers:>8}{speed:>9.0f}{speed_shared:>9.0f}{1000 * wait:>10.0f}"
                f"{1000 * wait_shared:>10.0f}{alone.batches:>8}{shared.batches:>8}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    anyio.run(main, arguments.texts, arguments.rounds)
