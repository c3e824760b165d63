"""Sentences: where they end, and that they stand in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.remember.rules.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I live in Bern. My cat is old!", ["I live in Bern.", "My cat is old!"]),
        ("I met Dr. Wirz at 7 p.m. He was late.", ["I met Dr. Wirz at 7 p.m.", "He was late."]),
        ("Take nuts, e.g. almonds, i.e. none.", ["Take nuts, e.g. almonds, i.e. none."]),
        ("Am 14. Oktober bin ich in St. Gallen. Danke!", ["Am 14. Oktober bin ich in St. Gallen.", "Danke!"]),
        ("I like B.B. King. And J. S. Bach.", ["I like B.B. King.", "And J. S. Bach."]),
        ("I said no. For me that was it.", ["I said no.", "For me that was it."]),
        ("See No. 5 first. It is mine.", ["See No. 5 first.", "It is mine."]),
        ("It broke in 1987. Then nothing.", ["It broke in 1987.", "Then nothing."]),
        ("I wait ... and wait. Still.", ["I wait ... and wait.", "Still."]),
        ('He said: "Stop. Now." I stopped.', ['He said: "Stop. Now."', "I stopped."]),
        ("我住在上海。我对花生过敏！你呢？", ["我住在上海。", "我对花生过敏！", "你呢？"]),
        ("أعيش في القاهرة. هل تسمعني؟ نعم", ["أعيش في القاهرة.", "هل تسمعني؟", "نعم"]),
        ("- I like tea\n* I hate milk\n1. My cat\n\n## Plans", ["I like tea", "I hate milk", "My cat", "Plans"]),
        ("Look:\n```py\nx = 1. y\n```\nI wrote it.", ["Look:", "I wrote it."]),
        ("Unfinished ``` code. More", ["Unfinished"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_where_sentences_end(text: str, sentences: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences(text)] == sentences


@given(st.text(alphabet=st.sampled_from('aB1. ?!\n"“”。-`…)»é')) | st.text())
def test_every_sentence_stands_in_the_text_in_order(text: str) -> None:
    end = 0
    for sentence in split_sentences(text):
        assert sentence.start >= end
        assert text[sentence.start : sentence.end] == sentence.text == sentence.text.strip() != ""
        end = sentence.end


@given(st.text(alphabet=st.sampled_from('aB1. ?!\n"“”。é')))
def test_nothing_but_bullets_and_space_is_lost(text: str) -> None:
    kept = "".join(sentence.text for sentence in split_sentences(text))
    lost = [char for char in text if not char.isspace()]
    for char in kept:
        if not char.isspace():
            lost.remove(char)
    assert all(char in "1.)" for char in lost)
