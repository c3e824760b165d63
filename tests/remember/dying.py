"""Work that is killed (SIGKILL) a number of times at random points, and then does the rest in peace.

Run as: python dying.py worker|reembed PATH LIVES. Prints "killed" for each life, and at last "done".
Lives are forks of this process, which has everything imported: an interpreter for each would take most of the time.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: forks must not inherit threads

import random
import signal
import sys
import time
from datetime import UTC, datetime

import anyio

from prospection.config import RememberSettings
from prospection.remember.reembed import reembed
from prospection.remember.worker import Worker
from prospection.store.sqlite import SQLiteStore
from remembered import WordEmbedder
from working import LetterEmbedder, Parrot, session

SETTINGS = RememberSettings(lease=0.1, poll=0.01, max_attempts=10_000, concurrency=2, upsert="rules", cue_crowd=0)


async def work(path: str, *, once: bool = True) -> None:
    encoder = (WordEmbedder.id, WordEmbedder.dims)
    async with await SQLiteStore.open(path, encoder=encoder) as store:
        if path == ":memory:":
            await store.put_session("ada", session("s", "I sing."))
        worker = Worker(store, WordEmbedder(), Parrot(), SETTINGS, clock=lambda: datetime.now(UTC))
        await worker.run(once=once)


async def make_anew(path: str, *, once: bool = True) -> None:
    async with await SQLiteStore.open(path, encoder=None) as store:
        await reembed(store, LetterEmbedder())
    if not once:
        await anyio.sleep_forever()


JOBS = {"worker": work, "reembed": make_anew}


def live_and_die(job: str, path: str, seconds: float) -> None:
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(tell, b"!")
        anyio.run(lambda: JOBS[job](path, once=False))
        os._exit(1)
    os.read(ready, 1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.stdout.write("killed\n")


def main(job: str, path: str, lives: int) -> None:
    anyio.run(lambda: JOBS[job](":memory:"))  # what is loaded when first used is loaded now
    randomness = random.Random(11)
    for _ in range(lives):
        live_and_die(job, path, randomness.uniform(0.0, 0.25))
    time.sleep(SETTINGS.lease)  # what died last is due then
    anyio.run(lambda: JOBS[job](path))
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
