"""Words, normal forms and BM25."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.search.lexical import bm25, index_terms, normalise, query_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Ada's shoulder, 2nd operation!", ["ada", "s", "shoulder", "2nd", "operation"]),
        ("Café NAÏVE Straße ﬁsh", ["cafe", "naive", "strasse", "fish"]),
        ("Ёлка в Йошкар-Оле", ["елка", "в", "иошкар", "оле"]),
        ("Ἀθήνα", ["αθηνα"]),
        ("مُحَمَّد", ["محمد"]),
        ("मैं दिल्ली में", ["मैं", "दिल्ली", "में"]),
        ("我喜欢寿司", ["我喜", "喜欢", "欢寿", "寿司"]),
        ("がんばる、東京2024", ["がん", "んば", "ばる", "東京", "2024"]),
        ("서울에서", ["서울", "울에", "에서"]),
        ("ข้าว", ["ข้า", "าว"]),
        ("猫 and 犬", ["猫", "and", "犬"]),
        ("a_b", ["a", "b"]),
        ("?! — 🙂", []),
        ("", []),
    ],
)
def test_query_terms(text: str, terms: list[str]) -> None:
    assert query_terms(text) == terms


def test_index_terms_hold_single_characters_too_and_nothing_twice() -> None:
    assert index_terms("寿司寿司 a a") == ["寿", "司", "寿司", "司寿", "a"]


@given(st.text())
def test_what_a_text_is_asked_with_finds_it(text: str) -> None:
    assert set(query_terms(text)) <= set(index_terms(text))


@given(st.text())
def test_no_term_holds_syntax(text: str) -> None:
    assert not re.search(r"[\x00-/:-@\[-`{-\x7f\s]", "".join(query_terms(text)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("She likes tea.", "  she LIKES\n\ttea"),
        ("Ｔｅａ！", "tea"),
        ("我喜欢寿司。", "我喜欢寿司"),
        ("STRASSE", "straße"),
        ("tea ... ", "tea"),
    ],
)
def test_the_same_statement(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("one", "other"), [("cortado", "flat white"), ("resume", "résumé"), ("5.5", "55"), ("a", "")])
def test_not_the_same_statement(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text())
def test_a_normal_form_ends_in_neither_space_nor_punctuation(text: str) -> None:
    form = normalise(text)
    assert form == form.strip()
    assert "  " not in form


def test_bm25_by_hand() -> None:
    # Three texts of 2, 4 and 6 words, mean 4; "sea" in the first two, "cold" in the second.
    lengths = np.array([2.0, 4.0, 6.0])
    sea, cold = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    short, middle = 2.2 / (1 + 1.2 * (0.25 + 0.75 * 0.5)), 2.2 / (1 + 1.2)
    scores = bm25([np.array([0, 1]), np.array([1])], lengths)
    np.testing.assert_allclose(scores, [sea * short, (sea + cold) * middle, 0], rtol=1e-6)


def test_bm25_of_nothing() -> None:
    assert bm25([], np.array([3.0])).tolist() == [0.0]
    assert bm25([np.empty(0, dtype=np.int64)], np.empty(0)).tolist() == []


def test_a_word_in_every_text_weighs_little_and_still_finds() -> None:
    everywhere, rare = bm25([np.arange(100)], np.full(100, 5.0)), bm25([np.array([7])], np.full(100, 5.0))
    assert 0 < everywhere[7] < rare[7] / 100
