"""Which layout a file is of, by its content alone."""

from __future__ import annotations

import json
from io import BytesIO

import pytest

from exports import chatgpt, chatgpt_message, claude, claude_message, text_of
from prospection.errors import ConversationError
from prospection.exchange.formats import detect, importer_named, importer_names

MESSAGE = {"role": "user", "content": "I run."}
TURNS = {"id": "c", "turns": [MESSAGE]}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (text_of([{}, None, chatgpt("c", chatgpt_message("user", "I run."))]), "chatgpt"),
        (json.dumps(chatgpt("c", chatgpt_message("user", "I run."))), "chatgpt"),
        (text_of([claude("c", claude_message("human", "I run."))]), "claude"),
        (text_of([{"sample_id": "s", "conversation": {"speaker_a": "Ada", "session_1": []}}]), "locomo"),
        (text_of([{"question_id": "q", "haystack_sessions": []}]), "longmemeval"),
        (text_of([TURNS]), "conversations"),
        (json.dumps({"sessions": [TURNS]}), "conversations"),
        (json.dumps(TURNS) + "\n" + json.dumps(TURNS), "conversations"),
        (text_of([MESSAGE]), "messages"),
        (json.dumps(MESSAGE) + "\n" + json.dumps(MESSAGE), "messages"),
        ("\ufeff## User\nI run.", "markdown"),
        ("[A note about this chat]\n\nUser: I run.", "markdown"),
        ("milk, eggs", None),
        ('{"version": 1}', None),
        ("[]", None),
        ("", None),
    ],
)
def test_it_is_told_from_the_content(text: str, name: str | None) -> None:
    file = BytesIO(text.encode())
    found = detect(file)
    assert (found and found.name) == name
    assert file.tell() == 0


def test_a_file_that_is_cut_off_in_its_first_value_is_told() -> None:
    with pytest.raises(ConversationError, match="cut off"):
        detect(BytesIO(b'[{"title": "Half'))


def test_names_lead_to_their_importers() -> None:
    assert {importer_named(name).name for name in importer_names()} == set(importer_names())
