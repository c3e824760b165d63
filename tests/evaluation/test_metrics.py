"""Recall and exact recall: worked by hand, against a plain count, and what always holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.evaluation.metrics import (
    BUDGETS,
    deciles,
    exact_at,
    first_ranks,
    precision_at,
    recall_at,
    relevant_ranks,
    token_ranks,
)

FIDS = [f"f{number}" for number in range(1, 13)]
rankings = st.permutations(FIDS).flatmap(lambda fids: st.integers(0, len(fids)).map(lambda size: fids[:size]))
needs = st.lists(st.frozensets(st.sampled_from(FIDS), min_size=1, max_size=3), min_size=1, max_size=5)


def test_worked_by_hand() -> None:
    # Needed: f4, f9, and either f1 or f7. Ranking: f7 is first, f4 third, f1 fourth, f9 never.
    ranks = first_ranks(["f7", "f2", "f4", "f1"], [{"f4"}, {"f9"}, {"f1", "f7"}])
    assert ranks == (3, None, 1)
    assert [recall_at(ranks, k) for k in (1, 2, 3, 4, 100)] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert exact_at(ranks, 100) == 0.0


def test_exact_from_the_rank_of_the_last_reference_on() -> None:
    ranks = first_ranks(["a", "b", "c"], [{"c"}, {"a"}])
    assert [exact_at(ranks, k) for k in (1, 2, 3, 4)] == [0.0, 0.0, 1.0, 1.0]


def test_one_fact_may_stand_for_two_references() -> None:
    assert first_ranks(["a"], [{"a"}, {"a", "b"}]) == (1, 1)


def test_the_order_of_a_ranking_is_taken_as_it_stands() -> None:
    # Ties are for the system to break: the same facts in another order are another ranking.
    assert first_ranks(["a", "b"], [{"a"}]) == (1,)
    assert first_ranks(["b", "a"], [{"a"}]) == (2,)


def test_nothing_found() -> None:
    ranks = first_ranks([], [{"a"}])
    assert (recall_at(ranks, 5), exact_at(ranks, 5)) == (0.0, 0.0)


def test_no_references_have_no_score() -> None:
    with pytest.raises(ValueError, match="no references"):
        recall_at((), 5)
    with pytest.raises(ValueError, match="no references"):
        exact_at((), 5)


def test_a_fact_counts_once() -> None:
    with pytest.raises(ValueError, match="'b' twice"):
        first_ranks(["a", "b", "c", "b"], [{"a"}])


@given(rankings, needs, st.integers(1, 15))
def test_the_same_as_counting(ranking: list[str], references: list[frozenset[str]], k: int) -> None:
    ranks = first_ranks(ranking, references)
    found = [reference for reference in references if reference.intersection(ranking[:k])]
    assert recall_at(ranks, k) == len(found) / len(references)
    assert exact_at(ranks, k) == float(len(found) == len(references))


@given(rankings, needs)
def test_within_bounds_and_growing_with_the_budget(ranking: list[str], references: list[frozenset[str]]) -> None:
    ranks = first_ranks(ranking, references)
    for metric in (recall_at, exact_at):
        values = [metric(ranks, k) for k in range(1, 15)]
        assert values == sorted(values)
        assert 0.0 <= values[0] <= values[-1] <= 1.0


@given(rankings, needs)
def test_facts_beyond_the_budget_change_nothing(ranking: list[str], references: list[frozenset[str]]) -> None:
    for k in BUDGETS:
        assert recall_at(first_ranks(ranking, references), k) == recall_at(first_ranks(ranking[:k], references), k)


def test_precision_worked_by_hand() -> None:
    # Needed: a, and either c or d. Of a, b, c three are shown, two of which count.
    relevant = relevant_ranks(["a", "b", "c"], [{"a"}, {"c", "d"}])
    assert relevant == (1, 3)
    assert [precision_at(relevant, 3, k) for k in (1, 2, 3)] == pytest.approx([1.0, 1 / 2, 2 / 3])
    assert precision_at(relevant, 3, 100) == pytest.approx(2 / 3)  # not punished for stopping after three
    assert precision_at((), 0, 5) == 0.0


def test_tokens_up_to_the_fact_that_was_found() -> None:
    # Facts of 10, 20 and 30 tokens; references at ranks 1 and 3 and never.
    tokens = token_ranks((1, 3, None), [10, 20, 30])
    assert tokens == (10, 60, None)
    assert [recall_at(tokens, size) for size in (9, 10, 59, 60)] == pytest.approx([0, 1 / 3, 1 / 3, 2 / 3])


def test_deciles_are_equal_groups_from_the_lowest() -> None:
    assert deciles([0.5, 0.1, 0.3]) == [6, 0, 3]
    assert deciles([float(n) for n in range(20)]) == [n // 2 for n in range(20)]
    assert deciles([1.0] * 10) == list(range(10))  # ties in the order in which they stand
    assert deciles([]) == []


@given(rankings, needs, st.integers(1, 15))
def test_precision_is_the_same_as_counting(ranking: list[str], references: list[frozenset[str]], k: int) -> None:
    shown = ranking[:k]
    good = [fid for fid in shown if any(fid in reference for reference in references)]
    found = precision_at(relevant_ranks(ranking, references), len(ranking), k)
    assert found == (len(good) / len(shown) if shown else 0.0)


@given(rankings, needs, st.data())
def test_tokens_are_the_same_as_packing(
    ranking: list[str], references: list[frozenset[str]], data: st.DataObject
) -> None:
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=len(ranking), max_size=len(ranking)))
    budget = data.draw(st.integers(0, 60))
    packed: list[str] = []
    for fid, size in zip(ranking, sizes, strict=True):
        if sum(sizes[: len(packed)]) + size > budget:
            break
        packed.append(fid)
    found = sum(bool(reference & set(packed)) for reference in references) / len(references)
    assert recall_at(token_ranks(first_ranks(ranking, references), sizes), budget) == found
