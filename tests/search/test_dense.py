"""Exact nearest rows: worked by hand, and against a plain sort."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prospection.search.dense import best_rows, top_groups, top_rows
from prospection.search.matrix import Matrix

ROWS = np.array([[1, 0], [0.6, 0.8], [0, 1], [0.6, 0.8], [-1, 0]], dtype=np.float32)
PROBE = np.array([[1, 0]], dtype=np.float32)


def places(found: list[tuple[Any, ...]]) -> list[list[int]]:
    return [rows.tolist() for rows, *_ in found]


def test_best_first_and_ties_in_the_order_of_rows() -> None:
    ((rows, values),) = top_rows(PROBE, Matrix.of(ROWS), k=9)
    assert rows.tolist() == [0, 1, 3, 2, 4]
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, [1, 0.6, 0.6, 0, -1], rtol=1e-6)
    assert places(top_rows(PROBE, Matrix.of(ROWS), k=2)) == [[0, 1]]


def test_the_threshold_is_inclusive_and_the_mask_comes_before_the_limit() -> None:
    matrix = Matrix.of(ROWS)
    assert places(top_rows(PROBE, matrix, k=9, threshold=0.6)) == [[0, 1, 3]]
    assert places(top_rows(PROBE, matrix, k=9, threshold=0.61)) == [[0]]
    assert places(top_rows(PROBE, matrix, k=1, mask=np.array([False, False, True, True, True]))) == [[3]]
    assert places(top_rows(PROBE, matrix, k=9, mask=np.zeros(5, dtype=bool))) == [[]]


def test_nothing_in_nothing_out() -> None:
    empty = Matrix(2)
    assert places(top_rows(PROBE, empty, k=3)) == [[]]
    assert top_rows(PROBE[:0], Matrix.of(ROWS), k=3) == []
    assert places(top_rows(PROBE, Matrix.of(ROWS), k=0)) == [[]]
    none = np.empty(0, dtype=np.int64)
    assert places(top_groups(PROBE, empty, starts=none, weights=np.empty(0, dtype=np.float32), k=3)) == [[]]


def test_a_group_counts_by_its_best_weighted_row() -> None:
    weights = np.array([0.5, 1, 1, 1, 1], dtype=np.float32)
    ((groups, values, rows),) = top_groups(PROBE, Matrix.of(ROWS), starts=np.array([0, 2, 4]), weights=weights, k=2)
    assert (groups.tolist(), rows.tolist()) == ([0, 1], [1, 3])
    np.testing.assert_allclose(values, [0.6, 0.6], rtol=1e-6)


def test_a_similarity_never_leaves_its_range() -> None:
    rows = np.full((1, 3), np.float32(3**-0.5) * np.float32(1.0001))
    ((_, values),) = top_rows(rows, Matrix.of(rows), k=1)
    assert values.tolist() == [1.0]


@pytest.mark.parametrize("sizes", [(1, 1, 1), (8191, 1, 1), (8000, 9000), (20_000, 0, 5)])
def test_a_matrix_grows_without_touching_what_others_hold(sizes: tuple[int, ...]) -> None:
    randomness = np.random.default_rng(1)
    rows = randomness.normal(size=(sum(sizes), 4)).astype(np.float32)
    matrix, held, start = Matrix(4), [], 0
    for size in sizes:
        matrix = matrix.extended(rows[start : start + size])
        start += size
        held.append((start, matrix))
    for count, version in held:
        assert len(version) == count
        (scores,) = version.scores(rows[:1])
        np.testing.assert_allclose(scores, rows[:count] @ rows[0], rtol=1e-4, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 2000),
    k=st.integers(0, 12),
    threshold=st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0]),
    seed=st.integers(0, 2**32 - 1),
    masked=st.booleans(),
)
def test_equals_a_plain_sort(n: int, k: int, threshold: float, seed: int, masked: bool) -> None:
    randomness = np.random.default_rng(seed)
    scores = (randomness.integers(-4, 5, size=n) / 4).astype(np.float32)  # many ties
    mask = randomness.random(n) < 0.3 if masked else None
    plain = sorted(
        (row for row in range(n) if scores[row] >= threshold and (mask is None or mask[row])),
        key=lambda row: (-scores[row], row),
    )
    assert best_rows(scores, k, threshold=threshold, mask=mask).tolist() == plain[:k]
