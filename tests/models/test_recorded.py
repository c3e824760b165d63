"""Replaying and recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.chat_contract import EMPTY, FACTS, REPLIES, TEXT, ChatContract, Memories, plain, structured
from loopback import Loopback, Reply, Status
from prospection.errors import ConfigError, NotRecordedError, ReplyError
from prospection.models.chat import PydanticAIChat
from prospection.models.open import build_model
from prospection.models.recorded import RecordedChat, RecordingChat
from prospection.protocols import ChatModel
from prospection.types import Usage

pytestmark = pytest.mark.anyio


def written(path: Path, *lines: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


class TestRecorded(ChatContract):
    @pytest.fixture
    def chat(self, tmp_path: Path) -> ChatModel:
        lines: list[dict[str, object]] = [
            {"stage": stage, "subject": subject, "reply": reply} for stage, subject, reply in REPLIES
        ]
        return RecordedChat.load(written(tmp_path / "replies.jsonl", *lines))


class TestRecording(ChatContract):
    @pytest.fixture
    def chat(self, tmp_path: Path) -> Iterator[ChatModel]:
        with Loopback() as server:
            server.script(*(Reply(reply) for *_, reply in REPLIES), Status(401))
            model = PydanticAIChat(build_model("tiny", server.url), name="tiny")
            yield RecordingChat(model, tmp_path / "out.jsonl")


async def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    with Loopback() as server:
        server.script(Reply(FACTS, tokens=(12, 3)), EMPTY, TEXT, Status(401))
        live = RecordingChat(PydanticAIChat(build_model("tiny", server.url), name="tiny"), path)
        first = [await live.complete(structured()), await live.complete(structured())]
        text = await live.complete(plain())
        with pytest.raises(Exception, match="401"):
            await live.complete(plain())
    assert len(path.read_text(encoding="utf-8").splitlines()) == 3
    replay = RecordedChat.load(path)
    assert await replay.complete(plain()) == text
    assert [await replay.complete(structured()), await replay.complete(structured())] == first
    assert first[0].usage.tokens_in == 12
    assert replay.name == "recorded:replies.jsonl"


async def test_replies_are_found_by_stage_and_subject(tmp_path: Path) -> None:
    usage = {"calls": 2, "failed_calls": 1, "tokens_in": 9, "cost": None}
    replay = RecordedChat.load(
        written(
            tmp_path / "r.jsonl",
            {"stage": "extract", "subject": "s2", "reply": EMPTY},
            {"stage": "extract", "subject": "s1", "reply": FACTS, "usage": usage, "model": "strong"},
        )
    )
    reply = await replay.complete(structured(subject="s1"))
    assert reply.value == Memories.model_validate(FACTS)
    assert reply.model == "strong"
    assert reply.usage == Usage(calls=2, failed_calls=1, tokens_in=9, cost=None)
    assert (await replay.complete(structured(subject="s2"))).usage == Usage(calls=1)


async def test_a_missing_reply_is_named(tmp_path: Path) -> None:
    replay = RecordedChat.load(written(tmp_path / "r.jsonl", {"stage": "extract", "subject": "s1", "reply": EMPTY}))
    with pytest.raises(
        NotRecordedError, match=r"r\.jsonl' has no further reply for stage 'answer', subject 'q1': it has"
    ):
        await replay.complete(plain())
    await replay.complete(structured())
    with pytest.raises(NotRecordedError, match="all 1 have been served; record it with a model"):
        await replay.complete(structured())


async def test_a_reply_that_does_not_fit_any_more(tmp_path: Path) -> None:
    replay = RecordedChat.load(written(tmp_path / "r.jsonl", {"stage": "extract", "subject": "s1", "reply": {"f": 1}}))
    with pytest.raises(ReplyError, match="does not fit Memories: Field required; record it again") as caught:
        await replay.complete(structured())
    assert caught.value.raw == '{"f": 1}'


@pytest.mark.parametrize("line", ["{", '{"stage": "extract"}', '{"stage": "a", "subject": "b", "reply": 1, "x": 2}'])
async def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = written(tmp_path / "r.jsonl", {"stage": "a", "subject": "b", "reply": "c"})
    path.write_text(path.read_text(encoding="utf-8") + "\n" + line, encoding="utf-8")
    with pytest.raises(ConfigError, match="line 3 of recording"):
        RecordedChat.load(path)


async def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"recording '.*none\.jsonl' cannot be read"):
        RecordedChat.load(tmp_path / "none.jsonl")
    with Loopback() as server:
        live = RecordingChat(PydanticAIChat(build_model("tiny", server.url), name="tiny"), tmp_path / "no" / "x.jsonl")
        with pytest.raises(ConfigError, match=r"cannot be written: .*; correct models\.record"):
            await live.complete(plain())
