"""Sessions cut into parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from prospection.remember.parts import Part, cut_into_parts, halves
from prospection.types import Message


def said(*texts: str) -> list[Message]:
    return [Message(role="user" if place % 2 == 0 else "assistant", content=text) for place, text in enumerate(texts)]


def lines(part: Part) -> list[str]:
    return [piece.line for piece in part.pieces]


def test_a_short_session_is_one_part() -> None:
    (part,) = cut_into_parts(said("I am Ada.", "Hello!"), 0, 200)
    assert lines(part) == ["[0] user: I am Ada.", "[1] assistant: Hello!"]
    assert part.earlier == ""


def test_what_was_extracted_is_context() -> None:
    (part,) = cut_into_parts(said("I am Ada.", "Hello!", "I sing."), 2, 200)
    assert lines(part) == ["[2] user: I sing."]
    assert part.earlier == "[0] user: I am Ada.\n[1] assistant: Hello!"
    assert cut_into_parts(said("I am Ada."), 1, 200) == []
    assert cut_into_parts([], 0, 200) == []


def test_system_tools_and_recalled_text_stay_out_and_places_stay_true() -> None:
    messages = [
        Message(role="system", content="Be kind."),
        Message(role="user", content="I sing.", name="Ada"),
        Message(role="tool", content="42"),
        Message(role="assistant", content="(She sang in 2019.)", recalled=True),
        Message(role="assistant", content="Lovely."),
    ]
    (part,) = cut_into_parts(messages, 0, 200)
    assert lines(part) == ["[1] user (Ada): I sing.", "[4] assistant: Lovely."]
    assert part.has_user
    (silent,) = cut_into_parts(messages, 2, 200)
    assert not silent.has_user


def test_a_long_session_is_cut_between_messages() -> None:
    parts = cut_into_parts(said(*["x" * 300] * 5), 0, 200)  # 800 characters
    assert [[piece.place for piece in part.pieces] for part in parts] == [[0, 1], [2, 3], [4]]
    assert parts[1].earlier.endswith("x" * 300)


def test_a_long_message_is_cut_between_words() -> None:
    text = "word " * 500
    parts = cut_into_parts(said(text), 0, 200)
    assert "".join(piece.text for part in parts for piece in part.pieces) == text
    assert all(piece.text.endswith(" ") for part in parts for piece in part.pieces)
    assert {piece.place for part in parts for piece in part.pieces} == {0}


def test_halves() -> None:
    (part,) = cut_into_parts(said("a" * 300, "b" * 10, "c" * 290), 0, 200)
    first, second = halves(part) or (part, part)
    assert [piece.place for piece in first.pieces + second.pieces] == [0, 1, 2]
    assert second.earlier.startswith("[0] user: a")
    (single,) = cut_into_parts(said("word " * 150), 0, 200)
    cut = halves(single)
    assert cut is not None
    assert "".join(piece.text for half in cut for piece in half.pieces) == "word " * 150
    (short,) = cut_into_parts(said("I sing."), 0, 200)
    assert halves(short) is None


@given(st.lists(st.text(max_size=900), max_size=8), st.integers(0, 8))
def test_nothing_is_lost_and_no_part_is_too_long(texts: list[str], start: int) -> None:
    messages = said(*texts)
    parts = cut_into_parts(messages, start, 200)
    for place, message in enumerate(messages):
        kept = "".join(piece.text for part in parts for piece in part.pieces if piece.place == place)
        assert kept == (message.content if place >= start else "")
    assert all(sum(len(piece.text) for piece in part.pieces) <= 800 for part in parts)
    for part in parts:
        cut = halves(part)
        if cut is not None:
            whole = "".join(piece.text for piece in part.pieces)
            assert "".join(piece.text for half in cut for piece in half.pieces) == whole
            assert all(half.pieces for half in cut)
