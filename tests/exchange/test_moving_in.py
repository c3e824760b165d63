"""An export into a real memory: order, repetition, growth, interruption, and what is told."""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from exports import AT, BEGAN, chatgpt, chatgpt_message, claude, claude_message, text_of
from prospection import AsyncMemory, Settings
from prospection.errors import ConversationError, UnknownNameError
from prospection.exchange.moving_in import MovingIn, move_in
from prospection.exchange.survey import Wanted
from prospection.types import SessionState
from remembered import WordEmbedder

pytestmark = pytest.mark.anyio

HOUR = 3600


def over(folder: Path) -> AsyncMemory:
    return AsyncMemory(folder / "memory.db", encoder=WordEmbedder(), settings=Settings())


def talk(name: str, *texts: str, hours: int = 0) -> dict[str, Any]:
    began = BEGAN + hours * HOUR
    messages = [chatgpt_message(("user", "assistant")[n % 2], text, at=began + n) for n, text in enumerate(texts)]
    return chatgpt(name, *messages, began=began)


def save(folder: Path, *conversations: Any, name: str = "conversations.json") -> Path:
    path = folder / name
    path.write_text(text_of(conversations), encoding="utf-8")
    return path


async def stored(memory: AsyncMemory, user: str = "ada") -> dict[str, list[str]]:
    records = await memory.sessions(user=user)
    return {record.session.id: [message.content for message in record.session.messages] for record in records}


def counts(result: MovingIn) -> tuple[int, int, int]:
    return len(result.new), len(result.grown), result.known


async def test_conversations_arrive_oldest_first_and_wait(tmp_path: Path) -> None:
    path = save(tmp_path, talk("late", "I work at B.", hours=9), talk("early", "I work at A."), {}, talk("empty"))
    async with over(tmp_path) as memory:
        result = await move_in(memory, path, user="ada", zone="Europe/Zurich")
        assert list(await stored(memory)) == ["early", "late"]
        (first, _) = await memory.sessions(user="ada")
        assert (first.state, first.session.at, first.session.zone) == (SessionState.PENDING, AT, "Europe/Zurich")
        assert counts(result) == (2, 0, 0)
        assert result.layouts == ["ChatGPT account export"]
        assert (result.size, result.messages) == (path.stat().st_size, 2)
        assert Counter(skip.reason for skip in result.skipped) == {"not a conversation": 1, "no message with words": 1}
        await memory.retry(user="ada")
        assert [fact.info for fact in await memory.facts(user="ada")] == ["I work at A.", "I work at B."]


async def test_a_second_run_adds_nothing(tmp_path: Path) -> None:
    path = save(tmp_path, *(talk(f"c{n}", "I run.", "Far?", hours=n) for n in range(80)))
    async with over(tmp_path) as memory:
        assert counts(await move_in(memory, path, user="ada")) == (80, 0, 0)
        await memory.retry(user="ada")
        before = await stored(memory)
        assert counts(await move_in(memory, path, user="ada")) == (0, 0, 80)
        assert await stored(memory) == before
        assert await memory.retry(user="ada") == []


async def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    path = save(tmp_path, *(talk(f"c{n}", "I run.", hours=n) for n in range(80)))

    def kill(done: int, total: int) -> None:
        if done >= 40:
            raise KeyboardInterrupt

    async with over(tmp_path) as memory:
        with pytest.raises(KeyboardInterrupt):
            await move_in(memory, path, user="ada", storing=kill)
        held = len(await stored(memory))
        assert 0 < held < 80
        assert counts(await move_in(memory, path, user="ada")) == (80 - held, 0, held)
        assert list(await stored(memory)) == [f"c{n}" for n in range(80)]


async def test_a_conversation_that_grew_gets_its_new_messages(tmp_path: Path) -> None:
    async with over(tmp_path) as memory:
        await move_in(memory, save(tmp_path, talk("c", "I run.", "Far?")), user="ada")
        await memory.retry(user="ada")
        path = save(tmp_path, talk("c", "I run.", "Far?", "Ten miles, twice a week."))
        assert counts(await move_in(memory, path, user="ada")) == (0, 1, 0)
        assert await stored(memory) == {"c": ["I run.", "Far?", "Ten miles, twice a week."]}
        assert counts(await move_in(memory, path, user="ada")) == (0, 0, 1)


async def test_an_edited_conversation_keeps_what_was_said_before(tmp_path: Path) -> None:
    async with over(tmp_path) as memory:
        await move_in(memory, save(tmp_path, talk("c", "Hello.", "Hi.", "I live in Lyon.", "Nice.")), user="ada")
        path = save(tmp_path, talk("c", "Hello.", "Hi.", "I live in Paris.", "Nice."))
        assert counts(await move_in(memory, path, user="ada")) == (0, 1, 0)
        expected = ["Hello.", "Hi.", "I live in Lyon.", "Nice.", "I live in Paris.", "Nice."]
        assert await stored(memory) == {"c": expected}
        await move_in(memory, path, user="ada")
        assert await stored(memory) == {"c": expected}


async def test_what_was_forgotten_does_not_come_back(tmp_path: Path) -> None:
    path = save(tmp_path, talk("c", "I am allergic to nuts.", "Noted.", "My sister lives in Lyon."))
    async with over(tmp_path) as memory:
        await move_in(memory, path, user="ada")
        await memory.retry(user="ada")
        await memory.forget(user="ada", fid="f1")
        assert counts(await move_in(memory, path, user="ada")) == (0, 0, 1)
        assert await memory.retry(user="ada") == []
        assert [fact.info for fact in await memory.facts(user="ada")] == ["My sister lives in Lyon."]


async def test_folders_and_archives_hold_the_same(tmp_path: Path) -> None:
    save(tmp_path, talk("c1", "I run."), name="conversations-000.json")
    save(tmp_path, talk("c0", "I swim.", hours=-1), talk("c1", "I run."), name="conversations-001.json")
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        for name in ("conversations-000.json", "conversations-001.json"):
            archive.write(tmp_path / name, name)
        archive.writestr("chat.html", "<html>")
    async with over(tmp_path) as memory:
        for user, path in (("ada", tmp_path), ("ben", tmp_path / "export.zip")):
            result = await move_in(memory, path, user=user)
            assert await stored(memory, user) == {"c0": ["I swim."], "c1": ["I run."]}
            assert [skip.reason for skip in result.skipped] == ["in the export twice"]


async def test_a_folder_of_logs(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "a.md").write_text("## User\nI run.\n", encoding="utf-8")
    (logs / "b.json").write_text(json.dumps([{"role": "user", "content": "I swim."}]), encoding="utf-8")
    (logs / "notes.txt").write_text("milk, eggs", encoding="utf-8")
    written = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
    os.utime(logs / "a.md", (written.timestamp(), written.timestamp()))
    async with over(tmp_path) as memory:
        result = await move_in(memory, logs, user="ada")
        assert sorted(map(str, (await stored(memory)).values())) == ["['I run.']", "['I swim.']"]
        assert [(skip.what, skip.reason) for skip in result.skipped] == [("notes.txt", "file of no known layout")]
        (log,) = [r for r in await memory.sessions(user="ada") if r.session.id.startswith("a.md#")]
        assert log.session.at == written
        given = await move_in(memory, logs / "b.json", user="ben", wanted=Wanted(at=AT))
        assert given.layouts == ["messages as JSON or JSONL"]
        assert [record.session.at for record in await memory.sessions(user="ben")] == [AT]


async def test_since_and_until(tmp_path: Path) -> None:
    path = save(tmp_path, *(talk(f"c{n}", "I run.", hours=n) for n in range(4)))
    wanted = Wanted(since=AT + timedelta(hours=1), until=AT + timedelta(hours=3))
    async with over(tmp_path) as memory:
        result = await move_in(memory, path, user="ada", wanted=wanted)
        assert list(await stored(memory)) == ["c1", "c2"]
        assert [(skip.what, skip.reason) for skip in result.skipped] == [
            ("c0", "before the time wanted"),
            ("c3", "after the time wanted"),
        ]


async def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    path = save(tmp_path, claude("c1", claude_message("human", "I run.")))
    async with over(tmp_path) as memory:
        result = await move_in(memory, path, user="ada", dry_run=True)
        assert (counts(result), result.layouts) == ((1, 0, 0), ["Claude account export"])
        assert await memory.users() == []
        await move_in(memory, path, user="ada")
        assert counts(await move_in(memory, path, user="ada", dry_run=True)) == (0, 0, 1)


async def test_people_are_not_mixed(tmp_path: Path) -> None:
    def sample(name: str, said: str) -> dict[str, Any]:
        session = [{"speaker": "Ada", "text": said}, {"speaker": "Ben", "text": "Hm."}]
        conversation = {"speaker_a": "Ada", "speaker_b": "Ben", "session_1": session}
        return {"sample_id": name, "conversation": conversation}

    path = save(tmp_path, sample("s1", "I run."), sample("s2", "I swim."), name="locomo.json")
    async with over(tmp_path) as memory:
        with pytest.raises(ConversationError, match=r"conversations of 2 people: s1, s2; name one of them"):
            await move_in(memory, path, user="ada")
        assert await memory.users() == []
        await move_in(memory, path, user="ada", wanted=Wanted(person="s2"))
        assert await stored(memory) == {"s2/session_1": ["I swim.", "Hm."]}


async def test_what_cannot_be_read_is_told_with_its_file_and_nothing_is_stored(tmp_path: Path) -> None:
    whole = save(tmp_path, talk("c1", "I run."), talk("c2", "I swim."))
    whole.write_bytes(whole.read_bytes()[:-300])
    (tmp_path / "list.txt").write_text("milk, eggs", encoding="utf-8")
    async with over(tmp_path) as memory:
        with pytest.raises(ConversationError, match=r"'conversations\.json': the file ends in the middle"):
            await move_in(memory, whole, user="ada")
        with pytest.raises(ConversationError, match=r"'list\.txt': it is of no known layout"):
            await move_in(memory, tmp_path / "list.txt", user="ada")
        with pytest.raises(UnknownNameError, match=r"unknown format 'chatgtp'; did you mean 'chatgpt'\?"):
            await move_in(memory, whole, user="ada", wanted=Wanted(layout="chatgtp"))
        assert await memory.users() == []


async def test_progress_tells_bytes_and_conversations(tmp_path: Path) -> None:
    path = save(tmp_path, *(talk(f"c{n}", "I run.", hours=n) for n in range(3)))
    read: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    async with over(tmp_path) as memory:
        await move_in(
            memory,
            path,
            user="ada",
            reading=lambda done, total: read.append((done, total)),
            storing=lambda done, total: kept.append((done, total)),
        )
    size = path.stat().st_size
    assert read[-1] == (size, size)
    assert read == sorted(read)
    assert kept[-1] == (3, 3)
