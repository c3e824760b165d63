"""Win rates: both orders brought together, counted, and freed of length."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from scipy.optimize import minimize  # type: ignore[import-untyped]

from prospection.evaluation.judge.pairs import Side
from prospection.evaluation.judge.tables import as_csv, as_markdown, judge_json, judge_rows, win_rates
from prospection.evaluation.judge.verdicts import Judgement
from prospection.evaluation.judge.winrate import PRIOR, combine, length_controlled, win_rate
from prospection.types import Usage


def judged(
    pair: str,
    first: Literal["a", "b"],
    verdict: Side | None,
    *,
    dataset: str = "quest",
    user: str | None = None,
    lengths: tuple[int, int] = (100, 100),
) -> Judgement:
    return Judgement(
        pair=pair,
        dataset=dataset,
        user=user or pair,
        names=("pgr", "mem0g"),
        lengths=lengths,
        first=first,
        verdict=verdict,
        reason="",
        model="m",
        prompt="h",
        usage=Usage(calls=1, cost=0.25),
        error=None if verdict else "down",
    )


def both(pair: str, one: Side, other: Side, *, dataset: str = "quest", user: str | None = None) -> list[Judgement]:
    return [judged(pair, "a", one, dataset=dataset, user=user), judged(pair, "b", other, dataset=dataset, user=user)]


ROWS = [*both("1", "a", "a"), *both("2", "a", "b"), *both("3", "b", "b"), *both("4", "a", "tie"), judged("5", "a", "a")]


def test_a_pair_is_won_by_who_wins_in_both_orders() -> None:
    found = combine([*ROWS, judged("5", "b", None)])
    assert [(one.pair, one.verdict, one.agreed) for one in found] == [
        ("1", "a", True),
        ("2", "tie", False),  # the first one won both times
        ("3", "b", True),
        ("4", "tie", False),
    ]
    assert [one.preferred for one in found] == [(1, 1), (2, 0), (1, 1), (1, 0)]


def test_wins_and_half_of_the_ties() -> None:
    rate = win_rate(combine(ROWS), rounds=50)
    assert (rate.pairs, rate.wins, rate.ties, rate.losses, rate.rate) == (4, 1, 2, 1, 0.5)
    assert rate.agreed == 0.5
    assert rate.first == pytest.approx(5 / 7)
    assert rate.interval is not None
    assert rate.interval[0] < 0.5 < rate.interval[1]
    assert rate.controlled == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no pairs"):
        win_rate([])


def test_one_person_gives_no_interval() -> None:
    rate = win_rate(combine([*both("1", "a", "a", user="u"), *both("2", "a", "a", user="u")]))
    assert (rate.interval, rate.controlled_interval) == (None, None)


def test_where_length_alone_decides_nothing_is_left_at_equal_length() -> None:
    # a is longer in three of four pairs, and the longer answer wins four of five times, whoever wrote it.
    differences = [100.0] * 300 + [-100.0] * 100
    scores = [1.0] * 240 + [0.0] * 60 + [1.0] * 20 + [0.0] * 80
    assert np.mean(scores) == 0.65
    assert length_controlled(scores, differences) == pytest.approx(0.5, abs=0.01)


def test_where_length_does_not_matter_the_rate_stays() -> None:
    assert length_controlled([1.0, 1.0, 0.5, 0.0] * 100, [0.0] * 400) == pytest.approx(0.625, abs=0.002)
    assert length_controlled([1.0, 1.0, 1.0, 0.0] * 100, [50.0] * 200 + [-50.0] * 200) == pytest.approx(0.75, abs=0.01)


def test_it_is_the_maximum_that_another_optimiser_finds() -> None:
    random = np.random.default_rng(7)
    differences = random.normal(30, 100, size=60)
    scores = random.choice([0.0, 0.5, 1.0], p=[0.2, 0.1, 0.7], size=60)
    x = np.tanh(differences / differences.std())

    def loss(w: np.ndarray) -> float:
        z = w[0] + w[1] * x
        likelihood = np.sum(scores * z - np.logaddexp(0, z))
        return float(-likelihood + np.sum(w**2 / (2 * np.array(PRIOR) ** 2)))

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    assert length_controlled(list(scores), list(differences)) == pytest.approx(1 / (1 + np.exp(-best[0])), abs=1e-6)


def test_a_clean_sweep_is_finite() -> None:
    assert 0.97 < length_controlled([1.0] * 20, [float(n) for n in range(20)]) < 1.0
    assert 0.0 < length_controlled([0.0], [10.0]) < 0.5


def test_tables_have_a_row_a_set_and_one_over_all() -> None:
    rows = [*both("1", "a", "a"), *both("2", "b", "b", dataset="opposed"), judged("3", "a", None)]
    assert [(key[2], rate.pairs, rate.rate) for key, rate in win_rates(rows).items()] == [
        ("quest", 1, 1.0),
        ("opposed", 1, 0.0),
        ("all", 2, 0.5),
    ]
    data = judge_json(rows)
    assert (data["failed"], data["models"], data["usage"]["calls"], data["usage"]["cost"]) == (1, ["m"], 5, 1.25)
    assert data["rows"][2]["data"] == "all"
    assert judge_rows(rows)[0][:5] == ("pgr", "mem0g", "quest", "1", "100.0")
    assert judge_rows([judged("3", "a", None)]) == []
    assert as_markdown([("a", "b"), ("1|2", "3")]) == "| a | b |\n| --- | --- |\n| 1\\|2 | 3 |"
    assert as_csv([("a",), ("=1+1",), (-1,)]) == "a\n'=1+1\n-1\n"
