"""Archives: what comes out of one memory stands in the other just so, whatever the life was."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prospection import AsyncMemory, Settings
from prospection.errors import ConflictError, InputError
from prospection.exchange.archive import is_archive, read_archive, restore_archive, write_archive
from prospection.types import FactRecord, SessionRecord
from remembered import WordEmbedder

DAY = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
SAID = (
    "My sister is allergic to nuts.",
    "Ich wohne mit meinem Bruder in Zürich.",
    "我每周三晚上去上陶艺课。",
    "J'ai été opéré de l'épaule hier.",
    "I work as a nurse at St. Mary's.",
    "OK thanks!",
)


def over(path: Path | str) -> AsyncMemory:
    return AsyncMemory(path, encoder=WordEmbedder(), settings=Settings())


async def archive(memory: AsyncMemory, user: str = "ada") -> bytes:
    return "".join([line async for line in write_archive(memory, user=user)]).encode()


async def say(memory: AsyncMemory, session: str, *texts: str, day: int = 0, wait: bool = True) -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    await memory.add(messages, user="ada", session=session, at=DAY + timedelta(days=day), wait=wait)


async def reads(memory: AsyncMemory) -> list[object]:
    """What every public read gives, but for what a new recall would add."""
    kept: list[object] = [
        await memory.sessions(user="ada"),
        await memory.facts(user="ada"),
        await memory.facts(user="ada", history=True),
        await memory.traces(user="ada"),
        await memory.statistics(user="ada"),
    ]
    recalls = [
        await memory.recall(text, user="ada", policy=policy, at=at)
        for text in ("allergic to nuts", "陶艺课", "Zürich")
        for policy in ("direct", "lexical", "hybrid")
        for at in (None, DAY + timedelta(hours=30))
        if await memory.facts(user="ada", limit=1)
    ]
    return [*kept, [[(item.fact, item.score) for item in recall.facts] for recall in recalls]]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, 4), st.lists(st.sampled_from(SAID), min_size=1, max_size=3)),
        st.tuples(st.just("queue"), st.integers(0, 4), st.lists(st.sampled_from(SAID), min_size=1, max_size=2)),
        st.tuples(st.just("forget"), st.integers(1, 6), st.just([])),
        st.tuples(st.just("recall"), st.integers(0, 5), st.just([])),
    ),
    max_size=6,
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(life=steps)
def test_every_read_gives_the_same_after_the_round(life: list[tuple[str, int, list[str]]]) -> None:
    anyio.run(_round, life)


async def _round(life: list[tuple[str, int, list[str]]]) -> None:
    with TemporaryDirectory() as folder:
        async with over(Path(folder) / "a.db") as first, over(":memory:") as second:
            for day, (what, number, texts) in enumerate(life):
                if what in ("say", "queue"):
                    await say(first, f"s{number}", *texts, day=day, wait=what == "say")
                elif what == "forget":
                    await first.forget(user="ada", fid=f"f{number}")
                elif await first.facts(user="ada", limit=1):
                    await first.recall(SAID[number], user="ada")
            written = await archive(first)
            await restore_archive(second, BytesIO(written), user="ada")
            assert await archive(second) == written
            assert await reads(second) == await reads(first)


@pytest.mark.anyio
async def test_the_lines_are_as_documented(tmp_path: Path) -> None:
    async with over(tmp_path / "a.db") as memory:
        await say(memory, "s1", SAID[0], SAID[5])
        await memory.recall("nuts", user="ada")
        head, *lines, end = [json.loads(line) for line in (await archive(memory)).splitlines()]
    assert head == {"prospection": "memory", "version": 1}
    assert [next(iter(line)) for line in lines] == ["user", "session", "fact", "trace"]
    assert end == {"end": {"user": 1, "session": 1, "fact": 1, "trace": 1}}
    session, fact = lines[1]["session"], lines[2]["fact"]
    assert (session["state"], session["session"]["at"]) == ("done", "2025-03-01T09:30:00Z")
    assert session["session"]["messages"][0]["content"] == SAID[0]
    assert (fact["fid"], fact["info"], fact["valid_until"]) == ("f1", SAID[0], None)
    assert fact["provenance"] == [{"session": "s1", "message": 0, "quote": SAID[0]}]


@pytest.mark.anyio
async def test_another_user_and_another_encoder_may_receive_it(tmp_path: Path) -> None:
    class Wider(WordEmbedder):
        id = "wider"
        dims = 96

    async with (
        over(tmp_path / "a.db") as first,
        AsyncMemory(":memory:", encoder=Wider(), settings=Settings()) as second,
    ):
        await say(first, "s1", SAID[0])
        await first.recall("nuts", user="ada")
        counts = await restore_archive(second, BytesIO(await archive(first)), user="eve")
        assert counts == {"user": 1, "session": 1, "fact": 1, "trace": 1}
        assert await second.users() == ["eve"]
        (found,) = await second.traces(user="eve")
        assert found.user == "eve"
        assert [item.fid for item in (await second.recall("nuts", user="eve", policy="direct")).facts] == ["f1"]


@pytest.mark.anyio
async def test_nobody_is_an_archive_of_nothing(tmp_path: Path) -> None:
    async with over(tmp_path / "a.db") as memory:
        written = await archive(memory, "nobody")
        assert list(read_archive(BytesIO(written))) == []
        assert await restore_archive(memory, BytesIO(written), user="eve") == {}
        assert await memory.users() == []


@pytest.mark.anyio
async def test_it_is_never_mixed_with_what_a_user_has(tmp_path: Path) -> None:
    async with over(tmp_path / "a.db") as first, over(":memory:") as second:
        await say(first, "s1", SAID[0])
        written = await archive(first)
        await say(second, "s2", SAID[4])
        with pytest.raises(InputError, match="'ada' already has memory of their own, such as session 's2'"):
            await restore_archive(second, BytesIO(written), user="ada")
        await second.forget(user="ada")
        await say(second, "s1", SAID[4])
        with pytest.raises(ConflictError, match="user 'ada' already has"):
            await restore_archive(second, BytesIO(written), user="ada")
        await second.forget(user="ada")
        for _ in range(2):  # twice is as good as once
            await restore_archive(second, BytesIO(written), user="ada")
        assert await archive(second) == written


@pytest.mark.anyio
async def test_what_was_cut_short_goes_on(tmp_path: Path) -> None:
    async with over(tmp_path / "a.db") as first, over(":memory:") as second:
        for day in range(3):
            await say(first, f"s{day}", SAID[day], day=day)
        written = await archive(first)
        records = list(read_archive(BytesIO(written)))
        kept = [record for record in records if not isinstance(record, FactRecord)]
        await second.restore([record for record in kept if not isinstance(record, SessionRecord)], user="ada")
        await second.restore(kept[:2], user="ada")
        await restore_archive(second, BytesIO(written), user="ada")
        assert await archive(second) == written


def lines(*data: Any) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in data)


HEAD = {"prospection": "memory", "version": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "ends after 0 records"),
        (lines({"role": "user"}), "no archive of a memory"),
        (lines({**HEAD, "version": 2}), "of version 2 .* upgrade"),
        (lines(HEAD, {"user": {}}), "ends after 1 records"),
        (lines(HEAD, {"user": {}}, {"end": {"user": 2}}), "export it again"),
        (lines(HEAD, {"dream": {}}), "line 2 of the archive is damaged"),
        (lines(HEAD, {}), "line 2 of the archive is damaged"),
        (lines(HEAD, {"fact": {"fid": "f1"}}), "line 2 of the archive is damaged"),
        (lines(HEAD) + b'{"user": {"fa', "line 2 of the archive is damaged"),
        (b"\xff\xfe", "line 1 of the archive is damaged"),
    ],
)
def test_what_is_no_whole_archive_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(read_archive(BytesIO(data)))


@pytest.mark.parametrize(
    ("data", "expected"),
    [(lines(HEAD), True), (lines({**HEAD, "version": 9}), True), (b"[1]", False), (b"\xff", False)],
)
def test_it_is_told_from_other_files(data: bytes, expected: bool) -> None:
    file = BytesIO(data)
    assert is_archive(file) is expected
    assert file.tell() == 0
