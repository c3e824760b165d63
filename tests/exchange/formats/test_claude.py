"""Claude's export, older and newer."""

from __future__ import annotations

from typing import Any

import pytest

from exports import AT, claude, claude_message
from prospection.exchange.conversations import Conversation, Reading, Skipped
from prospection.exchange.formats.claude import IMPORTER

ROOT = "00000000-0000-4000-8000-000000000000"


def read(entry: Any) -> list[Conversation | Skipped]:
    return list(IMPORTER.read(entry, Reading()))


def one(entry: Any) -> Conversation:
    (found,) = read(entry)
    assert isinstance(found, Conversation)
    return found


def test_a_conversation() -> None:
    found = one(claude("c1", claude_message("human", "I am moving to Lyon."), claude_message("assistant", "Why?")))
    assert (found.id, found.at, found.left_out) == ("c1", AT, {})
    assert [(message.role, message.content) for message in found.messages] == [
        ("user", "I am moving to Lyon."),
        ("assistant", "Why?"),
    ]
    assert found.messages[0].at == AT


def test_text_stands_in_older_exports_and_parts_in_newer_ones() -> None:
    older = claude_message("human", "I am moving.")
    older["content"] = []
    placeholder = claude_message(
        "assistant",
        "This block is not supported on your current device yet.",
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "name": "search", "input": {}},
        {"type": "tool_result", "content": []},
        {"type": "text", "text": "Lyon it is."},
        {"type": "flag"},
    )
    found = one(claude("c1", older, placeholder))
    assert [message.content for message in found.messages] == ["I am moving.", "Lyon it is."]
    assert found.left_out == {
        "assistant's note to itself": 1,
        "tool call": 1,
        "tool message": 1,
        "attachment": 1,
    }


def test_a_message_of_a_tool_call_alone_says_nothing() -> None:
    call = claude_message("assistant", "placeholder", {"type": "tool_use", "name": "search", "input": {}})
    found = one(claude("c1", claude_message("human", "I am moving."), call))
    assert len(found.messages) == 1


def test_attachments_are_counted_and_not_read() -> None:
    pasted = {"file_name": "paste.txt", "file_type": "txt", "extracted_content": "long"}
    found = one(
        claude("c1", claude_message("human", "See this.", attachments=[pasted], files=[{"file_name": "a.png"}]))
    )
    assert [message.content for message in found.messages] == ["See this."]
    assert found.left_out == {"attachment": 2}


def test_the_thread_to_the_current_leaf_is_taken() -> None:
    messages = (
        claude_message("human", "I live in Lyon.", name="a", parent=ROOT),
        claude_message("assistant", "Nice.", name="b", parent="a"),
        claude_message("human", "I live in Paris.", name="c", parent=ROOT),
        claude_message("assistant", "Lovely.", name="d", parent="c"),
    )
    latest = one(claude("c1", *messages))
    assert [message.content for message in latest.messages] == ["I live in Paris.", "Lovely."]
    assert latest.left_out == {"another branch": 2}
    current = one(claude("c1", *messages, current_leaf_message_uuid="b"))
    assert [message.content for message in current.messages] == ["I live in Lyon.", "Nice."]


@pytest.mark.parametrize(
    ("entry", "what", "reason"),
    [
        ([], "[]", "not a conversation"),
        ({"name": "Odd"}, "Odd", "not a conversation"),
        (claude("c1"), "About c1", "no message with words"),
        (claude("c1", claude_message("human", "")), "About c1", "no message with words"),
        ({**claude("c1", claude_message("human", "I moved.")), "uuid": None}, "About c1", "no id"),
    ],
)
def test_empty_and_odd_entries_are_skipped_with_a_reason(entry: Any, what: str, reason: str) -> None:
    assert read(entry) == [Skipped(what=what, reason=reason)]


def test_an_odd_time_or_speaker_loses_nothing_else() -> None:
    odd = claude_message("system", "x", created_at="whenever")
    late = claude_message("human", "I moved.", created_at="whenever")
    found = one(claude("c1", odd, late, created_at=None))
    assert (found.at, [message.at for message in found.messages]) == (None, [None])
    assert found.left_out == {"system message": 1}
