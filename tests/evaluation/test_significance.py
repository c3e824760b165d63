"""The bootstrap interval: worked by hand where it can be, and what always holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.evaluation.significance import bootstrap_interval

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
