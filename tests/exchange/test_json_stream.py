"""JSON values one at a time: what comes out is what the standard library reads whole, wherever the cuts fall."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prospection.errors import ConversationError
from prospection.exchange.json_stream import json_values

texts = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
unhurried = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def read(data: bytes, chunk: int = 1 << 20) -> list[Any]:
    return [value.data for value in json_values(BytesIO(data), chunk=chunk)]


@unhurried
@given(
    items=st.lists(values, max_size=5), chunk=st.integers(1, 40), plain=st.booleans(), indent=st.sampled_from([None, 1])
)
def test_items_of_a_list_come_out_as_they_are(items: list[Any], chunk: int, plain: bool, indent: int | None) -> None:
    data = json.dumps(items, ensure_ascii=not plain, indent=indent).encode("utf-8", "surrogatepass")
    assert read(data, chunk) == items


@unhurried
@given(items=st.lists(st.dictionaries(texts, values, max_size=3), max_size=4), chunk=st.integers(1, 40))
def test_lines_come_out_and_can_be_read_again_where_they_stand(items: list[Any], chunk: int) -> None:
    data = b"\xef\xbb\xbf" + "\n".join(json.dumps(item, ensure_ascii=False) for item in items).encode()
    found = list(json_values(BytesIO(data), chunk=chunk))
    assert [value.data for value in found] == items
    assert [json.loads(data[value.start : value.end]) for value in found] == items


@pytest.mark.parametrize("data", [b"", b"  \n", b"[]", b" [ ] "])
def test_nothing_holds_nothing(data: bytes) -> None:
    assert read(data) == []


def test_raw_control_characters_are_read() -> None:
    assert read(b'["a\tb\nc"]') == ["a\tb\nc"]


@pytest.mark.parametrize("chunk", [3, 1 << 20])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"a": 1}, {"b": "unfinis', "the file ends in the middle of the value that begins at byte 11"),
        (b'[{"a": 1}, ', "in the middle of a list"),
        (b'[{"a": 1}, {"b" 2, "and": "much more that follows"}]', "not JSON: Expecting ':' delimiter at byte 16"),
        (b'[{"a": "\xff\xfe"}]', "not text in UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_broken_or_cut_is_told_with_its_place(data: bytes, message: str, chunk: int) -> None:
    with pytest.raises(ConversationError, match=message):
        read(data, chunk)
