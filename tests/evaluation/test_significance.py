"""The bootstrap interval: worked by hand where it can be, and what always holds."""

from __future__ import annotations

from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.evaluation.significance import bootstrap_interval, holm, paired_permutation

values = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=4)


def test_two_people_by_hand() -> None:
    # Two draws of two people: means 0, 0.5, 0.5 and 1 with probability 1/4 each, so that the middle 40 % are 0.5
    # and the 95 % interval reaches from 0 to 1.
    people = [[0.0], [1.0]]
    assert bootstrap_interval(people, level=0.4) == (0.5, 0.5)
    assert bootstrap_interval(people) == (0.0, 1.0)


def test_people_bring_all_their_queries() -> None:
    # Draws: (a, a) = 0, (a, b) = 3/4 and (b, b) = 1. Resampling single queries would give other means.
    assert bootstrap_interval([[0.0], [1.0, 1.0, 1.0]], level=0.4) == (0.75, 0.75)


def test_many_people_come_near_the_normal_interval() -> None:
    # 400 people, half 0 and half 1: mean 0.5, standard error 0.5 / 20 = 0.025, so 0.5 +- 1.96 * 0.025.
    ends = bootstrap_interval([[float(number % 2)] for number in range(400)])
    assert ends == pytest.approx((0.451, 0.549), abs=0.004)


def test_one_person_says_nothing_about_the_spread() -> None:
    assert bootstrap_interval([[0.0, 1.0, 1.0]]) is None
    assert bootstrap_interval([]) is None


@given(st.lists(values, min_size=2, max_size=6))
def test_inside_the_range_of_the_people_and_repeatable(people: list[list[float]]) -> None:
    ends = bootstrap_interval(people, rounds=200)
    assert ends is not None
    means = [sum(own) / len(own) for own in people]
    assert min(means) - 1e-12 <= ends[0] <= ends[1] <= max(means) + 1e-12
    assert ends == bootstrap_interval(people, rounds=200)


def test_permutation_worked_by_hand() -> None:
    # Three wins of 1: of the 8 assignments of signs only two reach a sum of 3 or -3.
    assert paired_permutation([1.0, 1.0, 1.0]) == 2 / 8
    # 1, 1, -1: all but those of sum 3 and -3 reach 1 in absolute value, and these do as well.
    assert paired_permutation([1.0, 1.0, -1.0]) == 1.0
    assert paired_permutation([]) == paired_permutation([0.0, 0.0]) == 1.0


@given(st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=8))
def test_permutation_is_the_same_as_trying_every_sign(differences: list[float]) -> None:
    sums = [
        sum(sign * value for sign, value in zip(signs, differences, strict=True)) for signs in signs_of(differences)
    ]
    extreme = sum(abs(one) >= abs(sum(differences)) - 1e-9 for one in sums)
    assert paired_permutation(differences) == pytest.approx(extreme / len(sums))


def signs_of(values: list[float]) -> list[tuple[int, ...]]:
    return list(product((1, -1), repeat=len(values)))


def test_sampled_permutation_comes_near_the_exact_one() -> None:
    # 15 pairs are sampled. 12 wins and 3 losses of 1: p = 2 P(X >= 12), X binomial with 15 and 1/2.
    exact = 2 * sum(comb(15, wins) for wins in range(12, 16)) / 2**15
    differences = [1.0] * 12 + [-1.0] * 3
    assert paired_permutation(differences, rounds=40_000) == pytest.approx(exact, abs=0.005)
    assert paired_permutation(differences) == paired_permutation(differences)


def test_no_p_value_is_nothing() -> None:
    assert paired_permutation([1.0] * 100, rounds=999) == 1 / 1000


def test_holm_worked_by_hand() -> None:
    # Sorted .01, .02, .04 times 3, 2, 1 = .03, .04, .04.
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.03, 0.02]) == pytest.approx([0.04, 0.04])  # never below an earlier one
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_permutation_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    differences = [0.25, -0.1, 0.5, 0.0, 0.3, -0.2, 0.4, 0.1, 0.6]
    theirs = stats.permutation_test(
        (differences, [0.0] * len(differences)), lambda a, b: sum(a) - sum(b), permutation_type="samples"
    )
    assert paired_permutation(differences) == pytest.approx(theirs.pvalue)
