"""A process of its own that stores sessions with one fact each and prints the id of each when it is acknowledged.

Run as: python writer.py PATH USER PREFIX COUNT
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import anyio
import numpy as np

from prospection.store.sqlite import SQLiteStore
from prospection.types import Add, Candidate, FactType, Message, Session

AT = datetime(2025, 3, 1, tzinfo=UTC)


async def main(path: str, user: str, prefix: str, count: int) -> None:
    async with await SQLiteStore.open(path, encoder=("contract", 8)) as store:
        for n in range(count):
            name = f"{prefix}{n}"
            message = Message(role="user", content=f"message {name} " + "x" * 2000)
            await store.put_session(user, Session(id=name, at=AT, messages=(message,)))
            sys.stdout.write(f"{name}\n")
            sys.stdout.flush()
            await store.claim_session(user, name, now=AT, lease=600)
            candidate = Candidate(info=f"fact {name}", type=FactType.EVENT)
            vector = np.eye(8, dtype=np.float32)[n % 8]
            operation = Add(candidate=candidate, vector=vector, cue_vectors=np.empty((0, 8), dtype=np.float32))
            await store.finish_session(user, name, [operation], extracted=1, now=AT)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
