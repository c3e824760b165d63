"""Chat logs: who speaks in which style."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from prospection.exchange.conversations import Conversation, Opening, Reading, Skipped
from prospection.exchange.formats.markdown import IMPORTER


def one(text: str, speaker: str | None = None, name: str = "chat.md") -> Conversation:
    (found,) = IMPORTER.read(text, Reading(name=name, speaker=speaker))
    assert isinstance(found, Conversation)
    return found


def said(text: str, speaker: str | None = None) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in one(text, speaker).messages]


EXPECTED = [("user", "I am moving\n\nto Lyon."), ("assistant", "When?")]


@pytest.mark.parametrize(
    "text",
    [
        "## User\n\nI am moving\n\nto Lyon.\n\n## Assistant\n\nWhen?\n",
        "# My chat\n\n### You\nI am moving\n\nto Lyon.\n\n---\n\n### ChatGPT\nWhen?",
        "#### You said:\nI am moving\n\nto Lyon.\n#### ChatGPT said:\nWhen?",
        "**User:** I am moving\n\nto Lyon.\n\n**Assistant:** When?",
        "**Human**: I am moving\n\nto Lyon.\n\n**Claude**: When?\n\n***\n",
        "__Nutzer:__ I am moving\n\nto Lyon.\n__Assistent:__ When?",
        "User: I am moving\n\nto Lyon.\n\nAssistant: When?",
        "用户：\nI am moving\n\nto Lyon.\n助手：\nWhen?",
        "\ufeffHuman:\nI am moving\r\n\r\nto Lyon.\nAI:\nWhen?",
    ],
)
def test_styles(text: str) -> None:
    assert said(text) == EXPECTED


def test_only_one_style_counts_and_code_is_text() -> None:
    text = "## User\nTo quote:\n\nUser: hello\n\n```\n## Assistant\n```\n## Assistant\n**Note:** fine\n"
    assert said(text) == [
        ("user", "To quote:\n\nUser: hello\n\n```\n## Assistant\n```"),
        ("assistant", "**Note:** fine"),
    ]


def test_named_speakers() -> None:
    text = "Ada: I run.\nBen: Far?\nAda: Ten miles.\nBen: Wow.\nNote: nothing."
    assert said(text, "ada") == [
        ("user", "I run."),
        ("assistant", "Far?"),
        ("user", "Ten miles."),
        ("assistant", "Wow.\nNote: nothing."),
    ]
    assert [message.name for message in one(text, "Ada").messages] == ["Ada", "Ben", "Ada", "Ben"]


def test_dates() -> None:
    dated = one("# Chat\n\nCreated: 2025-03-01 09:30\n\n## User\nI run.")
    assert dated.at == datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
    turns = one("## User (2025-03-02)\nI run.\n## Assistant - 2025-03-02 18:00\nFar?")
    assert turns.at == datetime(2025, 3, 2, 12, tzinfo=UTC)
    assert turns.messages[1].at == datetime(2025, 3, 2, 18, tzinfo=UTC)
    assert one("## User\nI run.").at is None
    assert one("Created: 2025-99-01\n## User\nI run.").at is None


def test_a_log_that_grows_stays_the_same_conversation() -> None:
    short, long = one("## User\nI run."), one("## User\nI run.\n## Assistant\nFar?")
    assert short.id == long.id
    assert one("## User\nI swim.").id != short.id
    assert one("## User\nI run.", name="other.md").id != short.id


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Just notes.", "no line says that the person speaks"),
        ("## Assistant\nHello", "no line says that the person speaks"),
        ("## User\n\n## Assistant\n", "no message with words"),
    ],
)
def test_what_is_no_chat_is_skipped(text: str, reason: str) -> None:
    assert list(IMPORTER.read(text, Reading(name="x.md"))) == [Skipped(what="x.md", reason=reason)]


def test_claims() -> None:
    assert IMPORTER.claims(Opening(values=(), text="## User\nhi"))
    assert not IMPORTER.claims(Opening(values=(), text="A shopping list: milk"))
    assert not IMPORTER.claims(Opening(values=({},), text="User: x"))
