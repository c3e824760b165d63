"""ChatGPT's export: the thread that was followed, and what is left out of it."""

from __future__ import annotations

from typing import Any

import pytest

from exports import AT, BEGAN, chatgpt, chatgpt_message
from prospection.exchange.conversations import Conversation, Reading, Skipped
from prospection.exchange.formats.chatgpt import IMPORTER

ASK = chatgpt_message("user", "My sister is allergic to nuts.")
REPLY = chatgpt_message("assistant", "Noted.", at=BEGAN + 60)


def read(entry: Any) -> list[Conversation | Skipped]:
    return list(IMPORTER.read(entry, Reading()))


def one(entry: Any) -> Conversation:
    (found,) = read(entry)
    assert isinstance(found, Conversation)
    return found


def said(entry: Any) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in one(entry).messages]


def test_a_conversation() -> None:
    found = one(chatgpt("c1", ASK, REPLY))
    assert (found.id, found.at, found.left_out) == ("c1", AT, {})
    assert [(message.role, message.content) for message in found.messages] == [
        ("user", "My sister is allergic to nuts."),
        ("assistant", "Noted."),
    ]
    assert found.messages[0].at == AT


def test_the_thread_to_the_current_node_is_taken_and_branches_are_counted() -> None:
    edited = chatgpt_message("user", "My brother is allergic to nuts.")
    # 1 asked, 2 answered; 3 is the edited question beside 1, 4 its answer.
    entry = chatgpt("c1", ASK, REPLY, edited, REPLY, parents={3: 0})
    assert said(entry)[0] == ("user", "My brother is allergic to nuts.")
    assert one(entry).left_out == {"another branch": 2}
    back = chatgpt("c1", ASK, REPLY, edited, REPLY, parents={3: 0}, current=2)
    assert said(back)[0] == ("user", "My sister is allergic to nuts.")


@pytest.mark.parametrize("current", ["", None, "gone"])
def test_without_a_current_node_the_latest_leaf_ends_the_thread(current: str | None) -> None:
    entry = chatgpt("c1", ASK, REPLY, chatgpt_message("assistant", "Understood.", at=BEGAN + 90), parents={3: 1})
    entry["current_node"] = current
    assert said(entry)[-1] == ("assistant", "Understood.")


def test_a_loop_and_a_missing_parent_end_the_thread() -> None:
    loop = chatgpt("c1", ASK, REPLY)
    loop["mapping"]["n1"]["parent"] = "n2"
    assert len(said(loop)) == 2
    torn = chatgpt("c1", ASK, REPLY)
    torn["mapping"]["n2"]["parent"] = "gone"
    assert said(torn) == [("assistant", "Noted.")]


def test_what_is_not_said_between_the_two_is_left_out_and_counted() -> None:
    hidden = {"is_visually_hidden_from_conversation": True}
    found = one(
        chatgpt(
            "c1",
            chatgpt_message("system", ""),
            chatgpt_message("system", "You are helpful."),
            chatgpt_message("user", "Original custom instructions no longer available", metadata=hidden),
            ASK,
            chatgpt_message("assistant", kind="thoughts", thoughts=[{"summary": "x", "content": "y"}]),
            chatgpt_message("assistant", kind="code", text="search('nuts')", recipient="web"),
            chatgpt_message("assistant", "dalle prompt", recipient="dalle.text2im"),
            chatgpt_message("tool", kind="execution_output", text="42"),
            REPLY,
        )
    )
    assert [message.content for message in found.messages] == ["My sister is allergic to nuts.", "Noted."]
    assert found.left_out == {
        "system message": 1,
        "hidden message": 1,
        "assistant's note to itself": 1,
        "tool call": 2,
        "tool message": 1,
    }


def test_words_beside_pictures_and_dictated_words_are_kept() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x", "width": 3}
    spoken = {"content_type": "audio_transcription", "text": "I am moving to Lyon.", "direction": "in"}
    sound = {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}}
    named = {"attachments": [{"id": "x", "name": "kitchen.png"}]}
    found = one(
        chatgpt(
            "c1",
            chatgpt_message("user", picture, "This is my kitchen.", kind="multimodal_text", metadata=named),
            chatgpt_message("user", spoken, sound, kind="multimodal_text"),
            chatgpt_message("user", picture, kind="multimodal_text"),
        )
    )
    assert [message.content for message in found.messages] == ["This is my kitchen.", "I am moving to Lyon."]
    assert found.left_out == {"attachment": 3}


@pytest.mark.parametrize(
    "about",
    [
        chatgpt_message(
            "system", "", metadata={"user_context_message_data": {"about_user_message": "I live in Lyon.\n"}}
        ),
        chatgpt_message(
            "user",
            kind="user_editable_context",
            user_profile="The user provided the following information.\nUser profile:\n```I live in Lyon.```",
            user_instructions="Be brief.",
            metadata={"is_visually_hidden_from_conversation": True},
        ),
    ],
)
def test_what_the_person_wrote_about_themselves_is_a_conversation_of_its_own(about: dict[str, Any]) -> None:
    profile, talk = read(chatgpt("c1", about, ASK))
    again, _ = read(chatgpt("c2", about, ASK))
    assert isinstance(profile, Conversation)
    assert isinstance(talk, Conversation)
    assert [(message.role, message.content) for message in profile.messages] == [("user", "I live in Lyon.")]
    assert profile == again
    assert [message.content for message in talk.messages] == ["My sister is allergic to nuts."]


@pytest.mark.parametrize(
    ("entry", "what", "reason"),
    [
        (None, "None", "not a conversation"),
        ({}, "{}", "not a conversation"),
        ({"title": "Odd", "mapping": None}, "Odd", "not a conversation"),
        (chatgpt("c1"), "About c1", "no message with words"),
        (chatgpt("c1", None, chatgpt_message("user", "")), "About c1", "no message with words"),
        ({**chatgpt("c1", ASK), "id": None, "conversation_id": None}, "About c1", "no id"),
    ],
)
def test_empty_and_odd_entries_are_skipped_with_a_reason(entry: Any, what: str, reason: str) -> None:
    assert read(entry) == [Skipped(what=what, reason=reason)]


def test_odd_pieces_inside_an_entry_do_no_harm() -> None:
    entry = chatgpt("c1", ASK, REPLY)
    entry["mapping"]["x"] = None
    entry["mapping"]["y"] = {"message": "?", "parent": 7, "children": None}
    entry["mapping"]["n2"]["message"]["author"] = None
    entry["mapping"]["n2"]["message"]["content"] = {"parts": None}
    assert said(entry) == [("user", "My sister is allergic to nuts.")]


def test_times() -> None:
    assert one(chatgpt("c1", ASK, began=None)).at == AT
    nowhere = chatgpt("c1", chatgpt_message("user", "I moved.", at=0), began=None)
    assert one(nowhere).at is None


def test_half_a_character_becomes_a_mark() -> None:
    assert said(chatgpt("c1", chatgpt_message("user", "fine \ud83d"))) == [("user", "fine \ufffd")]
    assert said(chatgpt("c1", chatgpt_message("user", "fine \ud83d\ude00"))) == [("user", "fine \U0001f600")]
