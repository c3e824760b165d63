"""What the SQLite store costs.

Run as: python benchmarks/store.py [--facts N] [--dims D]

Times are the median of several runs, on one BLAS thread. A batch is 20 probes over facts with k = 5.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded; more threads are slower at these sizes

import argparse
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import numpy as np

from prospection.store.sqlite import SQLiteStore
from prospection.types import Add, Candidate, FactType, Over, SearchFilter, SearchProbe, Session, Vectors

AT = datetime(2025, 3, 1, tzinfo=UTC)
KINDS = tuple(FactType)
VOCABULARY = [f"word{n}" for n in range(20_000)]
BATCH = 5_000


def unit_rows(randomness: np.random.Generator, n: int, dims: int) -> Vectors:
    """Return (n, d) float32 unit rows in random directions."""
    rows: Vectors = randomness.normal(size=(n, dims)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def statement(randomness: np.random.Generator) -> str:
    """Return twelve words, a few of them very frequent and many rare, roughly as in language."""
    places = np.minimum(randomness.zipf(1.3, size=12), len(VOCABULARY)) - 1
    return " ".join(VOCABULARY[place] for place in places)


async def fill(store: SQLiteStore, users: Sequence[str], each: int, dims: int) -> float:
    """Return the seconds that storing took, making the data not counted."""
    randomness, seconds = np.random.default_rng(1), 0.0
    nothing = np.empty((0, dims), dtype=np.float32)
    for user in users:
        for start in range(0, each, BATCH):
            rows = unit_rows(randomness, min(BATCH, each - start), dims)
            operations = [
                Add(
                    candidate=Candidate(info=f"{statement(randomness)} {start + n}", type=KINDS[n % len(KINDS)]),
                    vector=row,
                    cue_vectors=nothing,
                )
                for n, row in enumerate(rows)
            ]
            began = time.perf_counter()
            await store.put_session(user, Session(id=f"s{start}", at=AT, messages=()))
            await store.finish_session(user, f"s{start}", operations, extracted=0, now=AT)
            seconds += time.perf_counter() - began
    return seconds


async def median_ms(work: Callable[[int], Awaitable[object]], runs: int) -> float:
    """Return the median of the milliseconds that `work(0)`, `work(1)`, ... take."""
    times = []
    for run in range(runs):
        began = time.perf_counter()
        await work(run)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


async def measure(users: int, each: int, dims: int, folder: Path) -> None:
    """Fill a store and print its row of the table."""
    path = folder / f"{users}x{each}.db"
    names = [f"user{n}" for n in range(users)]
    encoder = ("benchmark", dims)
    async with await SQLiteStore.open(path, encoder=encoder) as store:
        seconds = await fill(store, names, each, dims)
    randomness = np.random.default_rng(2)
    vectors = unit_rows(randomness, 20, dims)

    def batch(over: Over) -> list[SearchProbe]:
        return [SearchProbe(over=over, text=statement(randomness), vector=vector) for vector in vectors]

    dense, lexical = batch("facts"), batch("text")
    chosen = SearchFilter(types=frozenset({FactType.GOAL, FactType.EVENT}), said_from=AT)
    async with await SQLiteStore.open(path, encoder=encoder, cache_users=users) as store:
        cold = await median_ms(lambda run: store.search(names[run], dense, k=5), users)
        warm = await median_ms(lambda run: store.search(names[run % users], dense, k=5), 15)
        bounded = await median_ms(lambda run: store.search(names[run % users], dense, k=5, min_similarity=0.1), 15)
        filtered = await median_ms(lambda run: store.search(names[run % users], dense, k=5, where=chosen), 15)
        words = await median_ms(lambda run: store.search(names[run % users], lexical, k=5), 5)
    total = users * each
    print(
        f"{users:>5} x {each:<8,} {total / seconds:>10,.0f} {path.stat().st_size / total:>10,.0f} {cold:>10.1f}"
        f" {warm:>10.2f} {bounded:>10.2f} {filtered:>10.2f} {words:>10.2f}"
    )


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--facts", type=int, default=100_000, help="facts of the large user, and of all small ones")
    parser.add_argument("--dims", type=int, default=384, help="width of the vectors")
    arguments = parser.parse_args()
    print(f"dims {arguments.dims}; milliseconds for a batch of 20 probes, k = 5")
    heads = ("facts/s in", "bytes/fact", "cold", "warm", "threshold", "filter", "text")
    print(f"{'users x facts':<16} " + " ".join(f"{head:>10}" for head in heads))
    with tempfile.TemporaryDirectory() as folder:
        for users, each in ((1, 2_000), (1, arguments.facts), (100, max(arguments.facts // 100, 1))):
            await measure(users, each, arguments.dims, Path(folder))


if __name__ == "__main__":
    anyio.run(main)
