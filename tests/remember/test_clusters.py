"""Grouping, worked out by hand, and its invariants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from prospection.remember.clusters import Item, improved_groups, near_pairs, published_groups
from prospection.types import Vectors

DAY = datetime(2025, 3, 1, tzinfo=UTC)
WEEK = timedelta(days=7)


def items(*days: float, apart: str = "") -> list[Item]:
    kinds = apart or "a" * len(days)
    return [Item(at=DAY + timedelta(days=day), apart=kind) for day, kind in zip(days, kinds, strict=True)]


def unit(*degrees: float) -> Vectors:
    angles = np.deg2rad(np.array(degrees, dtype=np.float32))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


CHAIN = unit(0, 30, 60)
"""Neighbours have a cosine of 0.87, the ends 0.5."""


def test_pairs_come_nearest_first_and_hold_something_new() -> None:
    vectors = unit(0, 30, 50)
    assert [(left, right) for _, left, right in near_pairs(vectors, threshold=0.8)] == [(1, 2), (0, 1)]
    assert [(left, right) for _, left, right in near_pairs(vectors, threshold=0.8, first_new=2)] == [(1, 2)]
    near_new = near_pairs(unit(0, 10, 90, 80, 5), threshold=0.8, first_new=4)
    assert [(left, right) for _, left, right in near_new] == [(0, 4), (1, 4), (0, 1)]
    assert near_pairs(vectors, threshold=0.8, first_new=3) == []
    assert near_pairs(np.zeros((0, 2), dtype=np.float32), threshold=0.8) == []


def test_a_chain_is_one_cluster_as_published_and_two_facts_when_all_have_to_fit() -> None:
    pairs = near_pairs(CHAIN, threshold=0.8)
    assert published_groups(pairs, items(0, 0, 0), window=WEEK) == [[0, 1, 2]]
    assert improved_groups(pairs, items(0, 0, 0), window=WEEK, most=8) == [[0, 1]]


def test_clusters_are_cut_into_windows_of_time() -> None:
    pairs = near_pairs(unit(0, 1, 2, 3), threshold=0.8)
    assert published_groups(pairs, items(0, 7, 8, 30), window=WEEK) == [[0, 1]]
    assert published_groups(pairs, items(8, 0, 20, 7), window=WEEK) == [[1, 3]]
    assert improved_groups(pairs, items(0, 7, 15, 30), window=WEEK, most=8) == [[0, 1]]


def test_the_improved_order_keeps_kinds_apart_and_groups_small() -> None:
    pairs = near_pairs(unit(0, 1, 2, 3), threshold=0.8)
    assert improved_groups(pairs, items(0, 0, 0, 0, apart="aabb"), window=WEEK, most=8) == [[0, 1], [2, 3]]
    sizes = [len(group) for group in improved_groups(pairs, items(0, 0, 0, 0), window=WEEK, most=3)]
    assert max(sizes) <= 3


@given(
    st.lists(st.tuples(st.floats(0, 90), st.floats(0, 30), st.sampled_from("ab")), max_size=12),
    st.floats(0.5, 0.99),
    st.integers(2, 5),
)
def test_groups_never_overlap_and_every_two_of_an_improved_group_fit(
    facts: list[tuple[float, float, str]], threshold: float, most: int
) -> None:
    vectors = unit(*(fact[0] for fact in facts)) if facts else np.zeros((0, 2), dtype=np.float32)
    held = [Item(at=DAY + timedelta(days=day), apart=kind) for _, day, kind in facts]
    pairs = near_pairs(vectors, threshold=threshold)
    near = {(left, right) for _, left, right in pairs}
    for groups in (
        published_groups(pairs, held, window=WEEK),
        improved_groups(pairs, held, window=WEEK, most=most),
    ):
        members = [place for group in groups for place in group]
        assert len(members) == len(set(members))
        assert all(len(group) > 1 for group in groups)
        assert all(abs(held[a].at - held[b].at) <= WEEK for group in groups for a, b in combinations(group, 2))
    for group in improved_groups(pairs, held, window=WEEK, most=most):
        assert len(group) <= most
        assert all(pair in near and held[pair[0]].apart == held[pair[1]].apart for pair in combinations(group, 2))
