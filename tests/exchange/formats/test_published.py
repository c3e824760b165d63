"""LoCoMo, LongMemEval, and plain conversations."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from prospection.exchange.conversations import Conversation, Reading, Skipped
from prospection.exchange.formats import importer_named

SAMPLE = {
    "sample_id": "conv-1",
    "qa": [],
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_2_date_time": "10:05 am on 3 June, 2023",
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "How was the surgery?"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "I had surgery.", "img_url": ["x"], "blip_caption": "a bed"},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "Get well!"},
        ],
        "session_3": [],
    },
}
QUESTION = {
    "question_id": "q1",
    "question": "?",
    "haystack_dates": ["2023/05/25 (Thu) 20:21", "whenever"],
    "haystack_session_ids": ["s1"],
    "haystack_sessions": [[{"role": "user", "content": "I run.", "has_answer": True}], [], [{"role": "user"}]],
}


def read(layout: str, value: Any, reading: Reading | None = None) -> list[Conversation | Skipped]:
    return list(importer_named(layout).read(value, reading or Reading()))


def test_locomo_is_told_from_either_side() -> None:
    first, second, skipped = read("locomo", SAMPLE, Reading(zone=ZoneInfo("Europe/Zurich")))
    assert isinstance(first, Conversation)
    assert isinstance(second, Conversation)
    assert (first.id, first.person, first.at) == (
        "conv-1/session_1",
        "conv-1",
        datetime(2023, 5, 8, 11, 56, tzinfo=UTC),
    )
    assert [(m.role, m.name, m.content) for m in first.messages] == [
        ("user", "Ada", "I had surgery."),
        ("assistant", "Ben", "Get well!"),
    ]
    assert first.left_out == {"attachment": 1}
    assert second.id == "conv-1/session_2"
    assert skipped == Skipped(what="conv-1/session_3", reason="no message with words")
    other = read("locomo", SAMPLE, Reading(speaker="Ben"))[0]
    assert isinstance(other, Conversation)
    assert [m.role for m in other.messages] == ["assistant", "user"]
    assert read("locomo", SAMPLE, Reading(speaker="Cy")) == [
        Skipped(what="conv-1 of Ada and Ben", reason="named speaker does not take part")
    ]


def test_longmemeval_gives_each_question_a_haystack() -> None:
    found, *skipped = read("longmemeval", QUESTION)
    assert isinstance(found, Conversation)
    assert (found.id, found.person, found.at) == ("s1", "q1", datetime(2023, 5, 25, 20, 21, tzinfo=UTC))
    assert [message.content for message in found.messages] == ["I run."]
    assert skipped == [
        Skipped(what="q1/2", reason="no message with words"),
        Skipped(what="q1/3", reason="no message with words"),
    ]


def test_conversations_are_taken_one_by_one() -> None:
    good = {"id": "c1", "date": "2025-03-01", "messages": [{"role": "user", "content": "I run."}]}
    bad = {"id": "c2", "messages": [{"role": "nobody", "content": "x"}]}
    found, skipped = read("conversations", {"sessions": [good, bad]})
    assert isinstance(found, Conversation)
    assert (found.id, found.at) == ("c1", datetime(2025, 3, 1, 12, tzinfo=UTC))
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "not a conversation"
    assert "unknown role 'nobody'" in skipped.what
    assert read("conversations", good) == [found]


def test_a_list_of_messages_is_one_conversation() -> None:
    lines = [{"role": "user", "content": "I run."}, {"role": "assistant", "content": "Far?"}]
    whole = read("messages", json.dumps(lines))
    assert whole == read("messages", "\n".join(map(json.dumps, lines)))
    (found,) = whole
    assert isinstance(found, Conversation)
    assert [message.content for message in found.messages] == ["I run.", "Far?"]
    (skipped,) = read("messages", "[{]")
    assert isinstance(skipped, Skipped)


def test_what_came_out_of_memory_stays_marked() -> None:
    (found,) = read("messages", json.dumps([{"role": "user", "content": "I run.", "recalled": True}]))
    assert isinstance(found, Conversation)
    assert found.messages[0].recalled
