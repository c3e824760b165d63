"""What callers pass, and what they are told when it cannot be used."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from prospection.errors import ConversationError, NaiveTimeError, UnknownNameError
from prospection.remember.conversation import as_session, default_session_id, parse_file, parse_messages
from prospection.types import Message

HELLO = {"role": "user", "content": "hello"}
AT = datetime(2025, 3, 1, 9, 30, tzinfo=UTC)


def test_messages_as_every_chat_api_writes_them() -> None:
    parsed = parse_messages(
        [
            {"role": "developer", "content": "Be kind."},
            {"role": "Human", "content": "hi", "name": "Ada", "timestamp": "2025-03-01T10:30:00+01:00"},
            {"role": "ai", "content": [{"type": "text", "text": "one"}, {"type": "image_url"}, "two"], "at": AT},
            {"role": "assistant", "content": None, "tool_calls": []},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
            {"role": "tool", "content": "42", "created_at": 1740821400},
            Message(role="user", content="kept", recalled=True),
        ]
    )
    assert [(message.role, message.content) for message in parsed] == [
        ("system", "Be kind."),
        ("user", "hi"),
        ("assistant", "one\ntwo"),
        ("tool", "42"),
        ("user", "kept"),
    ]
    assert (parsed[1].name, parsed[1].at) == ("Ada", AT)
    assert parsed[2].at == parsed[3].at == AT
    assert parsed[4].recalled


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("hello", "is a list of messages"),
        (HELLO, "is a list of messages"),
        (None, "is a list of messages"),
        ([], "is empty"),
        (["hello"], "message 0 is 'hello'"),
        ([HELLO, {"content": "x"}], "message 1 has no 'role'"),
        ([{"role": "user"}], "message 0 has no 'content'"),
        ([{"role": "pirate", "content": "x"}], "unknown role 'pirate'; known: user, assistant"),
        ([{"role": "user", "content": 7}], "must be text, or a list of parts"),
        ([{"role": "user", "content": " "}], "no message of the conversation holds text"),
        ([{"role": "user", "content": "x", "at": "soon"}], "write it as 2025-03-01"),
        ([{"role": "user", "content": "x", "at": True}], "write it as 2025-03-01"),
        ([{"role": "user", "content": "x", "at": 1e30}], "is no instant"),
    ],
)
def test_what_is_no_conversation(given: object, told: str) -> None:
    with pytest.raises(ConversationError, match=told):
        parse_messages(given)


@pytest.mark.parametrize("at", ["2025-03-01T09:30", datetime(2025, 3, 1)])  # noqa: DTZ001 - naive on purpose
def test_a_time_without_a_zone_is_refused(at: object) -> None:
    with pytest.raises(NaiveTimeError, match="message 0"):
        parse_messages([{**HELLO, "at": at}])


def test_a_session_is_named_by_its_content_and_day() -> None:
    session = as_session([HELLO], at=AT, zone="Europe/Zurich")
    assert session.id == as_session([HELLO], at=AT.replace(hour=23)).id
    assert session.id != as_session([HELLO], at=AT.replace(day=2)).id
    assert session.id != as_session([{**HELLO, "role": "assistant"}], at=AT).id
    assert session.zone == "Europe/Zurich"
    assert as_session([HELLO], at=AT, id="mine").id == "mine"
    assert default_session_id(()) != default_session_id((), AT)


def test_what_is_no_session() -> None:
    with pytest.raises(NaiveTimeError):
        as_session([HELLO], at=datetime(2025, 3, 1))  # noqa: DTZ001 - naive on purpose
    with pytest.raises(UnknownNameError, match="Europe/Zurich"):
        as_session([HELLO], at=AT, zone="Europe/Zürich")
    with pytest.raises(ConversationError, match="name it"):
        as_session([HELLO], at=AT, id=" ")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ([HELLO, HELLO], [(None, None, 2)]),
        (HELLO, [(None, None, 1)]),
        ({"messages": [HELLO]}, [(None, None, 1)]),
        ({"id": 7, "turns": [HELLO], "date": "2025-03-01"}, [("7", datetime(2025, 3, 1, 11, tzinfo=UTC), 1)]),
        (
            {"sessions": [{"session_id": "a", "date": "2025-03-01", "time": "10:30", "messages": [HELLO]}]},
            [("a", AT, 1)],
        ),
        ([{"id": "a", "messages": [HELLO]}, {"id": "b", "messages": [HELLO]}], [("a", None, 1), ("b", None, 1)]),
        ([{**HELLO, "at": "2025-03-01T10:30"}], [(None, AT, 1)]),
        ({"messages": [HELLO], "at": "2025-03-01T09:30Z"}, [(None, AT, 1)]),
    ],
)
def test_layouts_of_files(data: Any, found: list[tuple[str | None, datetime | None, int]]) -> None:
    transcripts = parse_file("\ufeff" + json.dumps(data), zone=ZoneInfo("Europe/Zurich"))
    assert [(each.at, len(each.messages)) for each in transcripts] == [(at, count) for _, at, count in found]
    for transcript, (name, *_) in zip(transcripts, found, strict=True):
        assert transcript.id == name or (name is None and transcript.id.startswith("s-"))


def test_a_line_a_message_or_a_line_a_session() -> None:
    line = json.dumps(HELLO)
    assert len(parse_file(f"{line}\n\n{line}\n")[0].messages) == 2
    sessions = "\n".join(json.dumps({"id": name, "messages": [HELLO]}) for name in "ab")
    assert [each.id for each in parse_file(sessions)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "the file is empty"),
        ("hello there", "not JSON: Expecting value in line 1, column 1"),
        ('[{"role": "user",]', "not JSON"),
        ('{"role": "user", "content": "x"}\n{"ro', "not JSON: .* in line 2"),
        ("3", "a list of messages"),
        ('{"a": 1}', "is not a conversation"),
        ('{"sessions": []}', "list of sessions is empty"),
        (
            '{"sessions": [{"messages": [{"role": "user", "content": "x"}]}, {"messages": []}]}',
            "conversation 2 of 2: .*empty",
        ),
        ('[{"role": "user", "content": "x"}, {"messages": []}]', "message 1 has no 'role'"),
        ('{"messages": [{"role": "user", "content": "x"}], "date": "in May"}', "the date is 'in May'"),
    ],
)
def test_files_that_cannot_be_read(text: str, told: str) -> None:
    with pytest.raises(ConversationError, match=told):
        parse_file(text)
