"""Several processes on one file, and processes that are killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from contracts.store_contract import DAY, ENCODER, add, axis, ids, over, remember, said
from prospection.errors import EncoderMismatchError, StoreError
from prospection.store.sqlite import SQLiteStore
from prospection.types import Session, SessionState

WRITER = Path(__file__).with_name("writer.py")


def writer(path: Path, user: str, prefix: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(path), user, prefix, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def live_and_die(path: Path, prefix: str, seconds: float) -> list[str]:
    """Let a writer work for a while after its first acknowledgement, kill it, return all it had acknowledged."""
    process = writer(path, "ada", prefix, 10_000)
    assert process.stdout is not None
    first = process.stdout.readline().strip()
    time.sleep(seconds)
    process.kill()
    return [first, *process.communicate(timeout=60)[0].split()]


@contextmanager
def held_by_another_process(path: Path) -> Iterator[None]:
    hold = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE');"
        "print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.communicate("")


@pytest.mark.anyio
async def test_two_processes_open_a_new_file_and_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    both = [writer(path, "ada", prefix, 25) for prefix in ("a", "b")]
    for process in both:
        process.communicate(timeout=60)
        assert process.returncode == 0
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        facts = await store.facts("ada", limit=1000)
        assert [fact.fid for fact in facts] == [f"f{n}" for n in range(1, 51)]
        assert {fact.info for fact in facts} == {f"fact {prefix}{n}" for prefix in "ab" for n in range(25)}
        counts = await store.statistics()
        assert (counts["sessions_done"], counts["vectors"]) == (50, 50)


@pytest.mark.anyio
async def test_a_killed_process_loses_no_acknowledged_session(tmp_path: Path) -> None:
    path, acknowledged, randomness = tmp_path / "memory.db", set[str](), random.Random(7)
    for life in range(4):
        acknowledged |= set(live_and_die(path, f"{life}-", randomness.uniform(0.0, 0.15)))
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        records = await store.sessions("ada", limit=100_000)
        assert acknowledged <= {record.session.id for record in records}
        facts = {fact.info for fact in await store.facts("ada", limit=100_000)}
        done = [record.session.id for record in records if record.state is SessionState.DONE]
        assert facts == {f"fact {name}" for name in done}  # an outcome is there whole or not at all
        assert (await store.statistics())["vectors"] == len(facts)
        found = await ids(store, "ada", over("text", text="fact"), k=100_000)
        assert len(found) == len(facts)


@pytest.mark.anyio
async def test_writes_of_others_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with (
        await SQLiteStore.open(path, encoder=ENCODER) as one,
        await SQLiteStore.open(path, encoder=ENCODER) as other,
    ):
        await remember(one, "ada", "s1", add("The sea.", axis(0)))
        assert await ids(other, "ada", over("facts", axis(0))) == ["f1"]
        await remember(one, "ada", "s2", add("The mountains.", axis(1)))
        assert await ids(other, "ada", over("facts", axis(1)), k=1) == ["f2"]
        await one.forget("ada", fid="f1")
        assert await ids(other, "ada", over("facts", axis(0))) == ["f2"]
        await one.forget("ada")
        assert await ids(other, "ada", over("facts", axis(0))) == []
        # A new user of the old name is somebody else, however many writes there were.
        for n in range(4):
            await remember(one, "ada", f"s{n}", add(f"Another life {n}.", axis(2)))
        (hits,) = await other.search("ada", [over("facts", axis(2))], k=1)
        assert hits[0].fact.info == "Another life 0."


@pytest.mark.anyio
async def test_a_writer_that_waits_too_long_says_so_and_readers_do_not_wait(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with await SQLiteStore.open(path, encoder=ENCODER, busy_timeout=0.1) as store:
        await remember(store, "ada", "s", add("The sea.", axis(0)))
        with held_by_another_process(path):
            with pytest.raises(StoreError, match=r"busy for 0\.1 seconds"):
                await store.put_session("ada", Session(id="t", at=DAY, messages=said("hello")))
            assert await ids(store, "ada", over("facts", axis(0))) == ["f1"]
        await store.put_session("ada", Session(id="t", at=DAY, messages=said("hello")))


@pytest.mark.anyio
async def test_the_first_vector_decides_between_two_encoders(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with (
        await SQLiteStore.open(path, encoder=ENCODER) as one,
        await SQLiteStore.open(path, encoder=("other", 8)) as other,
    ):
        await remember(one, "ada", "s1", add("The sea."))
        with pytest.raises(EncoderMismatchError, match="'contract'"):
            await remember(other, "ada", "s2", add("The sea, seen by another."))
        with pytest.raises(EncoderMismatchError, match="'contract'"):
            await ids(other, "ada", over("facts", axis(0)))
        assert len(await one.facts("ada")) == 1
