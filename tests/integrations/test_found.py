"""Whatever a memory returns becomes hits, best first."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.errors import InputError
from prospection.integrations.found import Found, as_found, falling_only, hits_of, instant
from prospection.recall.answer import citations


@pytest.mark.parametrize(
    ("item", "found"),
    [
        (("n1", "tea", 0.5), Found(id="n1", text="tea", score=0.5)),
        ((7, "tea", 1), Found(id="7", text="tea", score=1.0)),
        (["n1", "tea", np.float32(0.5)], Found(id="n1", text="tea", score=0.5)),
        (("tea", 0.5), Found(text="tea", score=0.5)),
        ("tea", Found(text="tea")),
        ({"text": "tea"}, Found(text="tea")),
        (
            {"id": 3, "text": "tea", "score": 2, "said_at": "2025-03-01T10:00:00+02:00", "more": 1},
            Found(id="3", text="tea", score=2.0, said_at=datetime(2025, 3, 1, 8, tzinfo=UTC)),
        ),
        (Found(text="tea"), Found(text="tea")),
    ],
)
def test_forms(item: object, found: Found) -> None:
    assert as_found(item) == found


@pytest.mark.parametrize("item", [None, 3, ("tea",), ("id", "tea", "near"), {"content": "tea"}, ("a", "b")])
def test_other_forms_are_refused_with_what_came(item: object) -> None:
    with pytest.raises(InputError, match=r"give \(id, text, score\)") as refused:
        as_found(item)
    assert repr(item) in str(refused.value)


def test_scores_order_and_ties_go_by_id() -> None:
    found = [Found(id=id_, text=id_, score=score) for id_, score in (("c", 0.2), ("b", 0.7), ("a", 0.7), ("d", 0.9))]
    assert [(hit.fact.fid, hit.similarity) for hit in hits_of(found, k=3)] == [("d", 0.9), ("a", 0.7), ("b", 0.7)]
    assert [hit.fact.fid for hit in hits_of(found, k=9, min_similarity=0.7)] == ["d", "a", "b"]


def test_without_scores_the_order_counts_and_is_not_bounded() -> None:
    found = [Found(text="x"), Found(text="y"), Found(text="x"), Found(text=" ")]
    hits = hits_of(found, k=9, min_similarity=0.9)
    assert [(hit.fact.info, hit.similarity) for hit in hits] == [("x", 1.0), ("y", 0.5)]


def test_an_id_from_the_text_is_the_same_every_time() -> None:
    (first,), (again,) = hits_of([Found(text="tea")], k=1), hits_of([Found(text="tea")], k=1)
    assert first.fact.fid == again.fact.fid
    assert first.fact.fid.isalnum()


def test_some_scores_are_no_scores() -> None:
    with pytest.raises(InputError, match="of 2 things found only 1"):
        hits_of([Found(text="x", score=1.0), Found(text="y")], k=2)


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_is_a_finite_number(score: float) -> None:
    with pytest.raises(InputError, match="finite"):
        hits_of([Found(text="x", score=score)], k=2)


@given(id_=st.text(min_size=1))
def test_every_id_can_be_cited(id_: str) -> None:
    (hit,) = hits_of([Found(id=id_, text="x")], k=1)
    assert citations(f"As said [{hit.fact.fid}].", {hit.fact.fid}) == (hit.fact.fid,)


def test_scores_that_rise_are_distances() -> None:
    falling = [Found(text="x", score=0.9), Found(text="y", score=0.9), Found(text="z", score=0.1)]
    assert falling_only(falling) == falling
    assert [item.score for item in falling_only(falling[::-1])] == [None, None, None]
    assert [item.score for item in falling_only([Found(text="x", score=0.9), Found(text="y")])] == [None, None]


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (None, None),
        ("", None),
        ("2025-03-01", datetime(2025, 3, 1, tzinfo=UTC)),
        (datetime(2025, 3, 1), datetime(2025, 3, 1, tzinfo=UTC)),  # noqa: DTZ001 - as stores return them
        (date(2025, 3, 1), datetime(2025, 3, 1, tzinfo=UTC)),
        (0, datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_dates(value: object, read: datetime | None) -> None:
    assert instant(value) == read


@pytest.mark.parametrize("value", ["yesterday", [], 1e30])
def test_a_date_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="ISO 8601"):
        instant(value)
