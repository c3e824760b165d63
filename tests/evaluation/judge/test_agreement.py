"""Agreement, against worked examples, the paper's own matrix and an independent implementation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from prospection.evaluation.judge.agreement import SIDES, agreement, between_annotators, confusion, majority
from prospection.evaluation.judge.tables import agreement_rows

PAPER = ((105, 6, 3), (12, 0, 1), (18, 3, 2))
"""The paper's matrix of people (rows) and judge (columns): shares of 150 pairs."""


def test_the_papers_matrix() -> None:
    found = agreement(PAPER)
    assert found.pairs == 150
    assert [f"{100 * count / 150:.1f}" for row in PAPER for count in row] == [
        *("70.0", "4.0", "2.0"),
        *("8.0", "0.0", "0.7"),
        *("12.0", "2.0", "1.3"),
    ]
    assert found.raw == pytest.approx(0.713, abs=0.0005)
    assert found.expected == pytest.approx((114 * 135 + 13 * 9 + 23 * 6) / 150**2)
    assert found.kappa == pytest.approx(0.058, abs=0.002)
    assert found.interval is not None
    assert found.interval[0] < 0 < found.interval[1]  # no agreement beyond chance is shown


def test_a_worked_example() -> None:
    # 50 cases, yes/no: 20 both yes, 15 both no. raw .7; expected .5 * .6 + .5 * .4 = .5; kappa .4.
    found = agreement([[20, 5], [10, 15]])
    assert (found.raw, found.expected, found.kappa) == pytest.approx((0.7, 0.5, 0.4))
    # Of the off-diagonal cells .1 and .2 each is weighted with its column's row and its row's column: 1.1 and .9.
    same = 0.4 * (1 - 1.1 * 0.6) ** 2 + 0.3 * (1 - 0.9 * 0.6) ** 2
    differ = 0.36 * (0.1 * (0.6 + 0.5) ** 2 + 0.2 * (0.4 + 0.5) ** 2)
    error = ((same + differ - (0.4 - 0.5 * 0.6) ** 2) / 50) ** 0.5 / 0.5
    assert found.interval == pytest.approx((0.4 - 1.959964 * error, 0.4 + 1.959964 * error))


def test_the_interval_is_as_wide_as_resampling_says() -> None:
    cells = np.array(PAPER).ravel() / 150
    draws = np.random.default_rng(0).multinomial(150, cells, size=2000).reshape(-1, 3, 3)
    kappas = [agreement(draw.tolist()).kappa or 0.0 for draw in draws]
    found = agreement(PAPER)
    assert found.interval is not None
    assert (found.interval[1] - found.interval[0]) / (2 * 1.96) == pytest.approx(float(np.std(kappas)), rel=0.1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from(SIDES)), min_size=2, max_size=40))
def test_kappa_is_that_of_an_independent_implementation(labels: list[tuple[str, str]]) -> None:
    ours = {str(n): one for n, (one, _) in enumerate(labels)}
    theirs = {str(n): other for n, (_, other) in enumerate(labels)}
    found = agreement(confusion(ours, theirs))  # type: ignore[arg-type]
    if found.kappa is None:
        assert len({label for pair in labels for label in pair}) == 1
        return
    expected = cohen_kappa_score(list(ours.values()), list(theirs.values()), labels=list(SIDES))
    assert found.kappa == pytest.approx(expected, abs=1e-9)
    assert found.interval is not None
    assert -1 <= found.interval[0] <= found.kappa + 1e-9
    assert found.kappa - 1e-9 <= found.interval[1] <= 1


def test_where_everybody_always_says_the_same_kappa_is_undefined() -> None:
    found = agreement([[7, 0], [0, 0]])
    assert (found.raw, found.kappa, found.interval) == (1.0, None, None)


@pytest.mark.parametrize("matrix", [[], [[0, 0], [0, 0]], [[1, 2]]])
def test_what_is_no_matrix_is_refused(matrix: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="square matrix"):
        agreement(matrix)


def test_only_pairs_that_both_judged_count() -> None:
    matrix = confusion({"p": "a", "q": "b", "r": "tie"}, {"p": "a", "q": "tie", "s": "a"})
    assert matrix == ((1, 0, 0), (0, 0, 0), (0, 1, 0))


def test_a_majority_decides_and_a_draw_is_a_tie() -> None:
    labels = [("x", "p", "a"), ("y", "p", "a"), ("z", "p", "b"), ("x", "q", "a"), ("y", "q", "b")]
    assert majority(labels) == {"p": "a", "q": "tie"}  # type: ignore[arg-type]
    assert majority([]) == {}


def test_annotators_are_compared_two_by_two_where_they_share_pairs() -> None:
    labels = [(name, pair, "a") for name, pair in product("yx", "pq")] + [("z", "elsewhere", "b")]
    found = between_annotators(labels)  # type: ignore[arg-type]
    assert list(found) == [("x", "y")]
    assert found["x", "y"].pairs == 2


def test_the_matrix_is_shown_as_shares_of_all_pairs() -> None:
    assert agreement_rows(agreement(PAPER)) == [
        ("", "a", "tie", "b"),
        ("a", "70.0", "4.0", "2.0"),
        ("tie", "8.0", "0.0", "0.7"),
        ("b", "12.0", "2.0", "1.3"),
    ]
