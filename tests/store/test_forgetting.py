"""After `forget` the bytes are gone: of every text and vector, from every file, also while others have it open."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from contracts.store_contract import DAY, ENCODER, over, trace
from prospection.store.sqlite import SQLiteStore
from prospection.types import (
    Add,
    Candidate,
    Cue,
    Erased,
    FactType,
    Message,
    Recue,
    Revise,
    Session,
    Source,
    Usage,
    Vectors,
)

pytestmark = pytest.mark.anyio

NEW = ("new", 16)
KINDS = ("name", "speech", "speaker", "info", "entity", "quote", "cue", "recue", "trace", "raw", "reason", "session")
READER = """
import sys, anyio, numpy as np
from prospection.store.sqlite import SQLiteStore
from prospection.types import SearchProbe

async def main():
    async with await SQLiteStore.open(sys.argv[1], encoder=("contract", 8)) as store:
        row = np.eye(8, dtype=np.float32)[0]
        probes = [SearchProbe(over=over, text="speech", vector=row) for over in ("facts", "text")]
        for user in await store.users():
            await store.search(user, probes, k=9)
        print("open", flush=True)
        sys.stdin.read()

anyio.run(main)
"""


def mark(kind: str, owner: str, n: int) -> str:
    return f"{kind}Q{owner}Q{n}Q"


def vector(owner: str, n: int, dims: int) -> Vectors:
    """A direction of its own for each, so that its bytes can be looked for."""
    rows = np.random.default_rng([ord(owner[0]), n, dims]).normal(size=(3, dims)).astype(np.float32)
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


async def live(store: SQLiteStore, owner: str, n: int) -> None:
    """A session that holds markers of all kinds and leaves facts, a version, cues, and a trace."""
    user, name = mark("name", owner, 0), mark("session", owner, n)
    messages = (
        Message(role="user", content=mark("speech", owner, n), name=mark("speaker", owner, n)),
        Message(role="user", content=f"I said {mark('quote', owner, n)} too"),
    )
    at = DAY + timedelta(days=n)
    await store.put_session(user, Session(id=name, at=at, messages=messages))
    await store.claim_session(user, name, now=at, lease=60)
    rows = vector(owner, n, 8)
    candidate = Candidate(
        info=f"An {mark('info', owner, n)} that was said.",
        type=FactType.EVENT,
        related_entities=(mark("entity", owner, n),),
        provenance=(Source(session=name, message=1, quote=mark("quote", owner, n)),),
        cues=(Cue(text=mark("cue", owner, n)),),
    )
    (fact,) = await store.finish_session(
        user, name, [Add(candidate=candidate, vector=rows[0], cue_vectors=rows[1:2])], extracted=2, now=at
    )
    recue = Recue(fid=fact.fid, cues=(Cue(text=mark("recue", owner, n)),), cue_vectors=rows[2:])
    await store.edit_facts(user, [recue], at=at)
    await store.put_trace(user, trace(mark("trace", owner, n), facts={fact.fid: fact.info}))
    failing = mark("session", owner, n) + "failing"
    await store.put_session(user, Session(id=failing, at=at, messages=messages))
    await store.fail_session(user, failing, reason=mark("reason", owner, n), raw=mark("raw", owner, n))
    await store.add_usage(user, Usage(calls=1, cost=0.5), day=at.date())


async def reembed(store: SQLiteStore) -> None:
    """Leave vectors of a second encoder beside those of the first."""
    await store.prepare_encoder(NEW)
    texts = await store.unembedded(NEW)
    rows = np.stack([vector("new" + text.text, len(text.text), NEW[1])[0] for text in texts])
    await store.put_vectors(NEW, texts, rows)


@contextmanager
def open_elsewhere(path: Path) -> Iterator[None]:
    command = [sys.executable, "-c", READER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
        process.communicate("")
        assert process.returncode == 0


def raw(path: Path) -> bytes:
    """Database, log and index of the log, whatever else lies beside them too."""
    files = sorted(path.parent.iterdir())
    assert {file.name for file in files} <= {path.name, f"{path.name}-wal", f"{path.name}-shm"}
    return b"".join(file.read_bytes() for file in files)


def left(path: Path, owner: str, n: int) -> set[str]:
    """Which kinds of marks of a session are still in the files."""
    data = raw(path)
    numbers = (0,) if n == 0 else (n,)
    texts = {kind for kind in KINDS for number in numbers if mark(kind, owner, number).encode() in data}
    # The index of words holds terms in small letters.
    terms = {f"{kind} (term)" for kind in KINDS if mark(kind, owner, n).lower().encode() in data}
    rows = [row.astype("<f2").tobytes() for row in vector(owner, n, 8)[[0, 2]]]
    return texts | terms | {"vector" for row in rows if row in data}


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_the_bytes_of_a_user_are_gone(tmp_path: Path, elsewhere: bool) -> None:
    path = tmp_path / "memory.db"
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        for owner in ("ada", "bob"):
            for n in range(4):
                await live(store, owner, n)
        await reembed(store)
        everything = {*KINDS, "info (term)", "vector"}
        assert left(path, "ada", 0) >= everything - {"cue"}  # the cue was replaced, and its bytes may be gone
        if elsewhere:
            with open_elsewhere(path):
                erased = await store.forget(mark("name", "ada", 0))
                assert [left(path, "ada", n) for n in range(4)] == [set()] * 4
        else:
            erased = await store.forget(mark("name", "ada", 0))
        assert erased == Erased(sessions=8, messages=16, facts=4, cues=4, vectors=16, traces=4)
        assert [left(path, "ada", n) for n in range(4)] == [set()] * 4
        assert left(path, "bob", 0) >= everything - {"cue"}
        assert (await store.usage(since=DAY.date())).calls == 8  # sums without a name
    assert [left(path, "ada", n) for n in range(4)] == [set()] * 4


async def test_the_bytes_of_a_session_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        for n in range(1, 4):
            await live(store, "ada", n)
        await reembed(store)
        user = mark("name", "ada", 0)
        erased = await store.forget(user, session=mark("session", "ada", 2))
        assert erased == Erased(sessions=1, messages=2, facts=1, cues=1, vectors=4, traces=1)
        assert left(path, "ada", 2) == {"speech", "speaker", "quote", "session", "raw", "reason"}  # the failing one
        await store.forget(user, session=mark("session", "ada", 2) + "failing")
        assert left(path, "ada", 2) == set()
        assert {"info", "recue", "vector"} <= left(path, "ada", 1)


async def test_the_bytes_of_a_fact_and_its_versions_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        await live(store, "ada", 1)
        user = mark("name", "ada", 0)
        rows = vector("ada", 7, 8)
        revision = Revise(
            fids=("f1",),
            candidate=Candidate(info=mark("info", "ada", 7), type=FactType.EVENT),
            vector=rows[0],
            cue_vectors=np.empty((0, 8), dtype=np.float32),
        )
        await store.edit_facts(user, [revision], at=DAY)
        await store.forget(user, session=mark("session", "ada", 1) + "failing")
        assert {"info", "vector"} <= left(path, "ada", 7)
        erased = await store.forget(user, fid="f2")
        assert (erased.facts, erased.messages, erased.traces) == (2, 1, 1)
        assert left(path, "ada", 7) == set()
        # What the message said besides stays, and so does the session.
        assert left(path, "ada", 1) == {"speech", "speaker", "session"}
        assert await store.search(user, [over("text", text=mark("info", "ada", 7))], k=5) == [[]]
