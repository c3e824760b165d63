"""Files: what can be opened, what is refused and how, full disks, erased bytes, migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.store_contract import DAY, ENCODER, add, axis, ids, over, remember, said, trace
from prospection.errors import (
    EncoderMismatchError,
    InputError,
    NewerDatabaseError,
    StorageFullError,
    StoreError,
)
from prospection.store import migrations
from prospection.store.connection import connect
from prospection.store.sqlite import SQLiteStore
from prospection.types import Cue, Erased, Session, SessionState, Source


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.mark.anyio
async def test_the_file_is_laid_out_for_vectors_and_durability(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER):
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA page_size").fetchone() == (16384,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        connection.close()


@pytest.mark.anyio
async def test_memory_survives_closing(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        facts = await remember(store, "ada", "s", add("The sea.", cues=[(Cue(text="swimming"), axis(1))]))
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        assert tuple(await store.facts("ada")) == facts
        assert await ids(store, "ada", over("cues", axis(1))) == ["f1"]


@pytest.mark.anyio
async def test_another_encoder_is_refused(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        await store.put_session("ada", Session(id="s0", at=DAY, messages=said("no vectors yet")))
    async with await SQLiteStore.open(path, encoder=("other", 4)):
        pass
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        await remember(store, "ada", "s", add("The sea."))
    for encoder in (("other", 8), ("contract", 4)):
        with pytest.raises(EncoderMismatchError, match=r"by encoder 'contract' \(8 dimensions\).*open it with"):
            await SQLiteStore.open(path, encoder=encoder)
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        await store.forget("ada")
    async with await SQLiteStore.open(path, encoder=("other", 8)) as store:
        assert len(await remember(store, "ada", "s", add("The sea."))) == 1


@pytest.mark.anyio
async def test_without_an_encoder_words_are_found_and_vectors_are_not(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        await remember(store, "ada", "s", add("The sea."))
    async with await SQLiteStore.open(path, encoder=None) as store:
        assert await ids(store, "ada", over("text", text="sea")) == ["f1"]
        with pytest.raises(StoreError, match=r"without one; open it with the encoder"):
            await store.search("ada", [over("facts", axis(0))], k=1)
        with pytest.raises(StoreError, match="without an encoder"):
            await remember(store, "ada", "s2", add("The mountains."))


@pytest.mark.anyio
async def test_a_newer_database_is_refused(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER):
        pass
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO migrations VALUES (99, 'from_the_future')")
    connection.commit()
    connection.close()
    with pytest.raises(NewerDatabaseError, match=r"schema 99.*upgrade prospection"):
        await SQLiteStore.open(path, encoder=ENCODER)


def _other_program(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    return path


def _text(path: Path) -> Path:
    path.write_text("This is not a database, and it is longer than a header. " * 100)
    return path


@pytest.mark.parametrize(
    ("place", "says"),
    [
        (lambda path: path.parent, "is a folder; name a file in it"),
        (lambda path: path.parent / "missing" / "memory.db", "folder .*missing' is missing; create it"),
        (_text, "not an SQLite database"),
        (_other_program, "of another program"),
    ],
)
@pytest.mark.anyio
async def test_what_cannot_be_opened(path: Path, place: Callable[[Path], Path], says: str) -> None:
    with pytest.raises(StoreError, match=says):
        await SQLiteStore.open(place(path), encoder=ENCODER)


@pytest.mark.anyio
async def test_half_a_character_is_refused_whole(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        with pytest.raises(InputError, match="half a character"):
            await store.put_session("ada", Session(id="s", at=DAY, messages=said("fine", "broken \ud83d")))
        assert await store.users() == []


@pytest.mark.anyio
async def test_a_full_disk_refuses_a_write_whole_and_keeps_the_rest(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        await remember(store, "ada", "s", add("The sea."))
        # SQLite's own ceiling of pages reports the same error as a full disk; it holds for one connection.
        writer = store._database._writer
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages}")
        big = Session(id="big", at=DAY, messages=said("small", "x" * 1_000_000))
        with pytest.raises(StorageFullError, match="free space and try again"):
            await store.put_session("ada", big)
        assert [record.session.id for record in await store.sessions("ada")] == ["s"]
        assert await ids(store, "ada", over("facts", axis(0))) == ["f1"]
        writer.execute("PRAGMA max_page_count = 1073741823")
        assert (await store.put_session("ada", big)).state is SessionState.PENDING


# --- erased bytes


def raw(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))


@pytest.mark.anyio
async def test_forgotten_bytes_are_gone_from_the_files(path: Path) -> None:
    secrets = [b"xylophone", b"marimba", b"glockenspiel", b"celesta", b"vibraphone", b"xylophon"]
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        await remember(store, "bob", "s", *[add(f"Bob's fact {n}.") for n in range(200)])
        session = Session(id="s1", at=DAY, messages=said("I play the xylophone", "and the accordion"))
        await store.put_session("ada", session)
        await store.claim_session("ada", "s1", now=DAY, lease=60)
        source = Source(session="s1", message=0, quote="play the xylophone")
        cues = [(Cue(text="marimba lessons"), axis(1))]
        await store.finish_session(
            "ada",
            "s1",
            [add("She plays the xylophone.", cues=cues, sources=(source,)), add("She plays the accordion.")],
            extracted=2,
            now=DAY,
        )
        await store.put_session("ada", Session(id="s2", at=DAY, messages=said("I hear a glockenspiel")))
        await store.fail_session("ada", "s2", reason="no reply", raw="celesta")
        await store.put_trace("ada", trace("t1", facts={"f1": "She plays the xylophone.", "f9": "vibraphone"}))
        assert all(secret in raw(path) for secret in secrets)

        await store.forget("ada", fid="f1")
        left = raw(path)
        assert [secret for secret in secrets if secret in left] == [b"glockenspiel", b"celesta"]
        await store.forget("ada", session="s2")
        left = raw(path)
        assert [secret for secret in secrets if secret in left] == []
        assert b"accordion" in left
        await store.forget("ada")
        left = raw(path)
        assert b"accordion" not in left
        assert b"ada" not in left
        assert b"Bob's fact 199." in left


@pytest.mark.anyio
async def test_a_scrub_that_a_reader_held_up_is_made_up_for(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER, busy_timeout=0.2) as store:
        await remember(store, "ada", "s", add("She plays the xylophone."))
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM facts").fetchone()
        with pytest.raises(StoreError, match="forget again"):
            await store.forget("ada")
        reader.execute("COMMIT")
        reader.close()
        assert await store.forget("ada") == Erased()
        assert b"xylophone" not in raw(path)


# --- migrations


def _add_mood(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE facts ADD COLUMN mood TEXT")


def _fail_midway(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE facts ADD COLUMN tone TEXT")
    connection.execute("INSERT INTO nowhere VALUES (1)")


@pytest.mark.anyio
async def test_a_schema_is_brought_forward_whole_or_not_at_all(path: Path) -> None:
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        facts = await remember(store, "ada", "s", add("The sea."))
    connection = connect(str(path), 1.0)
    ours = migrations.MIGRATIONS
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrations.migrate(connection, (*ours, _add_mood, _fail_midway))
    assert migrations.version(connection) == len(ours) + 1
    columns = [row[1] for row in connection.execute("PRAGMA table_info(facts)")]
    assert ("mood" in columns, "tone" in columns) == (True, False)
    migrations.migrate(connection, (*ours, _add_mood))
    names = [name for (name,) in connection.execute("SELECT name FROM migrations ORDER BY number")]
    assert names == ["lay_foundation", "make_work_durable", "_add_mood"]
    connection.execute("DELETE FROM migrations WHERE name = '_add_mood'")  # so that this version opens it
    connection.close()
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        assert tuple(await store.facts("ada")) == facts


@pytest.mark.anyio
async def test_a_database_of_schema_1_works_on(path: Path) -> None:
    connection = connect(str(path), 1.0)
    migrations.migrate(connection, migrations.MIGRATIONS[:1])
    connection.executescript(
        """INSERT INTO users (uid, name, facts, revision) VALUES (1, 'ada', 1, 1);
        INSERT INTO sessions (sid, uid, name, at, state)
        VALUES (1, 1, 'waits', 0, 'pending'), (2, 1, 'done', 0, 'done'), (4, 1, 'failed', 0, 'failed');
        INSERT INTO sessions (sid, uid, name, at, state, leased_until) VALUES (3, 1, 'cut short', 0, 'extracting', 99);
        INSERT INTO facts (id, uid, fact, info, digest, words, type, entities, said_at, valid_from, revision)
        VALUES (1, 1, 1, 'The sea.', x'00', 2, 'Event', '[]', 0, 0, 1);
        INSERT INTO words (rowid, terms) VALUES (1, '1_the 1_sea');
        INSERT INTO encoders VALUES (1, 'contract', 8);"""
    )
    connection.execute("INSERT INTO vectors VALUES (1, 1, 1, 0, ?)", (axis(3).astype("<f2").tobytes(),))
    connection.close()
    async with await SQLiteStore.open(path, encoder=ENCODER) as store:
        assert await ids(store, "ada", over("facts", axis(3))) == ["f1"]
        assert await ids(store, "ada", over("text", text="sea")) == ["f1"]
        taken = []
        while (found := await store.claim_next(now=DAY, lease=60)) is not None:
            taken.append(found[1].session.id)
            await store.finish_session("ada", found[1].session.id, [], extracted=0, now=DAY)
        assert taken == ["waits", "cut short"]  # what had failed waits to be retried by hand
