"""Fusion and interleaving: worked by hand, and what holds for all lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.search.fusion import fuse_scores, reciprocal_rank_fusion, standardise
from prospection.search.interleave import interleave

RANKINGS = st.lists(st.lists(st.integers(0, 20), max_size=10, unique=True), max_size=6)


def test_reciprocal_ranks_by_hand() -> None:
    fused = reciprocal_rank_fusion([["a", "b", "c"], ["b", "d"]])
    assert [name for name, _ in fused] == ["b", "a", "d", "c"]
    assert [score for _, score in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62, 1 / 63])


def test_weights_k_and_ties() -> None:
    assert reciprocal_rank_fusion([["a"], ["b"]], weights=[1.0, 2.0], k=0) == [("b", 2.0), ("a", 1.0)]
    assert [name for name, _ in reciprocal_rank_fusion([["b"], ["a"]])] == ["a", "b"]
    assert reciprocal_rank_fusion([["a", "a", "b"]], k=0) == [("a", 1.0), ("b", 0.5)]
    assert reciprocal_rank_fusion([]) == []
    with pytest.raises(ValueError, match="shorter"):
        reciprocal_rank_fusion([["a"], ["b"]], weights=[1.0])


def test_interleaving_by_hand() -> None:
    rankings = [["a", "b", "c"], ["d", "a", "e"], []]
    scores = [[0.5, 0.4, 0.3], [0.6, 0.9, 0.3], []]
    assert interleave(rankings, scores=scores) == [
        ("a", 1.0),  # first of one list; its .9 in the other beats d's .6
        ("d", 1.0),
        ("b", 0.5),
        ("c", 1 / 3),
        ("e", 1 / 3),
    ]
    assert [name for name, _ in interleave(rankings)] == ["a", "d", "b", "c", "e"]
    assert interleave([]) == []
    with pytest.raises(ValueError, match="shorter"):
        interleave([["a"]], scores=[[]])


@given(RANKINGS)
def test_both_keep_every_id_once_and_fall(rankings: list[list[int]]) -> None:
    for merged in (reciprocal_rank_fusion(rankings), interleave(rankings)):
        assert sorted(item for item, _ in merged) == sorted({item for ranking in rankings for item in ranking})
        values = [value for _, value in merged]
        assert values == sorted(values, reverse=True)


@given(RANKINGS)
def test_interleaving_does_not_depend_on_the_order_of_lists(rankings: list[list[int]]) -> None:
    assert interleave(rankings) == interleave(rankings[::-1])


@given(st.lists(st.integers(0, 50), unique=True))
def test_one_list_keeps_its_order(ranking: list[int]) -> None:
    assert [item for item, _ in reciprocal_rank_fusion([ranking])] == ranking
    assert [item for item, _ in interleave([ranking])] == ranking


def test_standardised_scores_have_mean_zero_and_deviation_one() -> None:
    assert standardise(np.array([1.0, 2.0, 3.0])) == pytest.approx([-np.sqrt(1.5), 0.0, np.sqrt(1.5)])


def test_scores_that_are_all_alike_or_none_say_nothing() -> None:
    assert standardise(np.array([2.0, 2.0])).tolist() == [0.0, 0.0]
    assert standardise(np.array([])).tolist() == []


def test_fused_scores_add_deviations_of_cosine_and_the_share_of_the_best_lexical_match() -> None:
    fused = fuse_scores(np.array([0.1, 0.3]), np.array([4.0, 1.0]), lexical_weight=2.0)
    assert fused == pytest.approx([-1.0 + 2.0, 1.0 + 0.5])


def test_without_a_lexical_match_only_cosine_counts() -> None:
    assert fuse_scores(np.array([0.1, 0.3]), np.zeros(2), lexical_weight=3.0) == pytest.approx([-1.0, 1.0])
