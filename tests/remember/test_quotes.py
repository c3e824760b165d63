"""Quotations against the message they should stand in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.remember.quotes import find_quote

MESSAGE = "Well, it's done. I've carried “two pens”\nsince 2019, everywhere. My sister laughs."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("since 2019, everywhere", "since 2019, everywhere"),
        ('I\'ve carried "two pens" since 2019', "I've carried “two pens”\nsince 2019"),
        ("i’ve CARRIED two pens", "I've carried “two pens"),
        ("my sister laughs", "My sister laughs."),
        ("My sister always laughs", "My sister laughs."),
        ("The moon is green", None),
        ("...", None),
        ("", None),
    ],
)
def test_what_a_quotation_means(quote: str, found: str | None) -> None:
    assert find_quote(quote, MESSAGE) == found


@given(st.text(), st.text())
def test_what_is_found_stands_there(quote: str, message: str) -> None:
    found = find_quote(quote, message)
    assert found is None or found in message
